"""Parts of a nightly run: a share of the time, and the command that spends it."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.fuzz.target import names
from tests.hostile.run import measures

ROOT = Path(__file__).resolve().parents[2]
PYTHON = (sys.executable, "-m")
FUZZ_SECONDS = 20.0  # of a target, at least
FUZZ_MORE = 10.0  # seconds for the lines that a target has run
MUTANT_SECONDS = 10.0  # of a change and its tests
MUTANT_FLOOR = 50  # percent that the tests near a change notice
PAGE_SECONDS = 4.0  # of a page of a crawled application with its variants
FAULT_SECONDS = 60.0  # of a fault under its four loads

Command = tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """A part of the run.

    Attributes:
        share: of the time of all parts, as a weight.
        command: returns the command for a number of seconds and a seed; empty where it cannot run here.
        unable: exit codes by which a command says that a program is missing.
    """

    name: str
    share: int
    command: Callable[[float, int], Command]
    unable: tuple[int, ...] = ()


def differential(seconds: float, seed: int) -> Command:
    """Return the command of random configurations beside apache2."""
    return (*PYTHON, "tests.differential.random_run", "--seconds", f"{seconds:.0f}", "--seed", str(seed))


def specialized(seconds: float, seed: int) -> Command:
    """Return the command of random sites with and without specialized answers."""
    return (
        *PYTHON,
        "tests.differential.specialized_run",
        "--seconds",
        f"{seconds:.0f}",
        "--first",
        str(seed),
    )


def crawl(seconds: float, seed: int) -> Command:
    """Return the command of packaged applications."""
    limit = max(2, int(seconds / PAGE_SECONDS))
    return (*PYTHON, "tests.crawl.run", "--limit", str(limit), "--seed", str(seed))


def measure(name: str, seconds: float, seed: int) -> Command:
    """Return the command of a measure of tests/hostile or tests/soak, scaled to its time."""
    scale = seconds / measures()[name].seconds
    return (*PYTHON, "tests.hostile.run", name, "--scale", f"{scale:.4f}", "--seed", str(seed))


def fuzz(seconds: float, seed: int) -> Command:
    """Return the command of some fuzz targets, chosen by the seed."""
    known = names()
    count = max(1, min(len(known), int(seconds / (FUZZ_SECONDS + FUZZ_MORE))))
    chosen = sorted(random.Random(seed).sample(known, count))
    each = max(1.0, seconds / count - FUZZ_MORE)
    return (*PYTHON, "tests.fuzz.run", "--seconds", f"{each:.0f}", *chosen)


def mutants(seconds: float, seed: int) -> Command:
    """Return the command of changes of src, judged by the tests near them."""
    count = max(1, int(seconds / MUTANT_SECONDS))
    options = ("--near", "--tests", "tests/unit", "--floor", str(MUTANT_FLOOR))
    return (*PYTHON, "tests.mutants.run", "--count", str(count), "--seed", str(seed), *options)


def samples(seconds: float, seed: int) -> Command:
    """Return the command of the sampled tests with many cases."""
    return (*PYTHON, "tests.nightly.samples", "--seconds", f"{seconds:.0f}", "--seed", str(seed))


def verify(seconds: float, seed: int) -> Command:
    """Return the command of random mutations of upgraded configurations."""
    return (*PYTHON, "tests.verify.run", "--seconds", f"{seconds:.0f}", "--seed", str(seed))


def faults(seconds: float, seed: int) -> Command:
    """Return the command of some faults, chosen by the seed."""
    listed = subprocess.run(
        ("make", "-s", "faults", "FAULTS=--list"), cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    known = sorted({line.split()[0] for line in listed.stdout.splitlines() if line and line[0].isalpha()})
    if listed.returncode or not known:
        return ()
    count = max(1, min(len(known), int(seconds / FAULT_SECONDS)))
    chosen = sorted(random.Random(seed).sample(known, count))
    return ("make", "-s", "faults", f"FAULTS=--only {' '.join(chosen)}")


PARTS = (
    Part("samples", 16, samples),
    Part("verify", 4, verify),
    Part("differential", 12, differential, (2,)),
    Part("specialized", 6, specialized),
    Part("crawl", 6, crawl, (2,)),
    Part("smuggling", 8, partial(measure, "smuggling")),
    Part("fuzz", 12, fuzz),
    Part("mutants", 8, mutants),
    Part("soak", 12, partial(measure, "soak")),
    Part("races", 4, partial(measure, "races")),
    Part("races-shared", 4, partial(measure, "races-shared")),
    Part("faults", 8, faults),
)
