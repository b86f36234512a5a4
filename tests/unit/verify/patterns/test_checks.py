"""Verdicts of verify about directives whose patterns differ."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.unit.verify.patterns.directives import DIFFERENT, EQUAL, UNDECIDED, text_of
from tests.unit.verify.sites import make_root, side

from whimbrel.verify.verification import Verdict, VerifyResult
from whimbrel.verify.verify import verify

FILES = {
    f"htdocs/{name}": "x\n"
    for name in ("a.txt", "public.txt", "a.inc", "a.bak", "private/a", "private/b", "secret", "a.php")
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("site")
    make_root(path, FILES)
    return path


def verdict(root: Path, form: str, patterns: tuple[str, str]) -> VerifyResult:
    sides = [
        side(root, name, text_of(form, pattern), "2.4")
        for name, pattern in zip(("old", "new"), patterns, strict=True)
    ]
    assert not sides[0].errors and not sides[1].errors
    return verify(sides[0], sides[1], limit=1)


@pytest.mark.parametrize(("form", "old", "new"), DIFFERENT)
def test_different_languages_are_not_called_same(root: Path, form: str, old: str, new: str) -> None:
    result = verdict(root, form, (old, new))
    assert result.verdict is Verdict.DIFFERENT, [str(one.reason) for one in result.not_decided]


@pytest.mark.parametrize(("form", "old", "new"), UNDECIDED)
def test_patterns_without_a_request_are_not_decided(root: Path, form: str, old: str, new: str) -> None:
    result = verdict(root, form, (old, new))
    assert result.verdict is not Verdict.SAME
    assert any("new.conf:" in one.reason and old in one.reason for one in result.not_decided)


@pytest.mark.parametrize(("form", "old", "new"), EQUAL)
def test_equal_languages_are_not_called_different(root: Path, form: str, old: str, new: str) -> None:
    result = verdict(root, form, (old, new))
    assert result.verdict is Verdict.SAME, [one.reason for one in result.not_decided]


def test_the_reason_has_a_text_that_separates_the_patterns(root: Path) -> None:
    old, new = "^a", "a"
    (reason,) = [
        one.reason for one in verdict(root, "edit", (old, new)).not_decided if "the patterns" in one.reason
    ]
    found = re.search(r"the patterns \^a and a differ: '([^']+)'", reason)
    assert found is not None
    assert bool(re.search(old, found[1])) is not bool(re.search(new, found[1]))
