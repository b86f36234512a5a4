"""The face for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.report.model import Report, ReportEntry, groups, new_lines, places, summary
from whimbrel.upgrade.model import READ_ERROR, Risk

COLORS: Final = {
    Risk.BREAKS: "31;1",
    Risk.OPENS: "31;1",
    Risk.CLOSES: "31",
    Risk.CHANGES: "33",
    Risk.COSMETIC: "36",
}


def render(report: Report, *, colored: bool = False) -> str:
    """What the input was taken for, the findings (the worst first, equal ones once with all their places),
    then the counts.
    """
    lines = [line for group in groups(report.entries) for line in entry_lines(group, colored)]
    return "\n".join([*report.inputs, *lines, *summary(report)]) + "\n"


def entry_lines(group: list[ReportEntry], colored: bool = False) -> Iterator[str]:
    """One finding, or several that differ by their place alone."""
    entry = group[0]
    kind = "could not be read" if entry.rule == READ_ERROR else entry.risk.value
    marks = f", {entry.mark}" if entry.mark else ""
    where = (
        f"{_paint(entry.place, '1', colored)}: {entry.rule}"
        if len(group) == 1
        else _paint(f"{entry.rule} in {len(group)} places", "1", colored)
    )
    yield f"{where} [{_paint(kind, COLORS[entry.risk], colored)}{marks}] {entry.message}"
    if entry.advice:
        yield f"    advice: {entry.advice}"
    if entry.decision:
        yield f"    decide: {entry.decision}"
    yield from (f"    {line}" for line in new_lines(entry))
    if len(group) > 1:
        yield from (f"    {line}" for line in places(group))
    elif entry.via:
        yield f"    included from {entry.via}"
    yield from (f"    {line}" for line in entry.evidence.splitlines())


def _paint(text: str, code: str, colored: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colored else text
