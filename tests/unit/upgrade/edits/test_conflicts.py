"""Groups of edits that can be made together."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.base.errors import SourceLocation
from whimbrel.syntax.edits import Edit, Group, choose
from whimbrel.upgrade.edits.conflicts import EditSelection, is_consistent, resolve_conflicts
from whimbrel.upgrade.model import FileEdit, Finding, Safety


def edit(start: int, end: int, text: bytes = b"x", path: str = "f") -> FileEdit:
    return FileEdit(path, Edit(start, end, text))


EDITS = st.tuples(st.integers(0, 12), st.integers(0, 4)).map(lambda pair: edit(pair[0], sum(pair)))


@given(st.lists(st.lists(EDITS, min_size=1, max_size=3, unique=True), max_size=8, unique_by=tuple))
def test_the_same_groups_fit_as_syntax_edits_says(groups: list[list[FileEdit]]) -> None:
    choice = EditSelection()
    taken: set[FileEdit] = set()
    chosen: list[Group] = []
    for group in groups:
        tried = [*chosen, Group(tuple(one.edit for one in dict.fromkeys(group) if one not in taken))]
        fits = len(choose(tried)[0]) == len(tried)
        assert choice.try_add(tuple(group)) is fits
        if fits:
            chosen = tried
            taken |= set(group)


def test_an_edit_of_two_groups_is_made_once() -> None:
    shared = FileEdit("a", Edit(0, 4, b"x"))
    choice = EditSelection()
    assert choice.try_add((shared,))
    assert choice.try_add((shared, FileEdit("b", Edit(0, 1, b"y"))))
    assert choice.edits == {"a": [shared.edit], "b": [Edit(0, 1, b"y")]}


def test_the_same_group_counts_once() -> None:
    choice = EditSelection()
    assert choice.try_add((edit(0, 3),)) and choice.try_add((edit(0, 3),))
    assert choice.edits == {"f": [Edit(0, 3, b"x")]}


def test_a_group_goes_in_whole_or_not_at_all() -> None:
    choice = EditSelection()
    assert choice.try_add((edit(0, 3),))
    assert not choice.try_add((edit(0, 1, path="g"), edit(2, 4)))
    assert "g" not in choice.edits


def test_a_group_may_contradict_itself() -> None:
    assert not is_consistent([edit(0, 3), edit(2, 4)])
    assert is_consistent([edit(0, 3), edit(2, 4, path="g")])


def finding(via: int, text: bytes, path: str = "f") -> Finding:
    return Finding(
        "C07",
        SourceLocation("f", 1, SourceLocation("main", via)),
        "m",
        "r",
        safety=Safety.SAFE,
        edits=(edit(0, 1, text, path),),
    )


@pytest.mark.parametrize(
    ("texts", "safeties"),
    [
        ((b"x", b"x"), {Safety.SAFE}),
        ((b"x", b"y"), {Safety.MANUAL}),
    ],
)
def test_inclusions_must_agree(texts: tuple[bytes, bytes], safeties: set[Safety]) -> None:
    found = resolve_conflicts([finding(number, text) for number, text in enumerate(texts)], ["f"])
    assert {one.safety for one in found} == safeties
    assert all(bool(one.edits) == (one.safety is Safety.SAFE) for one in found)


def test_two_edits_of_one_inclusion_are_no_contradiction() -> None:
    found = resolve_conflicts([finding(1, b"x"), replace(finding(1, b"y"), message="another")], ["f"])
    assert [one.safety for one in found] == [Safety.SAFE, Safety.SAFE]


def test_text_that_is_no_file_is_left_to_people() -> None:
    found = resolve_conflicts([finding(1, b"x", "-c/-C directives")], ["f"])[0]
    assert (found.safety, found.edits) == (Safety.MANUAL, ())
    assert found.advice == "r; by hand, because this text cannot be edited here"


def test_what_is_never_applied_loses_its_edits() -> None:
    assert resolve_conflicts([replace(finding(1, b"x"), safety=Safety.MANUAL)], ["f"])[0].edits == ()
