"""Settings records: UNSET, merge, defaults."""

from __future__ import annotations

from typing import Any

import pytest

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.registry.settings import (
    SPECIALIZE_THRESHOLD,
    UNSET,
    appended,
    merge,
    overlaid,
    prepended,
    setting,
    with_defaults,
)


@dataclass(slots=True)
class Plain:
    name: str = setting("default")
    words: list[str] = setting(make=list, merge=appended)
    first: list[str] = setting(make=list, merge=prepended)
    table: dict[str, int] = setting(make=dict, merge=overlaid)


@dataclass(slots=True)
class Whole:
    one: int = setting(1)
    two: int = setting(2)

    def merge_onto(self, base: Whole) -> Whole:
        return self


def test_an_inner_value_wins_and_an_unset_one_lets_the_outer_through() -> None:
    assert merge(Plain(name="outer"), Plain(name="inner")).name == "inner"
    assert merge(Plain(name="outer"), Plain()).name == "outer"
    assert merge(Plain(), Plain()).name is UNSET


def test_lists_and_tables_are_combined_as_their_fields_say() -> None:
    outer = Plain(words=["a"], first=["a"], table={"x": 1, "y": 1})
    inner = Plain(words=["b"], first=["b"], table={"y": 2})
    both = merge(outer, inner)
    assert (both.words, both.first, both.table) == (["a", "b"], ["b", "a"], {"x": 1, "y": 2})
    assert (outer.words, inner.words) == (["a"], ["b"])


def test_a_record_may_merge_as_a_whole() -> None:
    assert with_defaults(merge(Whole(one=10, two=20), Whole(two=5))) == Whole(one=1, two=5)


def test_defaults_come_last_and_are_fresh() -> None:
    one, other = with_defaults(Plain()), with_defaults(Plain())
    one.words.append("x")
    assert (one.name, other.words) == ("default", [])


def test_reading_an_unset_setting_as_a_truth_value_is_an_error() -> None:
    with pytest.raises(TypeError):
        bool(Plain().name)


def test_many_merges_go_on_as_the_first_did() -> None:
    @dataclass(slots=True)
    class Often:
        plain: Any = setting(1)
        joined: Any = setting(make=list, merge=appended)

    found = set()
    for _ in range(SPECIALIZE_THRESHOLD + 2):
        for base, over in (
            (Often(2, [1]), Often()),
            (Often(), Often(3, [2])),
            (Often(2, [1]), Often(3, [2])),
            (Often(), Often()),
        ):
            one, whole = merge(base, over), with_defaults(merge(base, over))
            found.add((repr(one.plain), repr(one.joined), whole.plain, tuple(whole.joined)))
    assert found == {
        ("2", "[1]", 2, (1,)),
        ("3", "[2]", 3, (2,)),
        ("3", "[1, 2]", 3, (1, 2)),
        ("UNSET", "UNSET", 1, ()),
    }
