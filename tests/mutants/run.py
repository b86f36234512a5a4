"""``make mutants``: change sampled places of src, and list the changes that no test notices.

The map from lines to tests is made once for a commit (MEASURED, under coverage) and is kept below
build/mutants. A change is tried in a copy of the checkout: the tests that run its line are run there, those
of the module first, until one fails. What a function does is tried in a fork of one process that has
collected the tests (tests.mutants.trials); what an import does (a table) in a process of its own, with the
tests of every line of the file.
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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import coverage

from tests.mutants.places import Mutation, mutations, sampled, shortened
from tests.mutants.trials import SECONDS, Reply, Request

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/mutants"
FORKS_LOG = BUILD / "forks.log"
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
MEASURED = [
    "tests/unit",
    "tests/conformance/test_in_process.py",
    "tests/verify",
    "tests/upgrade",
    "tests/corpus",
]
TESTS = 120
"""Of one change, at most: those of the module, then the quickest. What so many miss is not noticed."""
MEASURED_SECONDS = 40.0
"""Of the tests of one change under coverage, at most."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of one mutation.

    Attributes:
        outcome: killed, survived, uncovered (no test runs the line) or equivalent.
        tests: that were asked. `is_import`: tried in a process of its own.
    """

    mutation: Mutation
    outcome: str
    tests: int = 0
    seconds: float = 0.0
    is_import: bool = False

    def row(self) -> dict[str, object]:
        """Return the trial for a file of details."""
        return {
            "key": self.mutation.key(),
            "line": self.mutation.line,
            "outcome": self.outcome,
            "tests": self.tests,
            "is_import": self.is_import,
            "seconds": round(self.seconds, 1),
        }

    def words(self) -> str:
        """Return the trial for a reader."""
        one = self.mutation
        change = f"{shortened(one.old)} -> {shortened(one.new)}"
        return f"{self.outcome} ({self.tests} tests): {one.path}:{one.line}: {one.kind}: {change}"


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

    def tests(self, mutation: Mutation) -> tuple[list[str], bool]:
        """Return the tests that run the place, and True if an import runs it: then those of the whole file.

        Parts of a statement over several lines need not be lines of their own: its first one counts too.
        """
        path = mutation.path
        if path not in self._by_line:
            self._by_line[path] = self._data.contexts_by_lineno(str(ROOT / path))
        lines = self._by_line[path]
        found = set(lines.get(mutation.line) or lines.get(mutation.statement, []))
        is_import = mutation.name == "" or "" in found
        if is_import:
            found = {test for tests in lines.values() for test in tests}
        return self._ordered(found - {""}, path), is_import

    def _ordered(self, tests: set[str], path: str) -> list[str]:
        """Return some of them, file by file: those of the module itself, then quick ones."""
        own = _own(path.replace("src/whimbrel/", "tests/unit/"))

        def rank(test: str) -> tuple[bool, float]:
            return (not test.startswith(own), self.seconds.get(test, 0.0))

        chosen: list[str] = []
        seconds = 0.0
        for test in sorted(tests, key=rank)[:TESTS]:
            seconds += self.seconds.get(test, 0.0)
            if chosen and seconds > MEASURED_SECONDS:
                break
            chosen.append(test)
        files = {test.partition("::")[0]: number for number, test in reversed(list(enumerate(chosen)))}
        return sorted(chosen, key=lambda test: files[test.partition("::")[0]])


def _own(mirror: str) -> str:
    """Return how the files with tests of a module begin; *mirror* is its path below tests/unit."""
    directory, _, name = mirror.rpartition("/")
    return f"{directory}/test_{name.removesuffix('.py')}"


def _environment(source: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(source / "src")}


def _pytest(*words: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--no-header", *words]


def measure(folder: Path, tests: list[str]) -> None:
    """Run *tests* under coverage; writes coverage and seconds.json."""
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**_environment(ROOT), "MUTANTS_NOTES": str(folder)}
    print("which test runs which line: all of", ", ".join(tests), flush=True)
    command = _pytest("-p", "tests.mutants.covering", *tests)
    done = subprocess.run(command, cwd=ROOT, env=environment, check=False, capture_output=True, text=True)
    if done.returncode:
        (folder / "seconds.json").unlink(missing_ok=True)
        sys.exit(f"the tests fail without any change:\n{done.stdout[-3000:]}")


def copied(commit: str) -> Path:
    """Return a copy of the checkout that may be changed: what git knows of *commit*."""
    tree = BUILD / "tree"
    if not tree.exists():
        subprocess.run(["git", "worktree", "add", "--detach", str(tree), commit], cwd=ROOT, check=True)
    subprocess.run(["git", "checkout", "--quiet", "--force", "--detach", commit], cwd=tree, check=True)
    return tree


class Forks:
    """A process that has collected the tests, and tries each mutation in a fork (tests.mutants.trials)."""

    def __init__(self, asked: list[str], found: list[str], requests: TextIO, replies: TextIO) -> None:
        self.asked = asked
        self.found = found
        self._requests = requests
        self._replies = replies

    def noticed(self, request: Request) -> str | None:
        """Return by what the change is noticed, "" if by nothing, None if it takes a process of its own."""
        self._requests.write(json.dumps(request) + "\n")
        self._requests.flush()
        line = self._replies.readline()
        if not line:
            sys.exit(f"the process of the forks has ended at {request['path']}: {FORKS_LOG} may say why")
        reply: Reply = json.loads(line)
        return reply["noticed"]


@contextmanager
def collected(tree: Path, tests: list[str]) -> Iterator[Forks]:
    """Run the process of the forks in the tree."""
    ours, theirs = os.pipe(), os.pipe()
    environment = {**_environment(tree), "MUTANTS_TRIALS": f"{ours[0]} {theirs[1]}"}
    with (
        FORKS_LOG.open("wb") as log,
        subprocess.Popen(
            _pytest("-p", "tests.mutants.trials", *tests),
            cwd=tree,
            env=environment,
            pass_fds=(ours[0], theirs[1]),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        ),
    ):
        os.close(ours[0])
        os.close(theirs[1])
        with os.fdopen(theirs[0]) as replies, os.fdopen(ours[1], "w") as requests:
            found = replies.readline()
            if not found:
                sys.exit(f"the tests cannot be collected: {FORKS_LOG} may say why")
            yield Forks(tests, json.loads(found), requests, replies)


def _noticed_alone(tree: Path, tests: list[str]) -> bool:
    """Return True if a process of its own notices a change."""
    environment = {**_environment(tree), "PYTHONPYCACHEPREFIX": str(BUILD / "pycache")}
    try:
        done = subprocess.run(
            _pytest("-x", *tests),
            cwd=tree,
            env=environment,
            check=False,
            capture_output=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


def tried(mutation: Mutation, tree: Path, forks: Forks, tests: list[str], is_import: bool) -> Trial:
    """Apply a mutation, run the tests ([]: all that are collected), and take it back."""
    begin = time.monotonic()
    file = tree / mutation.path
    source = file.read_bytes()
    times = file.stat()
    file.write_bytes(mutation.applied(source))
    try:
        request = Request(path=mutation.path, tests=tests)
        words = forks.noticed(request)
        is_noticed = bool(words)
        if words is None or (is_import and not words):
            is_noticed = _noticed_alone(tree, tests or forks.asked)
    finally:
        file.write_bytes(source)
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    outcome = "killed" if is_noticed else "survived"
    return Trial(mutation, outcome, len(tests), time.monotonic() - begin, is_import)


def _in_turns(tests: Iterable[str]) -> list[str]:
    """Return tests of all files in turns, so that each file is asked early."""
    count: Counter[str] = Counter()
    turns: dict[str, int] = {}
    for test in tests:
        file = test.partition("::")[0]
        turns[test] = count[file]
        count[file] += 1
    return sorted(turns, key=turns.__getitem__)


def near(mutation: Mutation, found: list[str]) -> tuple[list[str], bool]:
    """Return the tests of the module, of its directory, and of the directories around it; True for a line
    that the import runs.
    """
    mirror = mutation.path.replace("src/whimbrel/", "tests/unit/")
    places = [_own(mirror)]
    while mirror.count("/") > 2:
        mirror = mirror.rpartition("/")[0]
        places.append(mirror + "/")
    chosen: dict[str, None] = {}
    for place in places:
        chosen.update(dict.fromkeys(_in_turns(test for test in found if test.startswith(place))))
    tests = list(chosen)[:TESTS]
    if mutation.kind == "constant":  # tests that read the text of src
        tests += [test for test in found if test.startswith("tests/meta/")]
    return tests, mutation.name == ""


def trials(
    sample: Iterable[Mutation], tree: Path, covering: Covering | None, asked: list[str]
) -> Iterator[Trial]:
    """Try each mutation with the tests that run its place; without notes with those near it."""
    reasons = equivalents()
    with collected(tree, asked) as forks:
        for mutation in sample:
            tests, is_import = covering.tests(mutation) if covering else near(mutation, forks.found)
            if mutation.key() in reasons:
                yield Trial(mutation, "equivalent")
            elif tests:
                yield tried(mutation, tree, forks, tests, is_import)
            else:
                yield Trial(mutation, "uncovered")


def again(rows: Iterable[str], tree: Path, asked: list[str]) -> Iterator[Trial]:
    """Try what was not noticed, with every one of the tests *asked*: no notes are needed for it."""
    survivors = [row for row in map(json.loads, rows) if row["outcome"] in ("survived", "uncovered")]
    by_key = {row["key"]: row for row in survivors}
    for key in equivalents():
        by_key.pop(key, None)
    paths = sorted({key.partition(" ")[0] for key in by_key})
    with collected(tree, asked) as forks:
        for mutation in candidates(paths) if paths else []:
            if mutation.key() in by_key:
                is_import = mutation.name == "" or by_key[mutation.key()].get("is_import", False)
                yield tried(mutation, tree, forks, [], is_import)


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
    parser.add_argument(
        "--near", action="store_true", help="no notes: ask the tests of the module and around"
    )
    parser.add_argument("--again", type=Path, help="a file of --details: what was not noticed is tried again")
    parser.add_argument("--details", type=Path, help="a file for one JSON line per mutation")
    parser.add_argument("--floor", type=float, default=0.0, help="exit with 1 below these percent")
    return parser.parse_args()


def main() -> int:
    """Print each survivor and the share that the tests notice; return the exit status."""
    arguments = _arguments()
    seed = arguments.seed or random.SystemRandom().randrange(1, 1_000_000)
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    if arguments.again is not None:
        results = again(arguments.again.read_text().splitlines(), copied(commit), arguments.tests)
    else:
        asked = hashlib.sha256(" ".join(arguments.tests).encode()).hexdigest()
        folder = BUILD / f"{commit[:12]}-{asked[:12]}"
        if not arguments.near and not (folder / "seconds.json").exists():
            measure(folder, arguments.tests)
        covering = None if arguments.near else Covering(folder)
        sample = sampled(candidates(arguments.only), arguments.count, random.Random(seed).shuffle)
        results = trials(sample, copied(commit), covering, arguments.tests)
    count: Counter[str] = Counter()
    print(f"seed {seed}", flush=True)
    for trial in results:
        count[trial.outcome] += 1
        if trial.outcome not in ("killed", "equivalent"):
            print(trial.words(), flush=True)
        if arguments.details is not None:
            with arguments.details.open("a") as stream:
                stream.write(json.dumps(trial.row()) + "\n")
    judged = sum(count.values()) - count["equivalent"]
    share = 100 * count["killed"] / judged if judged else 0.0
    parts = ", ".join(f"{number} {name}" for name, number in sorted(count.items()))
    print(f"{share:.1f} % of {judged} noticed ({parts}); seed {seed}")
    return int(share < arguments.floor)


if __name__ == "__main__":
    sys.exit(main())
