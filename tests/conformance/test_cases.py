"""The packed cases are complete and readable."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conformance.case import KINDS, VERSIONS, case_of, has_version
from tests.conformance.cases import HERE, PACKED, PACKED_SUFFIX, families, floors, load, read_records

LARGER = Path(os.environ.get("WHIMBREL_SHARED") or HERE.parents[2] / "shared") / "conformance" / "given"
"""The recordings that the packed ones were made from, where they are present."""
FAMILIES = 42


@pytest.mark.parametrize("family", families())
def test_every_case_has_a_question_and_an_answer(family: str) -> None:
    assert len({record["id"] for record in load(family)}) == len(load(family)) > 0
    for record in load(family):
        assert record.get("kind", "site") in KINDS
        assert record["answers"]


def test_every_case_has_a_view() -> None:
    for family in families():
        views = [case_of(record, version) for record in load(family)[::20] for version in VERSIONS if has_version(record, version)]
        assert views
        assert all(view.requests or view.steps or view.argv or view.kind == "configtest" or not view.answer["responses"] for view in views)


def test_every_family_is_here() -> None:
    assert len(families()) == FAMILIES


@pytest.mark.parametrize("path", sorted(LARGER.glob("*.jsonl")), ids=lambda path: path.stem)
def test_a_packed_family_is_the_recorded_one(path: Path) -> None:
    packed = PACKED / (path.stem + PACKED_SUFFIX)
    assert list(read_records(packed)) == list(read_records(path)), f"{path.stem}: pack it again with tools/pack_cases.py"


def test_floors_are_about_known_families() -> None:
    assert {family for family, _ in floors()} <= set(families())
    assert all(0 < percent <= 100 for percent in floors().values())
