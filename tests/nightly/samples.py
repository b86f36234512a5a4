"""The sampled tests of `make test`, with many cases of each family, and seeds of their own.

A test file belongs to them if it takes its amounts from tests/support/samples.py. The files run one after the
other, in an order that the seed decides, until the time is over: each run of a week has others.

Usage: python -m tests.nightly.samples --seconds 600 --seed 7 [FILE ...]
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.support.samples import FULL, SEED

ROOT: Final = Path(__file__).resolve().parents[2]
MORE: Final = 300.0  # seconds that the file may take that runs when the time is over
SOURCES: Final = re.compile(r"^from tests\.(?:support\.samples|upgrade\.upgradable) import", re.M)
OF_THEMSELVES: Final = ("tests/support/", "tests/nightly/")
NO_TEST: Final = 5
"""Exit status of pytest where no test was collected: the file needs a program that is not here."""


def sampled() -> list[str]:
    """Return the test files that take few cases in `make test`."""
    files = (path for path in sorted((ROOT / "tests").rglob("test_*.py")))
    names = [str(path.relative_to(ROOT)) for path in files if SOURCES.search(path.read_text("utf-8"))]
    return [name for name in names if not name.startswith(OF_THEMSELVES)]


def run(names: Sequence[str], seconds: float, seed: int, jobs: int) -> tuple[int, list[str]]:
    """Run files until the time is over; return their number, and the ones that failed."""
    environment = {**os.environ, FULL: "1", SEED: str(seed)}
    end = time.monotonic() + seconds
    count = 0
    failed = []
    for name in random.Random(seed).sample(names, len(names)):
        left = end - time.monotonic()
        if left <= 0:
            break
        words = [sys.executable, "-m", "pytest", name, "-q", "-n", str(jobs), "-r", "fE"]
        try:
            status = subprocess.run(words, cwd=ROOT, env=environment, timeout=left + MORE).returncode
        except subprocess.TimeoutExpired:
            status = -1
        count += 1
        if status not in (0, NO_TEST):
            failed.append(name)
    return count, failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 1 if a file fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.nightly.samples", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="time of all files (default: 600)")
    parser.add_argument("--seed", type=int, default=1, help="of the order and of searches (default: 1)")
    parser.add_argument("--jobs", type=int, default=2, help="processes of a file (default: 2)")
    parser.add_argument("files", nargs="*", metavar="FILE", help="run these files (default: all)")
    options = parser.parse_args(arguments)
    names = options.files or sampled()
    count, failed = run(names, options.seconds, options.seed, options.jobs)
    for name in failed:
        print(f"failed: {FULL}=1 {SEED}={options.seed} pytest {name}")
    print(f"samples: {count} of {len(names)} files, {len(failed)} failed")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
