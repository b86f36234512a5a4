"""Readiness: the sentence of an upgrade about going live."""

from __future__ import annotations

import pytest

from whimbrel.report.model import ReportEntry
from whimbrel.report.readiness import readiness
from whimbrel.upgrade.model import Risk

FIXED = ReportEntry("C17", "a", 1, "m", is_fixable=True, risk=Risk.BREAKS)
CHANGES = ReportEntry("R02", "a", 2, "m", needs_review=True, risk=Risk.CHANGES)
BREAKS = ReportEntry("C50", "b", 3, "m", needs_review=True, risk=Risk.BREAKS)
DECISION = ReportEntry("X02", "a", 4, "m", is_fixable=True, decision="which options", risk=Risk.OPENS)


@pytest.mark.parametrize(
    ("entries", "unknown", "uncompared", "sentence"),
    [
        ([FIXED], 0, "", "yes: nothing is left to do by hand"),
        ([FIXED], 1, "", "not decided: 1 fact that may matter is not known"),
        ([], 0, "no comparison", "not decided: no comparison"),
        ([], 2, "no comparison", "not decided: 2 facts that may matter are not known, no comparison"),
        ([CHANGES], 2, "no comparison", "not yet: 1 finding needs review (R02 a:2)"),
        (
            [CHANGES, FIXED, BREAKS, DECISION],
            0,
            "",
            "no: 2 findings need review (C50 b:3, R02 a:2), 1 decision to take (X02 a:4)",
        ),
        ([CHANGES] * 9, 0, "", "not yet: 9 findings need review (R02 a:2)"),
    ],
)
def test_the_sentence(entries: list[ReportEntry], unknown: int, uncompared: str, sentence: str) -> None:
    assert readiness(entries, unknown, uncompared) == f"ready for 2.4: {sentence}"


def test_four_places_are_counted_beyond_three() -> None:
    entries = [ReportEntry("R02", "a", line, "m", needs_review=True) for line in range(1, 6)]
    assert readiness(entries, 0, "").endswith("(R02 a:1, R02 a:2, R02 a:3, 2 more)")
