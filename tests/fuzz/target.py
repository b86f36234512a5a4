"""Fuzz targets: the modules of tests/fuzz/targets, and how one input is judged.

A target reads bytes that anybody may send. Its `run` raises for an input that breaks the property, which the
docstring of its module states: no exception but the documented one, in linear time, and where there are two
ways to one result, both lead to it.
"""

from __future__ import annotations

import pkgutil
import random
import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Final, Protocol, cast

from tests.fuzz import targets
from tests.support.mutation import mutate

FIXED: Final = 0.25  # seconds of processor time of any input
PER_BYTE: Final = 100e-6  # and of each of its bytes: some ten times what the slowest linear target takes
CHANGED: Final = 200
ATTEMPTS: Final = 3  # of an input that took longer: the machine may be busy


class Target(Protocol):
    """A module of tests/fuzz/targets.

    Attributes:
        COVERED: files of the package, relative to it, whose lines the target is to reach.
        TOKENS: pieces of the language, for changes to inputs.
        CHANGED: changed seeds that the test runs, where one run takes milliseconds (else `CHANGED`).
        SECONDS: processor time of a short input, where it takes long (else `FIXED`).
    """

    COVERED: tuple[str, ...]
    TOKENS: tuple[bytes, ...]

    def seeds(self) -> Sequence[bytes]:
        """Return valid and invalid inputs, recorded ones first of all."""

    def run(self, data: bytes) -> None:
        """Read *data*; raise if it breaks the property."""


class TooSlow(Exception):
    """An input that takes longer than its size allows."""


def names() -> list[str]:
    """Return the names of the targets."""
    return sorted(module.name for module in pkgutil.iter_modules(targets.__path__))


def load(name: str) -> Target:
    """Return the target *name*."""
    return cast(Target, import_module(f"tests.fuzz.targets.{name}"))


def check_input(target: Target, data: bytes) -> None:
    """Run *target*; raise what it raises, or TooSlow."""
    limit = getattr(target, "SECONDS", FIXED) + PER_BYTE * len(data)
    seconds = 0.0
    for _ in range(ATTEMPTS):
        begin = time.process_time()
        target.run(data)
        seconds = time.process_time() - begin
        if seconds <= limit:
            return
    raise TooSlow(f"{seconds:.2f} s for {len(data)} bytes")


def mutations(target: Target, seeds: Sequence[bytes], seed: int) -> Iterator[bytes]:
    """Yield changed seeds without end: the same ones for the same *seed*."""
    choice = random.Random(seed)
    tokens = (*target.TOKENS, b"\0", b"\xff", b"\r\n", b" ", b"9" * 30)
    while True:
        yield mutate(choice.choice(seeds), choice, tokens, seeds)
