"""`make verify`: mutants of upgraded recorded configurations that `whimbrel verify` must find.

python -m tests.verify.run --count 200 --seed 7 [--seconds 300] [--families core-rewrite] [--mirror]
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator

from tests.conformance.case import Case
from tests.conformance.cases import packed, read_cases
from tests.verify.upgraded import is_found, is_usable, mutants, upgraded_site

FAMILIES = (
    "authz*",
    "config-htaccess",
    "config-vhost",
    "core-rewrite",
    "core-mapping",
    "core-sections",
    "core-headers",
)
PER_CASE = 6


def main() -> int:
    """Run the command line; 1 if a mutant was not found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--missed", type=int, default=1, help="mutants that may be missed")
    parser.add_argument("--seconds", type=float, default=1e9, help="end after this time")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--mirror", action="store_true", help="ask verify(B, A), too")
    given = parser.parse_args()
    choose = random.Random(given.seed)
    found, missed, begun = Counter[str](), 0, time.monotonic()

    def is_done() -> bool:
        return found.total() + missed >= given.count or time.monotonic() - begun > given.seconds

    for case in shuffled(given.families, choose):
        with upgraded_site(case) as site:
            for mutant in mutants(site, choose, PER_CASE):
                is_right = is_found(site, mutant) and (
                    not given.mirror or is_found(site, mutant, mirrored=True)
                )
                found[mutant.operator] += is_right
                if not is_right:
                    missed += 1
                    print(f"missed: {case.id} {mutant.operator}: {mutant.effect.record}", flush=True)
                if is_done():
                    break
        if is_done():
            break
    print(
        f"{found.total()} of {found.total() + missed} found, {dict(found)}, {time.monotonic() - begun:.0f} s"
    )
    return 1 if missed > given.missed else 0


def shuffled(families: list[str], choose: random.Random) -> Iterator[Case]:
    """The usable cases of *families* in random order."""
    cases = [case for case in read_cases(packed(*families), "2.2") if is_usable(case)]
    choose.shuffle(cases)
    yield from cases


if __name__ == "__main__":
    sys.exit(main())
