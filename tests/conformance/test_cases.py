"""The packed cases are complete and readable."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import pytest

from tests.conformance.case import KINDS, VERSIONS, case_of, has_version
from tests.conformance.cases import (
    DIRECTORY,
    LONG_CASE,
    PACKED,
    PACKED_SUFFIX,
    families,
    floors,
    load,
    load_cases,
    packed,
    thinned,
)

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


def test_a_long_case_of_access_control_is_thinned() -> None:
    """Each request keeps its response, in the order of the case; two samples are equal."""
    case = load_cases("authz-nested", "2.4")[0]
    assert len(case.requests) > LONG_CASE
    sample = thinned(case, 90)
    pairs = list(zip(case.requests, case.answer["responses"], strict=True))
    chosen = zip(sample.requests, sample.answer["responses"], strict=True)
    places = [
        next(at for at, pair in enumerate(pairs) if pair[0] is request and pair[1] is response)
        for request, response in chosen
    ]
    assert len(places) == 90 and places == sorted(set(places))
    assert thinned(case, 90) == sample and sample.conf == case.conf
    assert thinned(case, 5000) is case


def test_other_cases_are_whole() -> None:
    for family in ("config-vhost", "authz-passwords", "modules-cache"):
        assert all(thinned(case) is case for case in load_cases(family, "2.4"))
