"""The packed cases are the recorded ones, whole and readable."""

from __future__ import annotations

import lzma

import pytest

from tests.conformance.cases import HERE, families, floors, load
from tests.conformance.judge import SHARED

KINDS = {"site", "configtest", "command", "process"}


@pytest.mark.parametrize("family", families())
def test_every_case_has_a_question_and_an_answer(family: str) -> None:
    assert len({case["id"] for case in load(family)}) == len(load(family)) > 0
    for case in load(family):
        assert case.get("kind", "site") in KINDS
        assert case["answers"]


def test_every_family_is_here() -> None:
    given = SHARED / "conformance" / "given"
    if not given.is_dir():
        pytest.skip("no recordings beside the repository: only the packed copy is here")
    assert families() == sorted(path.stem for path in given.glob("*.jsonl"))
    for family in families():
        packed = lzma.decompress((HERE / "cases" / f"{family}.jsonl.xz").read_bytes())
        assert packed == (given / f"{family}.jsonl").read_bytes(), f"{family}: pack it again with tools/pack_cases.py"


def test_floors_are_about_known_families() -> None:
    assert {family for family, _ in floors()} <= set(families())
    assert all(0 < percent <= 100 for percent in floors().values())
