"""What a measure of reliability is: a name, the letter of the promise that it checks, a function of a budget.

A module of this package offers its measures as `MEASURES`; `run.py` finds them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field


class Budget:
    """How much a measure may do: *cases* at most, for at most *seconds*, from random numbers that start with *seed*."""

    def __init__(self, cases: int, seconds: float, seed: int = 1) -> None:
        self.cases, self.seconds, self.seed = cases, seconds, seed
        self.random = random.Random(seed)
        self._end = time.monotonic() + seconds

    @property
    def is_spent(self) -> bool:
        """True when the time is over."""
        return time.monotonic() >= self._end


@dataclass
class Result:
    """The figures of a measure by name, and one line for each failure; *skipped* is the reason why nothing was measured."""

    figures: dict[str, float | int | str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    skipped: str = ""


@dataclass(frozen=True)
class Measure:
    """One measure: *promise* is a sentence that `run` disproves or confirms; *cases* and *seconds* are its default budget."""

    name: str
    promise: str
    run: Callable[[Budget], Result]
    cases: int = 1000
    seconds: float = 120.0
