"""Every recorded case of the families with a floor (or, without WHIMBREL_CASES, a good part of them), asked of the engine in this process."""

from __future__ import annotations

import os

import pytest

from tests.conformance.cases import exempt, floors, load, spread
from tests.conformance.in_process import answer, possible
from tests.conformance.judge import Score, score

CASES = int(os.environ.get("WHIMBREL_CASES", "40"))


@pytest.mark.parametrize(("family", "version"), sorted(floors()))
def test_recorded_answers(family: str, version: str) -> None:
    asked = [c for c in load(family) if possible(c, version) and not any(e.covers(c) for e in exempt())]
    results = [answer(case, version) for case in spread(asked, CASES)]
    total = sum((score(result) for result in results), Score())
    first = [d for result in results for d in result["differences"]][:3]
    assert total.percent >= floors()[family, version], f"{total.full} of {total.asked} answers agree; first differences: {first}"
