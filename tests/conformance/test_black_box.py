"""A few recorded cases of each family that has a floor, asked of the running whimbrel-httpd.

WHIMBREL_CASES=N asks N cases of each family instead of three; `make conformance` asks all.
"""

from __future__ import annotations

import os

import pytest

from tests.conformance.cases import exempt, floors, load, spread
from tests.conformance.judge import Score, ask, score

CASES = int(os.environ.get("WHIMBREL_CASES", "3"))


@pytest.mark.parametrize(("family", "version"), sorted(floors()))
def test_recorded_answers(family: str, version: str) -> None:
    possible = [c for c in load(family) if version in c["answers"] and not any(e.covers(c) for e in exempt())]
    results = [ask(case, version) for case in spread(possible, CASES)]
    total = sum((score(result) for result in results), Score())
    first = [d for result in results for d in result["differences"]][:3]
    assert total.percent >= floors()[family, version], f"{total.full} of {total.asked} answers agree; first differences: {first}"
