"""Doorkeeper of a cache: what occurs once is not worth an entry."""

from __future__ import annotations


class Doorkeeper:
    """Hashes of what occurred once (`marks`); at most *most*, which are then dropped together."""

    __slots__ = ("_most", "marks")

    def __init__(self, most: int) -> None:
        self._most = most
        self.marks: set[int] = set()

    def __len__(self) -> int:
        return len(self.marks)

    def has_seen(self, mark: int) -> bool:
        """Return True if *mark* occurred before; note it if not."""
        marks = self.marks
        if mark in marks:
            return True
        if len(marks) >= self._most:
            marks.clear()
        marks.add(mark)
        return False

    def clear(self) -> None:
        """Forget everything."""
        self.marks.clear()
