"""Positions of editors (line and code unit) as offsets of bytes, and back.

An editor counts UTF-16 code units unless another encoding was negotiated. Whimbrel counts bytes. Any
position is accepted: one beyond a line is its end, one beyond the text is the end, one within a character is
its start. Numbers that the protocol does not have are brought into its range.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from lsprotocol.types import Position, PositionEncodingKind, Range

LINE_END: Final = re.compile(rb"\r\n|\n|\r")
STRICT: Final = "surrogatepass"
"""Text of an editor may have halves of surrogate pairs."""
LENIENT: Final = "surrogateescape"
"""Each byte that is no UTF-8, in a file on disk, counts as one character."""


MAX_NUMBER: Final = 2**31 - 1
"""The greatest number of a line or of a code unit in the protocol."""


def received_position(value: object) -> Position:
    """Return the position that an editor sent as JSON: numbers are brought into the range, others are 0.

    lsprotocol would refuse the message, and pygls would then leave the request without an answer.
    """
    numbers = value if isinstance(value, dict) else {}
    return Position(_in_range(numbers.get("line")), _in_range(numbers.get("character")))


def _in_range(value: object) -> int:
    return min(max(int(value), 0), MAX_NUMBER) if isinstance(value, int) else 0


class LineTable:
    """Starts of the lines of *data*; a line ends as the protocol says, with a carriage return too."""

    def __init__(self, data: bytes, encoding: str = PositionEncodingKind.Utf16) -> None:
        self.data = data
        self.encoding = encoding
        self.starts = [0, *(match.end() for match in LINE_END.finditer(data))]

    def offset(self, position: Position) -> int:
        """Return the offset of *position*."""
        if position.line >= len(self.starts):
            return len(self.data)
        start, end = self.line(position.line)
        return start + _bytes_of(self.data[start:end], position.character, self.encoding)

    def position(self, offset: int) -> Position:
        """Return the position of *offset*, which is brought into the text."""
        offset = min(max(offset, 0), len(self.data))
        line = bisect_right(self.starts, offset) - 1
        return Position(line, _units_of(self.data[self.starts[line] : offset], self.encoding))

    def line(self, number: int) -> tuple[int, int]:
        """Return start and end of the line *number*, from 0, without its line end."""
        start = self.starts[number]
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.data)
        return start, start + len(self.data[start:end].rstrip(b"\r\n"))

    def range(self, start: int, end: int) -> Range:
        """Return the range of the bytes *start* to *end*."""
        return Range(self.position(start), self.position(end))


def decoded(data: bytes) -> tuple[str, str]:
    """Return UTF-8 as text, and the treatment of errors with which it was decoded."""
    try:
        return data.decode("utf-8", STRICT), STRICT
    except UnicodeDecodeError:
        return data.decode("utf-8", LENIENT), LENIENT


def encoded(text: str) -> bytes:
    """Return the text of an editor as bytes."""
    return text.encode("utf-8", STRICT)


def editor_text(data: bytes) -> str:
    """Return bytes as text for an editor."""
    return data.decode("utf-8", "replace") if decoded(data)[1] is LENIENT else decoded(data)[0]


def shown(text: str) -> str:
    """Return a text of one character per byte as an editor shows it."""
    return text if text.isascii() else editor_text(text.encode("latin-1"))


def _bytes_of(line: bytes, units: int, encoding: str) -> int:
    """Return the number of bytes that the first *units* code units of a line take."""
    if line.isascii() or encoding == PositionEncodingKind.Utf8:
        end = min(units, len(line))
        while 0 < end < len(line) and line[end] & 0xC0 == 0x80:
            end -= 1
        return end
    text, errors = decoded(line)
    if encoding == PositionEncodingKind.Utf32:
        return len(text[:units].encode("utf-8", errors))
    wide = text.encode("utf-16-le", STRICT)
    if _is_half(wide, units):
        units -= 1
    return len(wide[: 2 * units].decode("utf-16-le", STRICT).encode("utf-8", errors))


def _is_half(wide: bytes, units: int) -> bool:
    """Return True if a character of two code units lies across the position *units*."""
    if not 0 < units < len(wide) // 2:
        return False
    return wide[2 * units - 1] & 0xFC == 0xD8 and wide[2 * units + 1] & 0xFC == 0xDC


def _units_of(line: bytes, encoding: str) -> int:
    """Return the number of code units of the bytes."""
    if line.isascii() or encoding == PositionEncodingKind.Utf8:
        return len(line)
    text = decoded(line)[0]
    return len(text) if encoding == PositionEncodingKind.Utf32 else len(text.encode("utf-16-le", STRICT)) // 2
