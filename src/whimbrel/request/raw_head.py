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
MATTERS: Final = 1  # what a line is worth: it decides about the answer
TOLD: Final = 2     # it is told in an access log
_LINE: Final = re.compile(rb"([-!#$%&'*+.^_`|~0-9A-Za-z]+):[\t -~\x80-\xff]*")

Key = tuple[bytes | str, ...]


class RawHead:
    """The bytes of one head, as its lines; the last two are empty.  Also the fields, as far as a log wants to know them.

    *logged* are the lines that the access log tells something of, once `FieldSet.key` has looked at them.
    """

    __slots__ = ("_low", "lines", "logged", "raw")

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self.lines = raw.split(b"\r\n")
        self.logged: tuple[bytes, ...] = ()
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
    """The fields that answers to some request lines depend on: *names* in lower case, `BY_CLIENT` maybe among them; *told*: those in access logs."""

    __slots__ = ("_known", "_told", "_wanted", "by_client", "names", "told")

    def __init__(self, names: frozenset[str], told: frozenset[str] = frozenset()) -> None:
        self.names, self.told = names, told
        self.by_client = BY_CLIENT in names
        self._wanted = frozenset(name.encode("latin-1") for name in names | ALWAYS)
        self._told = frozenset(name.encode("latin-1") for name in told)
        self._known: dict[bytes, int] = {}

    def key(self, head: RawHead, client: str) -> Key | None:
        """Under which an answer to *head* is kept, None for a head that has to be read."""
        known, lines = self._known, head.lines
        out: list[bytes | str] = [lines[0]]
        logged: list[bytes] = []
        for line in lines[1:-2]:
            worth = known.get(line)
            if worth is None:
                worth = self._look(line)
                if worth is None:
                    return None
            if worth:
                if worth & MATTERS:
                    out.append(line)
                if worth & TOLD:
                    logged.append(line)
        if self.by_client:
            out.append(client)
        head.logged = tuple(logged)
        return tuple(out)

    def _look(self, line: bytes) -> int | None:
        found = _LINE.fullmatch(line)
        if found is None:
            return None
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        name = found[1].lower()
        worth = self._known[line] = (MATTERS if name in self._wanted else 0) | (TOLD if name in self._told else 0)
        return worth
