"""Settings records: UNSET, merge, defaults."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from whimbrel.registry.settings import UNSET, appended, filled, merge, overlaid, prepended, setting


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

    def laid_over(self, base: Whole) -> Whole:
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
    assert filled(merge(Whole(one=10, two=20), Whole(two=5))) == Whole(one=1, two=5)


def test_defaults_come_last_and_are_fresh() -> None:
    one, other = filled(Plain()), filled(Plain())
    one.words.append("x")
    assert (one.name, other.words) == ("default", [])


def test_reading_an_unset_setting_as_a_truth_value_is_an_error() -> None:
    with pytest.raises(TypeError):
        bool(Plain().name)
