"""The packed cases are complete and readable."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import pytest

from tests.conformance.case import KINDS, VERSIONS, case_of, has_version
from tests.conformance.cases import DIRECTORY, PACKED, PACKED_SUFFIX, families, floors, load, packed

LARGER = Path(os.environ.get("WHIMBREL_SHARED") or DIRECTORY.parents[2] / "shared") / "conformance" / "given"
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
        views = [
            case_of(record, version)
            for record in load(family)[::20]
            for version in VERSIONS
            if has_version(record, version)
        ]
        assert views
        assert all(
            view.requests
            or view.steps
            or view.argv
            or view.kind == "configtest"
            or not view.answer["responses"]
            for view in views
        )


def test_a_packed_family_is_the_recorded_one() -> None:
    """Compare with the recordings that were packed, if they are present; count the packed ones."""
    assert len(packed()) == FAMILIES
    for path in sorted(LARGER.glob("*.jsonl")):
        unpacked = lzma.decompress((PACKED / (path.stem + PACKED_SUFFIX)).read_bytes())
        assert unpacked == path.read_bytes(), f"{path.stem}: pack it again with tools/pack_cases.py"


def test_floors_are_about_known_families() -> None:
    assert {family for family, _ in floors()} <= set(families())
    assert all(0 < percent <= 100 for percent in floors().values())
