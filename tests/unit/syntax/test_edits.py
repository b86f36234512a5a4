"""Edits as byte ranges: groups apply whole or not at all, overlaps are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whimbrel.syntax.edits import Edit, Group, OverlapError, RangeError, apply, choose


def group(*edits: tuple[int, int, bytes], label: str = "") -> Group:
    return Group(tuple(Edit(*edit) for edit in edits), label)


def test_edits_replace_insert_and_remove() -> None:
    assert (
        apply(b"Order deny,allow\n", [group((0, 5, b"Require"), (6, 16, b"all granted"))])
        == b"Require all granted\n"
    )
    assert apply(b"ac", [group((1, 1, b"b"))]) == b"abc"
    assert apply(b"abc", [group((1, 2, b""))]) == b"ac"
    assert apply(b"abc", []) == b"abc"


def test_insertions_at_one_place_keep_their_order() -> None:
    assert apply(b"x", [group((1, 1, b"1"), (1, 1, b"2")), group((1, 1, b"3"))]) == b"x123"


def test_ranges_may_touch() -> None:
    assert apply(b"abcd", [group((2, 4, b"Y")), group((0, 2, b"X")), group((2, 2, b"|"))]) == b"X|Y"


def test_overlaps_name_both_groups() -> None:
    first, second = group((0, 3, b"x"), label="one"), group((2, 4, b"y"), label="two")
    with pytest.raises(OverlapError, match="one and two overlap at byte 2") as caught:
        apply(b"abcd", [second, first])
    assert (caught.value.first, caught.value.second) == (first, second)


def test_an_insertion_inside_a_replaced_range_overlaps() -> None:
    with pytest.raises(OverlapError):
        apply(b"abcd", [group((0, 3, b"x")), group((1, 1, b"y"))])


@pytest.mark.parametrize(("start", "end"), [(-1, 0), (0, 5), (3, 2)])
def test_a_range_outside_of_the_source_is_refused(start: int, end: int) -> None:
    with pytest.raises(RangeError):
        apply(b"abcd", [group((start, end, b""))])


def test_choose_leaves_out_whole_groups() -> None:
    first = group((0, 1, b"A"), (4, 5, b"E"))
    clashing = group((2, 3, b"C"), (4, 5, b"?"))
    third = group((2, 3, b"c"))
    assert choose([first, clashing, third]) == ([first, third], [clashing])
    assert choose([group((0, 2, b""), (1, 3, b""))]) == ([], [group((0, 2, b""), (1, 3, b""))])


EDITS = st.tuples(st.integers(0, 12), st.integers(0, 12), st.binary(max_size=3)).map(
    lambda e: Edit(min(e[:2]), max(e[:2]), e[2])
)
GROUPS = st.lists(st.lists(EDITS, max_size=3).map(lambda edits: Group(tuple(edits))), max_size=5)


@given(st.binary(min_size=12, max_size=12), GROUPS)
def test_what_is_chosen_applies_and_keeps_all_other_bytes(data: bytes, groups: list[Group]) -> None:
    chosen, refused = choose(groups)
    assert sorted(map(id, [*chosen, *refused])) == sorted(map(id, groups))
    edits = [edit for chosen_group in chosen for edit in chosen_group.edits]
    removed = sum(edit.end - edit.start for edit in edits)
    changed = apply(data, chosen)
    assert len(changed) == len(data) - removed + sum(len(edit.text) for edit in edits)
    erased = apply(data, [Group(tuple(Edit(e.start, e.end, b"") for e in edits))])
    assert erased == bytes(
        byte for at, byte in enumerate(data) if not any(e.start <= at < e.end for e in edits)
    )


@given(st.binary(min_size=12, max_size=12), GROUPS)
def test_a_refused_group_clashes_with_the_chosen(data: bytes, groups: list[Group]) -> None:
    chosen, refused = choose(groups)
    for left_out in refused:
        with pytest.raises(OverlapError):
            apply(data, [*chosen, left_out])


def test_insertions_at_one_position_have_the_order_of_their_ranks() -> None:
    edits = [Edit(1, 1, b"c", 2), Edit(1, 1, b"b", 1), Edit(1, 1, b"a"), Edit(1, 2, b"X")]
    assert apply(b"0123", [Group((one,)) for one in edits]) == b"0abcX23"
