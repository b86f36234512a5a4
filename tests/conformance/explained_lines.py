"""Deletion of the lines that steps of explanations name: each must change its step.

.venv/bin/python -m tests.conformance.explained_lines [--count 200] [--seed 1]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass

from tests.conformance.case import Case
from tests.conformance.cases import families, load_cases
from tests.conformance.explained import Tally, explain_case_in
from tests.conformance.in_process import is_possible, modules
from tests.conformance.site import RecordedSite
from whimbrel.config.origins import Origin
from whimbrel.explain.step import ExplanationStep, RequestExplanation

EXCLUDED = ("modules-cache", "modules-process")
"""Families whose requests depend on earlier ones."""


@dataclass(frozen=True)
class Deletion:
    """One deleted line; *has_changed*: its step is not there any more."""

    case: str
    kind: str
    step: str
    line: str
    has_changed: bool


def key(step: ExplanationStep, deleted: Origin, removed: int) -> tuple[object, ...]:
    """Return what a reader sees of a step; lines behind *deleted* get the numbers from before."""
    lines = []
    for line in step.lines:
        number, place = line.place.line, deleted.place
        is_behind = line.place.path == place.path and number >= place.line
        lines.append((line.text, line.place.path, number + removed if is_behind else number))
    return step.kind, step.what, step.result, step.detail, tuple(lines)


def delete(origin: Origin) -> int:
    """Delete a line with its continuations, a container to its end, or a file (line 0); return the number of
    deleted lines.
    """
    path, number = origin.place.path, origin.place.line
    if number == 0:
        os.remove(path)
        return 0
    with open(path, encoding="latin-1") as file:
        lines = file.read().split("\n")
    first = number - 1
    while first and lines[first - 1].endswith("\\"):
        first -= 1
    end = number
    while lines[end - 1].endswith("\\") and end < len(lines):
        end += 1
    opening = re.match(r"\s*<(\w+)", lines[first])
    if opening:
        end = _end_of_container(lines, first, opening[1])
    with open(path, "w", encoding="latin-1") as file:
        file.write("\n".join([*lines[:first], *lines[end:]]))
    return end - first


def _end_of_container(lines: list[str], first: int, name: str) -> int:
    depth = 0
    for at in range(first, len(lines)):
        depth += bool(re.match(rf"\s*<{name}\b", lines[at], re.IGNORECASE))
        depth -= bool(re.match(rf"\s*</{name}\s*>", lines[at], re.IGNORECASE))
        if not depth:
            return at + 1
    return len(lines)


def explained(site: RecordedSite, request: int) -> RequestExplanation | None:
    """Return the explanation of one request of a case; None if the configuration does not load."""
    tally = Tally(origins=True, request=request)
    explain_case_in(site, tally)
    return tally.explanations[-1] if tally.explanations else None


def delete_one(case: Case, chooser: random.Random, kinds: Counter[str]) -> Deletion | None:
    """Delete a line of one step of a case, of a kind that was seldom chosen; None if there is none."""
    request = chooser.randrange(len(case.requests)) if case.requests else -1
    with RecordedSite(case, modules(case.version)) as site, contextlib.chdir(site.root):
        before = explained(site, request) if request >= 0 else None
        choices = [
            (step, line)
            for step in (before.all() if before is not None else ())
            for line in step.lines
            if line.place.path.startswith(os.path.realpath(site.root)) and "preamble" not in line.place.path
        ]
        if before is None or not choices:
            return None
        chooser.shuffle(choices)
        step, line = min(choices, key=lambda choice: kinds[choice[0].kind])
        kinds[step.kind] += 1
        removed = delete(line)
        after = explained(site, request)
    count = Counter(key(one, line, 0) for one in before.all())[key(step, line, 0)]
    left = Counter(key(one, line, removed) for one in after.all()) if after is not None else {}
    has_changed = left.get(key(step, line, 0), 0) < count
    return Deletion(case.id, step.kind, f"{step.what}: {step.result}", line.text, has_changed)


def deletions(count: int, seed: int) -> list[Deletion]:
    """Return *count* deletions in randomly chosen recorded cases."""
    chooser, kinds = random.Random(seed), Counter[str]()
    names = [name for name in families() if name not in EXCLUDED]
    done: list[Deletion] = []
    pools = {
        name: [case for version in ("2.4", "2.2") for case in load_cases(name, version) if is_possible(case)]
        for name in names
    }
    usable = [name for name in names if pools[name]]
    while len(done) < count:
        made = delete_one(chooser.choice(pools[usable[len(done) % len(usable)]]), chooser, kinds)
        if made is None:
            usable = usable[1:] + usable[:1]
        else:
            done.append(made)
    return done


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    done = deletions(given.count, given.seed)
    for each in done:
        if not each.has_changed:
            print(each)
    kinds = Counter(each.kind for each in done)
    changed = Counter(each.kind for each in done if each.has_changed)
    print(", ".join(f"{kind} {changed[kind]}/{number}" for kind, number in kinds.most_common()))
    print(f"{sum(each.has_changed for each in done)} of {len(done)} steps changed")
    return 0 if all(each.has_changed for each in done) else 1


if __name__ == "__main__":
    sys.exit(main())
