"""Figures of a run: agreement per family, as a table and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tests.conformance.evaluate import Result

TOTAL = "ALL"
_NAME_WIDTH = 34
_COLUMNS = (
    ("status", "status", "answers"),
    ("+headers", "headers", "answers"),
    ("full", "full", "answers"),
    ("logcodes", "logs", "sites"),
    ("access", "access", "access_expected"),
)


@dataclass
class Tally:
    """Counts of some results.

    Attributes:
        answers: compared answers; status, headers, full: those that agree at each level.
        sites: compared error logs; logs: those that agree.
        access_expected: recorded access log lines; access: those that agree.
        failures: cases that ended with an exception.
    """

    cases: int = 0
    answers: int = 0
    status: int = 0
    headers: int = 0
    full: int = 0
    sites: int = 0
    logs: int = 0
    access_expected: int = 0
    access: int = 0
    failures: int = 0

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            *(
                mine + its
                for mine, its in zip(dataclasses.astuple(self), dataclasses.astuple(other), strict=True)
            )
        )

    @property
    def percent(self) -> float:
        """Percentage of answers that agree fully."""
        return percentage(self.full, self.answers)


def percentage(part: int, overall: int) -> float:
    """*part* of *overall* in percent; 0 of nothing."""
    return 100 * part / max(overall, 1)


def tally(result: Result) -> Tally:
    """The counts of one result."""
    status, headers, full = (sum(level[at] for level in result.levels) for at in range(3))
    return Tally(
        1,
        len(result.levels),
        status,
        headers,
        full,
        int(result.log is not None),
        int(bool(result.log)),
        result.access_expected,
        result.access,
        int(result.failure is not None),
    )


def by_family(results: Iterable[Result]) -> dict[str, Tally]:
    """The counts of each family."""
    totals: dict[str, Tally] = {}
    for result in results:
        family = result.case.family
        totals[family] = totals.get(family, Tally()) + tally(result)
    return dict(sorted(totals.items()))


def total(tallies: Iterable[Tally]) -> Tally:
    """The sum of tallies."""
    return sum(tallies, Tally())


def table(totals: dict[str, Tally]) -> str:
    """One line for each family, and one for all."""
    head = f"{'family':{_NAME_WIDTH}} {'answers':>7} " + " ".join(f"{title:>8}" for title, _, _ in _COLUMNS)
    return "\n".join(
        [head, *(_row(name, one) for name, one in totals.items()), _row(TOTAL, total(totals.values()))]
    )


def _row(name: str, one: Tally) -> str:
    cells = (_cell(getattr(one, part), getattr(one, overall)) for _, part, overall in _COLUMNS)
    return f"{name:{_NAME_WIDTH}} {one.answers:7} " + " ".join(cells)


def _cell(part: int, overall: int) -> str:
    return f"{f'{percentage(part, overall):.1f}%' if overall else '-':>8}"


def figures(totals: dict[str, Tally]) -> dict[str, Any]:
    """The counts as JSON, with the percentage of answers that agree fully."""
    return {
        name: {**dataclasses.asdict(one), "percent": round(one.percent, 3)}
        for name, one in {**totals, TOTAL: total(totals.values())}.items()
    }
