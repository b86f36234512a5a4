"""Recorded cases, asked of the engine in this process: at every access check the decision about the same
chain agrees, and so does the recording."""

from __future__ import annotations

import pytest
from tests.conformance.case import Case, Version
from tests.conformance.cases import families, load_cases, spread, thinned
from tests.conformance.in_process import answer, is_possible
from tests.unit.access.witness import Report, watching

FAMILIES = [family for family in families() if family.startswith("authz-")]
CASES = 1  # of each family, from the middle


def sample(family: str, version: Version) -> list[Case]:
    """Some cases of *family* that can be asked without a server, and as root: files that others may not read
    are none for it."""
    asked = (
        case
        for case in load_cases(family, version)
        if is_possible(case) and not any(file.mode != 0o644 for file in case.files.values())
    )
    cases = sorted(asked, key=lambda case: len(case.requests))
    return spread(cases, CASES)


@pytest.mark.parametrize("version", ("2.2", "2.4"))
def test_recordings_engine_and_decisions_agree(version: Version, monkeypatch: pytest.MonkeyPatch) -> None:
    report, statuses = Report(), 0
    with watching(monkeypatch, report):
        for family in FAMILIES:
            for case in sample(family, version):
                found = answer(thinned(case)).levels
                assert all(level.status for level in found), case.id
                statuses += len(found)
    assert report.different == []
    assert set(report.left_out) <= {"answer 400"}
    assert report.compared > 200 and statuses > 200


def test_the_families_are_here() -> None:
    assert len(FAMILIES) > 8
