"""The face for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.report.model import UNREAD, Entry, Report, summary
from whimbrel.upgrade.model import Risk

COLORS: Final = {Risk.BREAKS: "31;1", Risk.OPENS: "31;1", Risk.CLOSES: "31", Risk.CHANGES: "33", Risk.COSMETIC: "36"}


def render(report: Report, *, colored: bool = False) -> str:
    """Findings in the order of the report, then the counts; no finding without its place."""
    lines = [line for entry in report.entries for line in _entry(entry, colored)]
    return "\n".join([*lines, *summary(report)]) + "\n"


def _entry(entry: Entry, colored: bool) -> Iterator[str]:
    place = f"{entry.path}:{entry.line}" if entry.line else entry.path
    kind = "could not be read" if entry.rule == UNREAD else entry.risk.value
    marks = "".join(f", {word}" for word, there in (("mended by upgrade", entry.mended), ("needs review", entry.review)) if there)
    yield f"{_paint(place, '1', colored)}: {entry.rule} [{_paint(kind, COLORS[entry.risk], colored)}{marks}] {entry.message}"
    if entry.remedy:
        yield f"    remedy: {entry.remedy}"
    if entry.via:
        yield f"    included from {entry.via}"
    yield from (f"    {line}" for line in entry.evidence.splitlines())


def _paint(text: str, code: str, colored: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colored else text
