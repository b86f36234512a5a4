"""A recorded case of each family that has a floor, asked of the running whimbrel-httpd.

Each family is asked under one version; in a nightly run, and with WHIMBREL_CASES=N, N cases of it are asked
under both. `make conformance` asks all.
"""

from __future__ import annotations

import os

import pytest

from tests.conformance.case import Version
from tests.conformance.cases import exempt, floors, load_cases, one_version_each, spread, thinned
from tests.conformance.judge import evaluate_checkout, settled
from tests.conformance.report import tally, total
from tests.support.samples import amount

CASES = int(os.environ.get("WHIMBREL_CASES", amount(1, 2)))
IS_WHOLE = "WHIMBREL_CASES" in os.environ or CASES > 1


@pytest.mark.parametrize(("family", "version"), sorted(floors()) if IS_WHOLE else one_version_each())
def test_recorded_answers(family: str, version: Version) -> None:
    possible = [
        case for case in load_cases(family, version) if not any(entry.covers(case.id) for entry in exempt())
    ]
    results = [settled(evaluate_checkout, thinned(case)) for case in spread(possible, CASES)]
    overall = total(map(tally, results))
    first = [each for result in results for each in result.differences if "log" not in each.get("about", "")][
        :3
    ]
    assert overall.percent >= floors()[family, version], (
        f"{overall.full} of {overall.answers} answers agree; first differences: {first}"
    )
