"""The lines of a code frame: those that an edit removes and writes, where they stand in the file, and the
unchanged ones between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from whimbrel.base.counts import count_noun
from whimbrel.upgrade.model import Finding, TextFix

MAX_SPAN: Final = 80
"""Lines of a file from the first to the last one of a frame."""
MAX_GAP: Final = 2
"""Unchanged lines in a row that are shown; of more, those of sections around a change, and a count."""
TAB: Final = 4

SourceTexts = Mapping[tuple[str, int], str]
"""Lines of files by path and number."""


class FrameLine(NamedTuple):
    """A line of a frame; *sign* is "-", "+", "" for an unchanged one, "." for a count in their place."""

    sign: str
    number: int
    text: str


def lines_needed(finding: Finding) -> Iterator[int]:
    """Yield the numbers of the lines that `frame_lines` reads, besides that of the place."""
    span = _span(finding, _fixes(finding))
    if span is not None:
        has_opening = 0 < span[0] - finding.place.line <= MAX_SPAN
        yield from range(finding.place.line if has_opening else span[0], span[1] + 1)


def frame_lines(finding: Finding, texts: SourceTexts) -> tuple[FrameLine, ...]:
    """Return the lines of the frame; () where the edit has no ranges in its file, or *texts* lack a line."""
    fixes = _fixes(finding)
    span = _span(finding, fixes)
    if span is None:
        return ()
    path = finding.place.path
    found = [texts.get((path, number)) for number in range(span[0], span[1] + 1)]
    old = [text.rstrip("\r") for text in found if text is not None]
    if len(old) < len(found):
        return ()
    lines = list(_compared(span[0], old, _edited(span[0], old, fixes)))
    opening = texts.get((path, finding.place.line), "") if finding.place.line < span[0] else ""
    if opening.strip().startswith("<"):
        between = range(finding.place.line + 1, span[0])
        inner = [FrameLine("", at, texts.get((path, at), "")) for at in between[:MAX_SPAN]]
        if len(between) > MAX_SPAN:
            inner = [_count(len(between))]
        lines = [FrameLine("", finding.place.line, opening), *inner, *lines]
    return tuple(_folded(_outdented(lines)))


def _fixes(finding: Finding) -> list[TextFix]:
    return [fix for fix in finding.fixes if fix.path == finding.place.path] if finding.old else []


def _span(finding: Finding, fixes: list[TextFix]) -> tuple[int, int] | None:
    """Return the first and the last line that *fixes* touch; None for none, or too many."""
    if not fixes:
        return None
    first = min(fix.start[0] for fix in fixes)
    last = max(fix.end[0] - (fix.end[1] == 1 and fix.end[0] > fix.start[0]) for fix in fixes)
    return (first, last) if last - first < MAX_SPAN else None


def _edited(first: int, old: Sequence[str], fixes: list[TextFix]) -> list[str]:
    """Return the lines after *fixes*; line *first* is the first one of *old*."""
    text = "".join(f"{line}\n" for line in old)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line) + 1)
    for fix in sorted(fixes, key=lambda one: (one.start, one.end), reverse=True):
        begin, end = (
            min(starts[line - first] + column - 1, len(text)) for line, column in (fix.start, fix.end)
        )
        text = text[:begin] + fix.text + text[end:]
    return [line.rstrip("\r") for line in text.removesuffix("\n").split("\n")] if text else []


def _compared(first: int, old: Sequence[str], new: Sequence[str]) -> Iterator[FrameLine]:
    """Yield the lines of both sides; white space around a line is no difference."""
    matcher = SequenceMatcher(
        None, [one.strip() for one in old], [one.strip() for one in new], autojunk=False
    )
    for kind, begin, end, new_begin, new_end in matcher.get_opcodes():
        if kind == "equal":
            pairs = zip(range(begin, end), new[new_begin:new_end], strict=True)
            yield from (FrameLine("", first + at, text) for at, text in pairs)
            continue
        yield from (FrameLine("-", first + at, old[at]) for at in range(begin, end))
        yield from (FrameLine("+", 0, text) for text in new[new_begin:new_end])


def _outdented(lines: list[FrameLine]) -> list[FrameLine]:
    """Return *lines* without the blanks that all of them begin with; blank lines are empty."""
    texts = [line.text.expandtabs(TAB).rstrip() for line in lines]
    common = min((len(text) - len(text.lstrip()) for text in texts if text), default=0)
    return [line._replace(text=text[common:]) for line, text in zip(lines, texts, strict=True)]


def _folded(lines: list[FrameLine]) -> Iterator[FrameLine]:
    """Yield *lines* with counts in the place of long rows of unchanged ones.

    Of a row the first line stays where it is the first of the frame that has a number: the section, or the
    line before which new ones stand.
    """
    row: list[FrameLine] = []
    has_number = False
    for line in [*lines, FrameLine("-", 0, "")]:
        if not line.sign:
            row.append(line)
            continue
        if row and not has_number:
            yield row.pop(0)
        yield from _row(row)
        row = []
        has_number = has_number or bool(line.number)
        if line.number or line.text:
            yield line


def _row(row: list[FrameLine]) -> Iterator[FrameLine]:
    """Yield the lines of a short row; of a long one those of sections that begin or end outside it."""
    if len(row) <= MAX_GAP:
        yield from row
        return
    shown = _crossing(row)
    hidden = 0
    for at, line in enumerate(row):
        if at not in shown:
            hidden += 1
            continue
        if hidden:
            yield _count(hidden)
        hidden = 0
        yield line
    if hidden:
        yield _count(hidden)


def _crossing(row: list[FrameLine]) -> set[int]:
    """Return the indexes of lines that open a section which is not closed in *row*, or close another one."""
    opened: list[int] = []
    found: set[int] = set()
    for at, line in enumerate(row):
        text = line.text.lstrip()
        if text.startswith("</"):
            if opened:
                found.discard(opened.pop())
            else:
                found.add(at)
        elif text.startswith("<"):
            opened.append(at)
            found.add(at)
    return found


def _count(hidden: int) -> FrameLine:
    return FrameLine(".", 0, count_noun(hidden, "unchanged line"))
