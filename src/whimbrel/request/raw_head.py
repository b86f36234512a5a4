"""Heads that are told apart without being read: by the request line and those field lines that matter to an answer.

A head whose other lines are well-formed is answered as an earlier one with the same request line and the same lines that matter, in the same order.
What a line is worth is worked out once for each set of fields: clients repeat most of their lines with every request.
"""

from __future__ import annotations

import re
from typing import Final

from whimbrel.octets import text

BY_CLIENT: Final = "\x7fclient"  # in the place of a field name: the answer is for one client's address
ALWAYS: Final = frozenset((
    "host", "connection", "content-length", "transfer-encoding", "expect", "upgrade", "http2-settings", "range", "request-range",
))
MAX_KNOWN: Final = 2048
_LINE: Final = re.compile(rb"([-!#$%&'*+.^_`|~0-9A-Za-z]+):[\t -~\x80-\xff]*")

Key = tuple[bytes | str, ...]


class RawHead:
    """The bytes of one head, as its lines; the last two are empty.  Also the fields, as far as a log wants to know them."""

    __slots__ = ("_low", "lines", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.lines = raw.split(b"\r\n")
        self._low = b""

    @property
    def headers(self) -> RawHead:
        """The fields."""
        return self

    def get(self, name: str, default: str | None = None) -> str | None:
        """The value of a field, its values joined where it comes more than once."""
        low = self._low
        if not low:
            low = self._low = self.raw.lower()
        start = b"\r\n%b:" % name.lower().encode("latin-1")
        at = low.find(start)
        found = []
        while at >= 0:
            at += len(start)
            found.append(self.raw[at:low.find(b"\r\n", at)].strip(b" \t"))
            at = low.find(start, at)
        return text(b", ".join(found)) if found else default


class FieldSet:
    """The fields that answers to some request lines depend on: *names* in lower case, `BY_CLIENT` maybe among them."""

    __slots__ = ("_known", "_wanted", "by_client", "names")

    def __init__(self, names: frozenset[str]) -> None:
        self.names = names
        self.by_client = BY_CLIENT in names
        self._wanted = frozenset(name.encode("latin-1") for name in names | ALWAYS)
        self._known: dict[bytes, bool] = {}

    def key(self, lines: list[bytes], client: str) -> Key | None:
        """Under which an answer to a head of these *lines* is kept, None for a head that has to be read."""
        known = self._known
        out: list[bytes | str] = [lines[0]]
        for line in lines[1:-2]:
            matters = known.get(line)
            if matters is None:
                matters = self._look(line)
                if matters is None:
                    return None
            if matters:
                out.append(line)
        if self.by_client:
            out.append(client)
        return tuple(out)

    def _look(self, line: bytes) -> bool | None:
        found = _LINE.fullmatch(line)
        if found is None:
            return None
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        matters = self._known[line] = found[1].lower() in self._wanted
        return matters
