"""Edits as ranges of lines and columns of the original files, for programs that apply single fixes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from whimbrel.syntax.edits import Edit
from whimbrel.upgrade.edits.diff import line_starts
from whimbrel.upgrade.model import TextFix
from whimbrel.upgrade.source.line_map import LineMap


class OriginalPositions:
    """Positions of the current text of a file in the original.

    *starts* are the `line_starts` of the current text, *line_map* leads its lines back.
    """

    def __init__(
        self, path: str, original: bytes, current: bytes, starts: list[int], line_map: LineMap
    ) -> None:
        self._path = path
        self._original = original
        self._current = current
        self._starts = starts
        self._line_map = line_map
        self._original_starts = starts if original == current else line_starts(original)

    def fixes(self, edits: Iterable[Edit]) -> tuple[TextFix, ...] | None:
        """Return *edits* of the current text as fixes of the original; None if one of their lines changed."""
        fixes = []
        for edit in edits:
            start = self._position(edit.start)
            end = self._position(edit.end)
            if start is None or end is None:
                return None
            if self._offset(end) - self._offset(start) != edit.end - edit.start:
                return None
            fixes.append(TextFix(self._path, start, end, edit.text.decode("latin-1")))
        return tuple(fixes)

    def _position(self, offset: int) -> tuple[int, int] | None:
        """Return line and column of *offset* in the original; None if its line is not there as it is."""
        line = bisect_right(self._starts, offset)
        original = self._line_map.unchanged_from(line)
        if not original or original > len(self._original_starts):
            return None
        if _line(self._current, self._starts, line) != _line(self._original, self._original_starts, original):
            return None
        return original, offset - self._starts[line - 1] + 1

    def _offset(self, position: tuple[int, int]) -> int:
        return self._original_starts[position[0] - 1] + position[1] - 1


def _line(data: bytes, starts: list[int], line: int) -> bytes:
    end = starts[line] if line < len(starts) else len(data)
    return data[starts[line - 1] : end]
