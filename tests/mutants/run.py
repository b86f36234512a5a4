"""``make mutants``: change sampled places of src, and list the changes that no test notices.

The map from lines to tests is made once for a commit (MEASURED, under coverage) and is kept below
build/mutants. A change is tried in a copy of the checkout: the tests that run its line are run there, quick
ones first, until one fails. A line of a module (a table) is run by the import: every test that runs the file
is asked.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import coverage

from tests.mutants.places import Mutation, mutations, sampled, shortened

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/mutants"
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
MEASURED = [
    "tests/unit",
    "tests/conformance/test_in_process.py",
    "tests/verify",
    "tests/upgrade",
    "tests/corpus",
]
TESTS = 250
"""Of one change, at most; the quickest. A change that so many miss is not noticed."""
SECONDS = 120
"""For the tests of one change; a change that makes them endless is noticed."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one mutation: killed, survived, uncovered (no test runs the line) or equivalent."""

    mutation: Mutation
    outcome: str
    tests: int
    seconds: float


class Covering:
    """Which tests run a line: the notes of tests.mutants.covering.

    Attributes:
        seconds: of each test, by its node id.
    """

    def __init__(self, folder: Path) -> None:
        self.seconds: dict[str, float] = json.loads((folder / "seconds.json").read_text())
        self._data = coverage.CoverageData(str(folder / "coverage"))
        self._data.read()
        self._by_line: dict[str, dict[int, list[str]]] = {}

    def tests(self, mutation: Mutation) -> list[str]:
        """Return the tests that run the place, quick ones first; of what the import runs, those of the file.

        Parts of a statement over several lines need not be lines of their own: its first one counts too.
        """
        path = mutation.path
        if path not in self._by_line:
            self._by_line[path] = self._data.contexts_by_lineno(str(ROOT / path))
        lines = self._by_line[path]
        both = lines.get(mutation.line) or lines.get(mutation.statement, [])
        found = {test for test in both if test}
        if not found and mutation.name == "":
            found = {test for tests in lines.values() for test in tests if test}
        return sorted(found, key=lambda test: self.seconds.get(test, 0.0))[:TESTS]


def _environment(source: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(source / "src"), "PYTHONDONTWRITEBYTECODE": "1"}


def measure(folder: Path, tests: list[str]) -> None:
    """Run *tests* under coverage; writes coverage and seconds.json."""
    folder.mkdir(parents=True, exist_ok=True)
    report = folder / "durations.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.mutants.covering", "-p", "no:cacheprovider"]
    command += [f"--junitxml={report}", "-o", "junit_family=xunit1", *tests]
    environment = {**_environment(ROOT), "MUTANTS_COVERAGE": str(folder / "coverage.part")}
    print("which test runs which line: all of", ", ".join(tests), flush=True)
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"the tests fail without any change:\n{done.stdout[-3000:]}")
    combined = coverage.Coverage(data_file=str(folder / "coverage"), config_file=False)
    combined.combine([str(folder)])
    combined.save()
    (folder / "seconds.json").write_text(json.dumps(_seconds(report)))


def _seconds(report: Path) -> dict[str, float]:
    """Return the seconds of each test by its node id, from pytest's report."""
    import xml.etree.ElementTree as ElementTree

    found = {}
    for case in ElementTree.parse(report).iter("testcase"):
        file = case.get("file", "")
        classes = (
            case.get("classname", "").removeprefix(file.removesuffix(".py").replace("/", ".")).strip(".")
        )
        name = "::".join((file, *filter(None, classes.split(".")), case.get("name", "")))
        found[name] = float(case.get("time", "0"))
    return found


def copied(commit: str) -> Path:
    """Return a copy of the checkout that may be changed: what git knows of *commit*."""
    tree = BUILD / "tree"
    if not tree.exists():
        subprocess.run(["git", "worktree", "add", "--detach", str(tree), commit], cwd=ROOT, check=True)
    subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", commit], cwd=tree, check=True)
    return tree


