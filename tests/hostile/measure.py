"""A measure of reliability: a name, the promise that it checks, and a function of a budget.

A module of this package exports its measures as `MEASURES`; `run.py` finds them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field


class Budget:
    """Limits of a measure: at most *cases*, at most *seconds*, random numbers from *seed*."""

    def __init__(self, cases: int, seconds: float, seed: int = 1) -> None:
        self.cases, self.seconds, self.seed = cases, seconds, seed
        self.random = random.Random(seed)
        self._end = time.monotonic() + seconds

    @property
    def is_spent(self) -> bool:
        """True after the end of the time."""
        return time.monotonic() >= self._end


@dataclass
class Result:
    """Figures of a measure by name, and one line per failure; *skipped* is the reason of a skip."""

    figures: dict[str, float | int | str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    skipped: str = ""


@dataclass(frozen=True)
class Measure:
    """One measure: `run` checks the sentence *promise*; *cases* and *seconds* are the default budget."""

    name: str
    promise: str
    run: Callable[[Budget], Result]
    cases: int = 1000
    seconds: float = 120.0
