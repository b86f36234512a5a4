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
_VALUE: Final = re.compile(rb"[\t -~\x80-\xff]*").fullmatch

Key = tuple[bytes | str, ...]
Told = tuple[bytes, ...]


class RawHead:
    """The bytes of one head, and its fields as far as a log wants to know them.

    *logged* are the lines that the access log tells something of, as `FieldSet.sort` found them.
    """

    __slots__ = ("_low", "logged", "raw")

    def __init__(self, raw: bytes, logged: Told = ()) -> None:
        self.raw, self.logged = raw, logged
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


class Near:
    """A head but for one value that decides about nothing and is told nowhere: whatever stands there, it is found under *key*.

    *start* are its bytes up to the colon of that field, *rest* those from the end of its line.
    """

    __slots__ = ("at", "behind", "key", "most", "rest", "start", "told")

    def __init__(self, raw: bytes, line: bytes, key: Key, told: Told, most: int) -> None:
        """*line* stands in the head *raw*, whose like have at most *most* bytes."""
        begin = raw.index(b"\r\n%b\r\n" % line) + 2
        self.start, self.rest = raw[:begin + line.index(b":") + 1], raw[begin + len(line):]
        self.at, self.behind, self.most = len(self.start), len(self.rest), most
        self.key, self.told = key, told

    def fits(self, raw: bytes) -> bool:
        """Whether *raw* is such a head."""
        end = len(raw) - self.behind
        return (self.at <= end and raw.startswith(self.start) and raw.endswith(self.rest) and end + self.behind <= self.most
                and _VALUE(raw, self.at, end) is not None)


class FieldSet:
    """The fields that answers to some request lines depend on: *names* in lower case, `BY_CLIENT` maybe among them; *told*: those in access logs.

    *latest* is a line that `sort` has just met for the first time and that is worth nothing, b"" where there was none.
    """

    __slots__ = ("_idle", "_known", "_told", "_wanted", "by_client", "latest", "names", "told")

    def __init__(self, names: frozenset[str], told: frozenset[str] = frozenset()) -> None:
        self.names, self.told = names, told
        self.by_client = BY_CLIENT in names
        self._wanted = frozenset(name.encode("latin-1") for name in names | ALWAYS)
        self._told = frozenset(name.encode("latin-1") for name in told)
        self._idle: set[bytes] = set()        # well-formed lines that are worth nothing: most of those that clients send
        self._known: dict[bytes, int] = {}    # what the others are worth
        self.latest = b""

    def sort(self, lines: list[bytes], client: str) -> tuple[Key, Told] | None:
        """Under which an answer to the head with these *lines* (the last two are empty) is kept, and which of them are told in access logs.

        None for a head that has to be read.
        """
        known, idle, key, told, self.latest = self._known, self._idle, [], [], b""
        rest = [line for line in lines if line not in idle]
        for line in rest[1:-2]:
            worth = known.get(line)
            if worth is None:
                worth = self._look(line)
                if worth is None:
                    return None
            if worth & MATTERS:
                key.append(line)
            if worth & TOLD:
                told.append(line)
        return (rest[0], client if self.by_client else "", *key), tuple(told)

    def _look(self, line: bytes) -> int | None:
        found = _LINE.fullmatch(line)
        if found is None:
            return None
        name = found[1].lower()
        worth = (MATTERS if name in self._wanted else 0) | (TOLD if name in self._told else 0)
        if len(self._known) + len(self._idle) >= MAX_KNOWN:
            self._known.clear()
            self._idle.clear()
        if worth:
            self._known[line] = worth
        else:
            self._idle.add(line)
            self.latest = line
        return worth
