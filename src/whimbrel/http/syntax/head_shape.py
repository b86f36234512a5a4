"""Shapes of request heads: a head is split without being parsed.

Clients send the same field names in the same order with every request. A `HeadShape` is one such sequence;
what code needs to know about the names, such as the positions of some fields, is computed once for each
shape. RFC 9112, 2 to 5; the form of HTTP/2 heads is that of http/http2/protocol.py.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Final, NamedTuple

MAX_SHAPES: Final = 128
MAX_NAMES: Final = 640  # bytes of the names of a shape that is stored
MAX_GETTERS: Final = 16  # sets of fields whose positions a shape stores
_TOKEN: Final = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+").fullmatch
_NAMES: Final = re.compile(rb"\r\n([^:\r\n]*)").findall
# bytes that field lines and request lines consist of; those among them that logs show unescaped
_LINE_BYTES: Final = bytes((9, *range(0x20, 0x7F), *range(0x80, 0x100)))
_PRINTABLE: Final = bytes(byte for byte in range(0x20, 0x7F) if byte not in b'"\\')
_starts = bytes.startswith
BLANKS: Final = b" \t"
# Names in the place of a field's: the request line; two texts that are not part of the head.
LINE: Final = b""
TEXT: Final = b"\x7ftext"
OTHER: Final = b"\x7fother"

Lines = Sequence[bytes]
Getter = Callable[[Lines], Any]
Values = Callable[[Lines, bytes, bytes], tuple[bytes, ...]]


class HeadShape:
    """One sequence of field names.

    Attributes:
        size: the number of pieces between line ends in a head of this shape: request line, fields, and two
            empty ones.
        prefixes: what each of these pieces begins with.
        line_ends: the line ends of a head of this shape.
        positions: the pieces of each field, by its name in lower case.
        number: unique number.
    """

    __slots__ = ("_getters", "_values", "line_ends", "number", "positions", "prefixes", "size")

    def __init__(self, names: Sequence[bytes], number: int) -> None:
        self.number, self.size = number, len(names) + 3
        self.prefixes = (b"", *[name + b":" for name in names], b"", b"")
        self.line_ends = b"\r\n" * (self.size - 1)
        self.positions: dict[bytes, tuple[int, ...]] = {}
        for position, name in enumerate(names, 1):
            low = name.lower()
            self.positions[low] = (*self.positions.get(low, ()), position)
        self._getters: dict[int, Getter] = {}
        self._values: dict[tuple[bytes, ...], Values] = {}

    def getter(self, number: int, names: Callable[[], Sequence[bytes]]) -> Getter:
        """Return a function that selects the lines of the fields *names*, which must be sorted; *number*
        identifies them.
        """
        found = self._getters.get(number)
        if found is None:
            if len(self._getters) >= MAX_GETTERS:
                self._getters.clear()
            positions = [at for name in names() for at in self.positions.get(name, ())]
            found = self._getters[number] = itemgetter(*positions) if positions else _nothing
        return found

    def values(self, names: tuple[bytes, ...]) -> Values:
        """Return a function of the lines of a head and of two texts: the values of the fields *names*.

        The values of several lines are joined, an absent field is ``-``. `LINE` in the place of a name stands
        for the request line, `TEXT` and `OTHER` for the texts.
        """
        found = self._values.get(names)
        if found is None:
            if len(self._values) >= MAX_GETTERS:
                self._values.clear()
            source = f"lambda lines, text, other: ({''.join([f'{self._source(name)}, ' for name in names])})"
            found = self._values[names] = eval(source, {"joined": self._joined})
        return found

    def _source(self, name: bytes) -> str:
        """Return an expression for the value of a field."""
        places = (0,) if name == LINE else self.positions.get(name, ())
        if name == TEXT:
            return "text"
        if name == OTHER:
            return "other"
        if len(places) > 1:
            return f"joined(lines, {places})"
        if not places:
            return repr(b"-")
        start = len(self.prefixes[places[0]])
        return f"lines[{places[0]}][{start}:].strip({BLANKS!r})" if start else f"lines[{places[0]}]"

    def _joined(self, lines: Lines, places: tuple[int, ...]) -> bytes:
        """Return the values of a repeated field; HTTP/2 splits cookies (RFC 9113, 8.2.3)."""
        is_cookie = lines[0][:1] == b"\0" and self.prefixes[places[0]].lower() == b"cookie:"
        return (b"; " if is_cookie else b", ").join(
            [lines[at][len(self.prefixes[at]) :].strip(BLANKS) for at in places]
        )


class SplitHead(NamedTuple):
    """A complete, well-formed head in pieces.

    *lines* are the pieces between line ends; *is_printable*: logs show all of them unescaped.
    """

    raw: bytes
    lines: list[bytes]
    shape: HeadShape
    is_printable: bool


_split_head: Final = partial(tuple.__new__, SplitHead)  # the constructor costs more


class HeadShapes:
    """Cache of shapes. Key: the names, joined, or the number; at most `MAX_SHAPES`, dropped together."""

    __slots__ = ("_by_number", "_count", "_shapes")

    def __init__(self) -> None:
        self._shapes: dict[bytes, HeadShape] = {}
        self._by_number: dict[int, HeadShape] = {}
        self._count = 0

    def split(self, raw: bytes, likely: int = 0) -> SplitHead | None:
        """Return the pieces of *raw*; None unless it is one complete head, every parser of which finds the
        same lines.

        *likely* is the number of the shape of the client's last head. The request line is checked for its
        bytes alone.
        """
        lines = raw.split(b"\r\n")
        if lines[-1] or lines[-2:-1] != [b""]:
            return None
        shape = self._by_number.get(likely)
        if shape is None or shape.size != len(lines) or not all(map(_starts, lines, shape.prefixes)):
            shape = self._find(raw, lines)
            if shape is None:
                return None
        others = raw.translate(None, _PRINTABLE)
        ends = shape.line_ends
        if others == ends:
            return _split_head((raw, lines, shape, True))
        if raw[:1] == b"\0":
            ends = b"\0" + ends
        if others == ends or raw.translate(None, _LINE_BYTES) == ends:
            return _split_head((raw, lines, shape, others == ends))
        return None

    def _find(self, raw: bytes, lines: list[bytes]) -> HeadShape | None:
        names = _NAMES(raw)[:-2]
        key = b":".join(names)
        shape = self._shapes.get(key)
        if shape is None:
            if not all(map(_TOKEN, names)):
                return None
            self._count += 1
            shape = HeadShape(names, self._count)
            if len(key) <= MAX_NAMES:
                if len(self._shapes) >= MAX_SHAPES:
                    self._shapes.clear()
                    self._by_number.clear()
                self._shapes[key] = self._by_number[shape.number] = shape
        return shape if shape.size == len(lines) and all(map(_starts, lines, shape.prefixes)) else None


def _nothing(_lines: Lines) -> tuple[bytes, ...]:
    return ()
