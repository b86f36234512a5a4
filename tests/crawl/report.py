"""Figures of a crawl, differences grouped by cause, and details as JSON lines."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TextIO

from tests.crawl.session import Excuse, Outcome

VARIANTS = 8
ANSWER = "answer"


@dataclass
class Group:
    """Answers with one cause: the same status codes and differing parts."""

    outcomes: list[Outcome] = field(default_factory=list)

    def lines(self, kind: str) -> list[str]:
        """Return its variants and an example."""
        counts = Counter(outcome.variant for outcome in self.outcomes).most_common(VARIANTS + 1)
        variants = [f"{name} ({count})" for name, count in counts[:VARIANTS]] + ["..."] * (
            len(counts) > VARIANTS
        )
        first = self.outcomes[0]
        return [
            f"    {', '.join(variants)}",
            f"    {first.target}, {first.variant}",
            *(
                f"      {d.part}: {d.apache[:150]!r} | {d.whimbrel[:150]!r}"
                for d in (first.differences if kind == ANSWER else first.logs)
            ),
        ]


@dataclass
class Figures:
    """Counts of one application.

    Attributes:
        answers: compared answers, without those that apache2 loses.
        equal: answers that are equal, with those where apache2 varies.
        excused: answers of these two kinds.
        logged: answers with equal log lines.
    """

    answers: int = 0
    equal: int = 0
    excused: int = 0
    logged: int = 0

    def add(self, outcome: Outcome) -> None:
        """Count *outcome*."""
        self.excused += outcome.excuse is not Excuse.NONE
        if outcome.excuse is not Excuse.LOST:
            self.answers += 1
            self.equal += not outcome.differences or outcome.excuse is Excuse.VARIES
            self.logged += not outcome.logs

    @property
    def percent(self) -> float:
        """Percentage of equal answers; 100 of none."""
        return 100 * self.equal / self.answers if self.answers else 100.0

    def text(self, name: str) -> str:
        """Return one line of the table."""
        logs = 100 * self.logged / self.answers if self.answers else 100.0
        return f"{name:24}{self.answers:9}{self.equal:9}{self.percent:10.3f} %{self.excused:10}{logs:12.3f} %"


HEADING = f"{'application':24}{'answers':>9}{'equal':>9}{'':>12}{'excused':>10}{'logs':>14}"


class Report:
    """All outcomes of a crawl."""

    def __init__(self, details: TextIO | None = None) -> None:
        self._details = details
        self.figures: defaultdict[str, Figures] = defaultdict(Figures)
        self._groups: defaultdict[tuple[str, ...], Group] = defaultdict(Group)

    def add(self, outcome: Outcome) -> None:
        """Count *outcome*; write it if it has differences."""
        self.figures[outcome.application].add(outcome)
        differences = outcome.differences if outcome.excuse is Excuse.NONE else []
        for kind, found in ((ANSWER, differences), ("log", outcome.logs)):
            if found:
                status = " -> ".join(str(code) for code in dict.fromkeys(outcome.status))
                parts = ",".join(dict.fromkeys(difference.part for difference in found))
                self._groups[kind, status, parts].outcomes.append(outcome)
        if self._details is not None and (outcome.differences or outcome.logs):
            self._details.write(json.dumps(_record(outcome)) + "\n")

    @property
    def total(self) -> Figures:
        """The sum of all applications."""
        total = Figures()
        for figures in self.figures.values():
            total.answers += figures.answers
            total.equal += figures.equal
            total.excused += figures.excused
            total.logged += figures.logged
        return total

    def lines(self) -> Iterable[str]:
        """Yield the groups, the largest first, then the table."""
        for key, group in sorted(self._groups.items(), key=lambda item: -len(item[1].outcomes)):
            yield f"{len(group.outcomes)} x {' | '.join(key)}"
            yield from group.lines(key[0])
        yield HEADING
        for name, figures in self.figures.items():
            yield figures.text(name)
        yield self.total.text("all")


def _record(outcome: Outcome) -> dict[str, object]:
    """Return *outcome* as it stands in the file of details."""
    return {
        "application": outcome.application,
        "target": outcome.target,
        "variant": outcome.variant,
        "request": outcome.request.data.decode("latin-1"),
        "status": outcome.status,
        "excuse": outcome.excuse.value,
        "differences": [vars(difference) for difference in outcome.differences],
        "logs": [vars(difference) for difference in outcome.logs],
    }
