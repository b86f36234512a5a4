"""What an upgrade wrote, as its journal keeps it: the rule behind each new line, and the old lines."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from whimbrel.base.latin1 import to_text
from whimbrel.base.real_paths import real_path
from whimbrel.upgrade.source.line_map import LineMap
from whimbrel.upgrade.source.section_ranges import stripped_lines

if TYPE_CHECKING:
    from whimbrel.upgrade.check.fixpoint import UpgradeResult
    from whimbrel.upgrade.model import Finding


class WrittenLine(NamedTuple):
    """One written line: its text without indentation, and which one it is of the *total* lines of the file
    with this text, from 0."""

    text: str
    which: int
    total: int


class WrittenEdit(NamedTuple):
    """The lines of one file that the edits of one finding removed and wrote.

    Attributes:
        path: the real path of the file.
        message: the change, as the finding says it of the old text.
        old: the removed lines without indentation, each with its number in the old text.
    """

    rule: str
    path: str
    message: str
    old: tuple[tuple[int, str], ...]
    new: tuple[WrittenLine, ...]

    @classmethod
    def load(cls, row: Sequence[object]) -> WrittenEdit:
        """Return the edit of a row of JSON; raises TypeError and ValueError."""
        rule, path, message, old, new = row
        if not (isinstance(old, list) and isinstance(new, list)):
            raise TypeError("no edit of an upgrade")
        lines = tuple(WrittenLine(*line) for line in new)
        removed = tuple((number, text) for number, text in old)
        numbers = [*(number for number, _ in removed), *(at for one in lines for at in one[1:])]
        texts = [rule, path, message, *(text for _, text in removed), *(one.text for one in lines)]
        if not all(isinstance(one, int) for one in numbers) or not all(isinstance(one, str) for one in texts):
            raise TypeError("a number or text of another type")
        return cls(str(rule), str(path), str(message), removed, lines)


def written_edits(result: UpgradeResult, texts: Mapping[str, bytes]) -> Iterator[WrittenEdit]:
    """Yield what the edits of *result* wrote into *texts*, the new texts by path.

    A line that several findings may have written belongs to the one at the nearest old line.
    """
    for path, data in texts.items():
        if path not in result.files:
            continue
        parts = [part for finding in result.findings if finding.edits for part in _parts(finding, path)]
        writers = LineWriters((number, finding.new) for finding, number, _ in parts)
        new: dict[int, list[WrittenLine]] = {}
        for line, before in _written_lines(result, path, data):
            nearest = writers.nearest(line.text, before)
            if nearest is not None:
                new.setdefault(nearest, []).append(line)
        for at, lines in new.items():
            finding, _, old = parts[at]
            yield WrittenEdit(finding.rule, real_path(path), finding.message, old, tuple(lines))


class LineWriters:
    """Findings by the lines that they may have written.

    *findings*: the number of the old line of each, and the texts that it wrote.
    """

    def __init__(self, findings: Iterable[tuple[int, Iterable[str]]]) -> None:
        self._by_text: dict[str, list[tuple[int, int]]] = {}
        for at, (number, texts) in enumerate(findings):
            for text in dict.fromkeys(texts):
                self._by_text.setdefault(text, []).append((number, at))
        for found in self._by_text.values():
            found.sort()

    def nearest(self, text: str, number: int) -> int | None:
        """Return the position of the finding that wrote *text* and is nearest to the old line *number*, the
        first of equal ones; None if none wrote it.
        """
        able = self._by_text.get(text)
        if able is None:
            return None
        behind = bisect_left(able, (number, -1))
        candidates = able[behind : behind + 1]
        if behind:
            candidates.append(able[bisect_left(able, (able[behind - 1][0], -1))])
        return min(candidates, key=lambda one: (abs(one[0] - number), one[1]))[1]


_Part = tuple["Finding", int, tuple[tuple[int, str], ...]]


def _parts(finding: Finding, path: str) -> Iterator[_Part]:
    """Yield the finding if its edits change the file, with an old line there, and the removed lines."""
    if finding.place.path == path:
        yield finding, finding.place.line, finding.old
    for other in finding.elsewhere:
        if other.path == path:
            yield finding, other.line, tuple((other.line, text) for text in other.old)


def _written_lines(result: UpgradeResult, path: str, data: bytes) -> Iterator[tuple[WrittenLine, int]]:
    """Yield the lines of the new text that edits wrote or changed, each with the old line in its place."""
    old = stripped_lines(result.tree.files[path].document.bytes)
    lines = stripped_lines(data)
    line_map = result.line_maps.get(path, LineMap())
    counts = Counter(lines)
    seen: Counter[bytes] = Counter()
    for number, line in enumerate(lines, 1):
        before = line_map.unchanged_from(number)
        if line and not (0 < before <= len(old) and old[before - 1] == line):
            yield WrittenLine(to_text(line), seen[line], counts[line]), line_map.original_line(number)
        seen[line] += 1
