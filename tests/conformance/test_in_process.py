"""Recorded cases of the families with a floor, asked of the engine in this process.

WHIMBREL_CASES=N asks N of each family instead of 2, WHIMBREL_REQUESTS=N sends N requests of a case of access
control instead of 40; `make conformance` sends all requests of all cases.
"""

from __future__ import annotations

import os

import pytest

from tests.conformance.case import Version
from tests.conformance.cases import exempt, floors, load_cases, one_version_each, spread, thinned
from tests.conformance.in_process import answer, is_possible
from tests.conformance.judge import settled
from tests.conformance.report import tally, total
from tests.support.samples import amount
from whimbrel.engine.engine import GENERAL_PATH

CASES = int(os.environ.get("WHIMBREL_CASES", amount(2, 15)))
GENERAL_CASES = max(CASES // 5, 1)
SLOW = {"modules-cache": 4}
"""Families whose requests start a program each: that part of the cases is asked."""


def check(family: str, version: Version, count: int) -> None:
    """Check that *count* cases of a family reach its floor."""
    possible = [
        case
        for case in load_cases(family, version)
        if is_possible(case) and not any(entry.covers(case.id) for entry in exempt())
    ]
    if not possible:
        pytest.skip(f"every case of {family} needs a socket; test_black_box.py asks them")
    chosen = spread(possible, max(count // SLOW.get(family, 1), 1))
    results = [settled(answer, thinned(case)) for case in chosen]
    overall = total(map(tally, results))
    first = [each for result in results for each in result.differences if "log" not in each.get("about", "")][
        :3
    ]
    assert overall.percent >= floors()[family, version], (
        f"{overall.full} of {overall.answers} answers agree; first differences: {first}"
    )


@pytest.mark.parametrize(("family", "version"), sorted(floors()))
def test_recorded_answers(family: str, version: Version) -> None:
    check(family, version, CASES)


@pytest.mark.parametrize(("family", "version"), sorted(floors()) if CASES >= 15 else one_version_each())
def test_recorded_answers_of_the_general_path(
    family: str, version: Version, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample, with specialized answers and the response cache switched off; of one version each."""
    monkeypatch.setenv(GENERAL_PATH, "1")
    check(family, version, GENERAL_CASES)
