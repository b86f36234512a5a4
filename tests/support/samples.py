"""How much of a recorded or random family a run of all tests takes, and the seed of its searches.

`make test` takes few cases of each family. `make nightly` sets `WHIMBREL_FULL` and takes many
(tests/nightly/samples.py finds the tests that import this module). Its searches begin at the seed of the day,
so that runs add up; pytest prints it at its end, and `WHIMBREL_SEED` repeats it. Those of `make test` begin
at 0: whether a change is good does not depend on the day.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product
from typing import Final, TypeVar

FIRST = TypeVar("FIRST")
SECOND = TypeVar("SECOND")
FULL: Final = "WHIMBREL_FULL"
SEED: Final = "WHIMBREL_SEED"


def amount(few: int, many: int) -> int:
    """Return *few*, in a nightly run *many*."""
    return many if os.environ.get(FULL) else few


def some(values: Sequence[FIRST], few: int) -> list[FIRST]:
    """Return *few* of *values*, spread evenly from the first one on; in a nightly run all."""
    count = amount(min(few, len(values)), len(values))
    return [values[number * len(values) // count] for number in range(count)]


def pairs(first: Sequence[FIRST], second: Sequence[SECOND]) -> list[tuple[FIRST, SECOND]]:
    """Return pairs that have each value of both; in a nightly run all pairs.

    Where one length divides the other, each value of the shorter one meets as many of the longer one.
    """
    every = list(product(first, second))
    count = max(len(first), len(second))
    few = [(first[number % len(first)], second[number % len(second)]) for number in range(count)]
    return every[: amount(0, len(every))] or few


def seed_of_the_run() -> int:
    """Return the seed of `WHIMBREL_SEED`, else in a nightly run the number of the day, else 0; started
    processes inherit it.
    """
    return int(os.environ.setdefault(SEED, str(amount(0, datetime.now(UTC).toordinal()))))


def first_seed(variable: str, count: int) -> int:
    """Return the first of *count* seeds: that of the environment, or one that no other night takes."""
    return int(os.environ.get(variable, seed_of_the_run() * count))