def tried(mutation: Mutation, tree: Path, covering: Covering) -> Trial:
    """Apply a mutation, run the tests that run its line, and take it back."""
    tests = covering.tests(mutation)
    begin = time.monotonic()
    if not tests:
        return Trial(mutation, "uncovered", 0, 0.0)
    file = tree / mutation.path
    source = file.read_bytes()
    file.write_bytes(mutation.applied(source))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--no-header", *tests]
    try:
        done = subprocess.run(
            command, cwd=tree, env=_environment(tree), check=False, capture_output=True, timeout=SECONDS
        )
        outcome = "killed" if done.returncode else "survived"
    except subprocess.TimeoutExpired:
        outcome = "killed"
    finally:
        file.write_bytes(source)
    return Trial(mutation, outcome, len(tests), time.monotonic() - begin)


def equivalents() -> dict[str, str]:
    """Return the mutations that change nothing that anybody can see, with the reason of each."""
    lines = EQUIVALENT.read_text().splitlines()
    return dict(line.rsplit(" | ", 1) for line in lines if line and not line.startswith("#"))


def candidates(only: list[str]) -> list[Mutation]:
    """Return the mutations of the files below the paths *only*."""
    files = sorted(file for path in only for file in (ROOT / path).rglob("*.py"))
    if not files:
        files = [ROOT / path for path in only]
    found: list[Mutation] = []
    for file in files:
        found += mutations(str(file.relative_to(ROOT)), file.read_bytes())
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make mutants", description=__doc__)
    parser.add_argument("--count", type=int, default=60, help="mutations (60)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample; 0: another one each time")
    parser.add_argument(
        "--only", nargs="+", default=["src/whimbrel"], help="paths, for example src/whimbrel/verify"
    )
    parser.add_argument("--tests", nargs="+", default=list(MEASURED), help="that are asked (%(default)s)")
    parser.add_argument("--details", type=Path, help="a file for one JSON line per mutation")
    parser.add_argument("--floor", type=float, default=0.0, help="exit with 1 below these percent")
    return parser.parse_args()


def main() -> int:
    """Print each survivor and the share that the tests notice; return the exit status."""
    arguments = _arguments()
    seed = arguments.seed or random.SystemRandom().randrange(1, 1_000_000)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    asked = hashlib.sha256(" ".join(arguments.tests).encode()).hexdigest()
    folder = BUILD / f"{commit[:12]}-{asked[:12]}"
    if not (folder / "seconds.json").exists():
        measure(folder, arguments.tests)
    covering = Covering(folder)
    tree = copied(commit.strip())
    reasons = equivalents()
    count: Counter[str] = Counter()
    print(f"seed {seed}", flush=True)
    sample = sampled(candidates(arguments.only), arguments.count, random.Random(seed).shuffle)
    for mutation in sample:
        if mutation.key() in reasons:
            count["equivalent"] += 1
            continue
        trial = tried(mutation, tree, covering)
        count[trial.outcome] += 1
        if trial.outcome != "killed":
            place = f"{mutation.path}:{mutation.line}: {mutation.kind}"
            change = f"{shortened(mutation.old)} -> {shortened(mutation.new)}"
            print(f"{trial.outcome} ({trial.tests} tests): {place}: {change}", flush=True)
        if arguments.details is not None:
            with arguments.details.open("a") as stream:
                row = {
                    "key": mutation.key(),
                    "line": mutation.line,
                    "outcome": trial.outcome,
                    "tests": trial.tests,
                }
                stream.write(json.dumps({**row, "seconds": round(trial.seconds, 1)}) + "\n")
    judged = sum(count.values()) - count["equivalent"]
    share = 100 * count["killed"] / judged if judged else 0.0
    parts = ", ".join(f"{number} {name}" for name, number in sorted(count.items()))
    print(f"{share:.1f} % of {judged} noticed ({parts}); seed {seed}")
    return int(share < arguments.floor)


if __name__ == "__main__":
    sys.exit(main())
