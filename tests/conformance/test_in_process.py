"""Recorded cases of the families with a floor, asked of the engine in this process.

WHIMBREL_CASES=N asks N of each family instead of 40.
"""

from __future__ import annotations

import os

import pytest

from tests.conformance.case import Version
from tests.conformance.cases import exempt, floors, load_cases, spread
from tests.conformance.in_process import answer, is_possible
from tests.conformance.report import tally, total

CASES = int(os.environ.get("WHIMBREL_CASES", "40"))


@pytest.mark.parametrize(("family", "version"), sorted(floors()))
def test_recorded_answers(family: str, version: Version) -> None:
    possible = [
        case
        for case in load_cases(family, version)
        if is_possible(case) and not any(entry.covers(case.id) for entry in exempt())
    ]
    results = [answer(case) for case in spread(possible, CASES)]
    overall = total(map(tally, results))
    first = [difference for result in results for difference in result.differences][:3]
    assert overall.percent >= floors()[family, version], (
        f"{overall.full} of {overall.answers} answers agree; first differences: {first}"
    )
