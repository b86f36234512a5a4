"""Text of a report for people at a terminal; also the finding lines of `whimbrel upgrade`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.printable import printable_line
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
    """Return the kind of input, the findings (worst first, equal ones once with all locations), then the
    counts.
    """
    lines = [line for group in groups(report.entries) for line in entry_lines(group, colored)]
    lines = [*report.inputs, *lines, *summary(report)]
    return "".join(f"{printable_line(line, is_colored=colored)}\n" for line in lines)


def entry_lines(group: list[ReportEntry], colored: bool = False) -> Iterator[str]:
    """List a finding of a check, or several that differ by their location only."""
    entry = group[0]
    kind = "could not be read" if entry.rule == READ_ERROR else entry.risk.value
    marks = f", {entry.mark}" if entry.mark else ""
    where = (
        f"{_paint(entry.place, '1', colored)}: {entry.rule}"
        if len(group) == 1
        else _paint(f"{entry.rule} in {len(group)} places", "1", colored)
    )
    include = [f"included from {entry.via}"] if entry.via else []
    head = f"{where} [{_paint(kind, COLORS[entry.risk], colored)}{marks}] {entry.message}"
    return _lines(head, group, include)


def action_lines(group: list[ReportEntry]) -> Iterator[str]:
    """List a finding of an upgrade, or several that differ by their location only, with the action left."""
    entry = group[0]
    where = (
        f"{entry.path}:{entry.line}: {entry.rule}"
        if len(group) == 1
        else f"{entry.rule} in {len(group)} places"
    )
    if entry.needs_review:
        action = "needs review"
    elif entry.decision:
        action = "decision to take"
    else:
        action = "note"
    changed = " (changed)" if entry.is_fixable else ""
    return _lines(f"{where}: {action}{changed}: {entry.message} [{entry.risk.value}]", group, [])


def _lines(head: str, group: list[ReportEntry], include: list[str]) -> Iterator[str]:
    """Yield the head line, then advice, decision, new text, locations and evidence, indented."""
    entry = group[0]
    yield head
    if entry.advice:
        yield f"    advice: {entry.advice}"
    if entry.decision:
        yield f"    decide: {entry.decision}"
    locations = places(group) if len(group) > 1 else include
    details = [*new_lines(entry), *locations, *entry.evidence.splitlines()]
    yield from (f"    {line}" for line in details)


def _paint(text: str, code: str, colored: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colored else text
