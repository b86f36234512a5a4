"""Which line of the original a line of an edited file comes from."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from whimbrel.records import dataclass
from whimbrel.syntax.edits import Edit


@dataclass(frozen=True, slots=True)
class Stretch:
    """Lines from *new* on (counted from 1) were lines *old* on; *kept*: they are the same lines, else they take the place of *old* to *last*."""

    new: int
    old: int
    last: int
    kept: bool


class Step:
    """The lines of one set of edits: what became of the lines of *data*."""

    def __init__(self, data: bytes, edits: Iterable[Edit]) -> None:
        self.stretches = list(_stretches(data, sorted(edits, key=lambda edit: (edit.start, edit.end))))
        self._starts = [stretch.new for stretch in self.stretches]

    def before(self, line: int) -> int:
        """The line that *line* was, or whose place it takes."""
        stretch = self._stretch(line)
        old = stretch.old + line - stretch.new
        return old if stretch.kept else max(stretch.old, min(old, stretch.last))

    def kept(self, line: int) -> int:
        """The line that *line* was, 0 for one that edits made."""
        stretch = self._stretch(line)
        return stretch.old + line - stretch.new if stretch.kept else 0

    def _stretch(self, line: int) -> Stretch:
        return self.stretches[max(0, bisect_right(self._starts, line) - 1)]


def _stretches(data: bytes, edits: list[Edit]) -> Iterator[Stretch]:
    yield Stretch(1, 1, 1, True)
    new = old = 1
    done = 0
    for edit in edits:
        between = data.count(b"\n", done, edit.start)
        gone, made = data.count(b"\n", edit.start, edit.end), edit.text.count(b"\n")
        new, old, done = new + between, old + between, edit.end
        if gone or made:
            yield Stretch(new, old, max(old, old + gone - 1), False)
            new, old = new + made, old + gone
            yield Stretch(new, old, old, True)


class Trace:
    """All steps of one file, the first one first."""

    def __init__(self) -> None:
        self.steps: list[Step] = []

    def original(self, line: int) -> int:
        """The line of the original that *line* was, or whose place it takes."""
        for step in reversed(self.steps):
            line = step.before(line)
        return line

    def kept(self, line: int) -> int:
        """The line of the original that *line* is, maybe with changes inside the line, or 0."""
        for step in reversed(self.steps):
            line = step.kept(line)
            if not line:
                break
        return line
