"""Map from the lines of an edited file to the lines of the original."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Protocol

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.syntax.edits import Edit


@dataclass(frozen=True, slots=True)
class LineSpan:
    """A range of new lines, counted from 1, and the old lines that it corresponds to.

    The lines are unchanged, or they replace the old ones.
    """

    new_start: int
    old_start: int
    old_end: int
    is_unchanged: bool


class LineEdits:
    """The line ranges of one set of edits to *data*."""

    def __init__(self, data: bytes, edits: Iterable[Edit]) -> None:
        self.spans = list(
            _spans(data, _joined(sorted(edits, key=lambda edit: (edit.start, edit.end, edit.rank))))
        )
        self._starts = [span.new_start for span in self.spans]

    def source_line(self, line: int) -> int:
        """Return the old line that *line* corresponds to."""
        span = self._span(line)
        old = span.old_start + line - span.new_start
        return old if span.is_unchanged else max(span.old_start, min(old, span.old_end))

    def unchanged_from(self, line: int) -> int:
        """Return the old line that *line* equals, 0 for an inserted line."""
        span = self._span(line)
        return span.old_start + line - span.new_start if span.is_unchanged else 0

    def _span(self, line: int) -> LineSpan:
        return self.spans[max(0, bisect_right(self._starts, line) - 1)]


def _joined(edits: Iterable[Edit]) -> list[Edit]:
    """Return the edits with one in place of neighbours: lines that an insertion adds directly behind removed
    lines replace those."""
    joined: list[Edit] = []
    for edit in edits:
        last = joined[-1] if joined else None
        if last is not None and last.end == edit.start and last.start < last.end:
            joined[-1] = Edit(last.start, edit.end, last.text + edit.text)
        else:
            joined.append(edit)
    return joined


def _spans(data: bytes, edits: list[Edit]) -> Iterator[LineSpan]:
    yield LineSpan(1, 1, 1, True)
    new = 1
    old = 1
    done = 0
    for edit in edits:
        between = data.count(b"\n", done, edit.start)
        removed = data.count(b"\n", edit.start, edit.end)
        inserted = edit.text.count(b"\n")
        new, old, done = new + between, old + between, edit.end
        if removed or inserted:
            yield LineSpan(new, old, max(old, old + removed - 1), False)
            new, old = new + inserted, old + removed
            yield LineSpan(new, old, old, True)


class OldLines(Protocol):
    """The lines of an old text that those of a new one are, as `LineMap` has them."""

    def unchanged_from(self, line: int) -> int:
        """Return the old line that *line* is, 0 for none."""


class LineMap:
    """All sets of edits of one file, in the order of their application."""

    def __init__(self) -> None:
        self.steps: list[LineEdits] = []

    def original_line(self, line: int) -> int:
        """Return the original line that *line* corresponds to."""
        for step in reversed(self.steps):
            line = step.source_line(line)
        return line

    def unchanged_from(self, line: int) -> int:
        """Return the original line that *line* is, possibly with changes inside the line, or 0."""
        for step in reversed(self.steps):
            line = step.unchanged_from(line)
            if not line:
                break
        return line
