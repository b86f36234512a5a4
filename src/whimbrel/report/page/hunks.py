"""The difference of a file as pairs of numbered lines, old beside new."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import Final, NamedTuple

from whimbrel.base.counts import count_noun
from whimbrel.report.page.items import plain
from whimbrel.report.page.model import CodeLine, Hunk
from whimbrel.report.page.texts import number, page_text

MAX_PAIRS: Final = 20_000
"""Pairs of lines of all files of a page."""
_HEADER: Final = re.compile(rb"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")


class DiffLine(NamedTuple):
    """A line of a unified diff, with the numbers that it has or would have on both sides."""

    sign: str
    text: str
    old: int
    new: int


class FileHunks(NamedTuple):
    """The change of one file.

    Attributes:
        counts: removed and added lines.
        numbers: the numbers of the added lines, by their text without white space around it.
        size: the number of pairs.
    """

    hunks: tuple[Hunk, ...]
    counts: tuple[int, int]
    numbers: dict[str, list[int]]
    size: int

    @property
    def words(self) -> str:
        """The counts in words."""
        removed, added = self.counts
        return f"{count_noun(removed, 'line')} removed, {number(added)} added"


def change_of(diff: bytes) -> FileHunks:
    """Return the change that a unified diff of one file describes."""
    parts = list(_parts(diff))
    hunks = tuple(Hunk(tuple(_pairs(part)), reason) for reason, part in parts)
    lines = [line for _, part in parts for line in part]
    numbers: dict[str, list[int]] = {}
    for line in lines:
        if line.sign == "+":
            numbers.setdefault(line.text.strip(), []).append(line.new)
    counts = sum(line.sign == "-" for line in lines), sum(line.sign == "+" for line in lines)
    return FileHunks(hunks, counts, numbers, sum(len(hunk.pairs) for hunk in hunks))


def _parts(diff: bytes) -> Iterator[tuple[str, list[DiffLine]]]:
    """Yield the heading and the lines of each hunk."""
    part: list[DiffLine] = []
    reason = ""
    old = 0
    new = 0
    is_hunk = False
    for line in diff.split(b"\n"):
        header = _HEADER.match(line)
        if header is not None:
            if part:
                yield reason, part
            part = []
            reason = page_text(header[3].decode("latin-1"))
            old = int(header[1])
            new = int(header[2])
            is_hunk = True
        elif is_hunk and line[:1] in (b" ", b"-", b"+"):
            sign = chr(line[0]).strip()
            part.append(DiffLine(sign, line[1:].rstrip(b"\r").decode("latin-1"), old, new))
            old += sign != "+"
            new += sign != "-"
    if part:
        yield reason, part


def _pairs(part: list[DiffLine]) -> Iterator[tuple[CodeLine | None, CodeLine | None]]:
    """Yield pairs: removed lines stand beside those that were added in their place."""
    removed: list[CodeLine] = []
    added: list[CodeLine] = []
    for line in part:
        pieces = plain(line.text)
        if line.sign == "-":
            removed.append(CodeLine(pieces, line.old, "-"))
        elif line.sign == "+":
            added.append(CodeLine(pieces, line.new, "+"))
        else:
            yield from zip_longest(removed, added)
            removed = []
            added = []
            yield CodeLine(pieces, line.old), CodeLine(pieces, line.new)
    yield from zip_longest(removed, added)
