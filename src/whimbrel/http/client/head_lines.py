"""The lines of a response head as ap_rgetline reads them: ended by LF or CR LF, folded, bounded."""

from __future__ import annotations

from typing import Final, NamedTuple

from whimbrel.http.syntax.line_reader import InputState, ParserOptions, read_line

_LINES: Final = ParserOptions(strict=False)
_FOLDS: Final = frozenset(b" \t")


class HeadLine(NamedTuple):
    """A line without its end; *is_long*: cut at the limit; *has_nul*: it ends at a NUL."""

    text: str
    is_long: bool = False
    has_nul: bool = False


class HeadLines:
    """A buffer of lines, of which none is longer than *size* - 1 bytes.

    Attributes:
        data: the input that was not yet returned begins at `at`.
    """

    __slots__ = ("_is_skipping", "_limit", "at", "data")

    def __init__(self, size: int) -> None:
        self._limit = size - 1
        self.data = bytearray()
        self.at = 0
        self._is_skipping = False  # the rest of a line that is too long

    def feed(self, data: bytes) -> None:
        """Append *data*."""
        if self._is_skipping:
            end = data.find(b"\n")
            if end < 0:
                return
            data, self._is_skipping = data[end:], False
        self.data += data

    def next(self, *, fold: bool, skip: bool, ended: bool = False) -> HeadLine | None:
        """Return the next line, None if more bytes are needed.

        *fold*: lines that begin with white space continue the line before, which is returned when the first
        byte after it is there.  *skip*: the rest of a line that is too long is discarded up to its end;
        without it, the line is returned at once.  *ended*: no more bytes will come.
        """
        data = self.data
        limit = self._limit
        start = self.at
        line = read_line(data, self.at, limit - 1, _LINES, InputState.OPEN)
        text = line.text
        end = line.next
        if line.kind == "more":
            return None
        while fold and text and line.kind == "ok" and len(text) <= limit:
            if end >= len(data) and not ended:
                return None
            if end >= len(data) or data[end] not in _FOLDS:
                break
            start = end
            line = read_line(data, end, limit - 1, _LINES, InputState.OPEN)
            if line.kind == "more":
                if skip or ended or len(data) - end + len(text) <= limit:
                    return None
                line = line._replace(kind="long")
            text, end = text + line.text, line.next
        if line.kind == "bad":
            self.at = end
            return HeadLine(text, has_nul=True)
        is_long = line.kind == "long" or len(text) > limit
        if is_long and skip and data[end - 1] != 10:
            del data[start + limit + 1 :]
            self._is_skipping = True
            return None
        self.at = end
        return HeadLine(text[:limit], is_long) if is_long else HeadLine(text)

    def rest(self) -> bytes:
        """Return the input after the last line."""
        return bytes(memoryview(self.data)[self.at :])
