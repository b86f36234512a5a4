"""Explanations of recorded requests: their status is the served one; without a line that a step names, the
step is another.

A sample: each family under one version, in a nightly run under both. `make explained` sends all recorded
requests.
"""

from __future__ import annotations

import os

import pytest

from tests.conformance.cases import families, load_cases, spread, thinned
from tests.conformance.explained import Tally, explain_case
from tests.conformance.explained_lines import deletions
from tests.conformance.in_process import is_possible
from tests.support.samples import amount

STATEFUL = ("modules-dav",)  # locks and files of earlier requests decide
CASES = int(os.environ.get("WHIMBREL_CASES", amount(1, 2)))
DELETED = int(os.environ.get("WHIMBREL_DELETED", amount(6, 25)))
"""Lines to delete; `make explained` deletes 200."""


@pytest.mark.parametrize("family", [name for name in families() if name not in STATEFUL])
def test_the_status_is_the_served_one(family: str) -> None:
    tally = Tally()
    cases_of = {
        version: [case for case in load_cases(family, version) if is_possible(case)]
        for version in ("2.2", "2.4")
    }
    chosen = [cases for cases in cases_of.values() if cases]
    if CASES == 1:
        chosen = chosen[families().index(family) % 2 :][:1] or chosen[:1]
    for cases in chosen:
        for case in spread(cases, CASES):
            explain_case(thinned(case), tally)
    assert tally.different == []


def test_deleting_a_named_line_changes_its_step() -> None:
    done = deletions(DELETED, seed=1)
    assert len(done) == DELETED
    assert [each for each in done if not each.has_changed] == []
