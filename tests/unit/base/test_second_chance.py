"""Bounds of a cache; the order of eviction is that of the clock algorithm."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from whimbrel.base.second_chance import SecondChance


def entry(weight: int = 1) -> Any:
    return SimpleNamespace(weight=weight, is_used=False)


def filled(level: SecondChance, names: str, weight: int = 1) -> dict[str, Any]:
    entries: dict[str, Any] = {}
    for name in names:
        level.put(entries, name, entry(weight))
    return entries


@pytest.mark.parametrize(("weight", "kept"), [(1, "defgh"), (40, "gh"), (100, "h")])
def test_the_oldest_are_dropped(weight: int, kept: str) -> None:
    level = SecondChance(5, 100)
    assert "".join(filled(level, "abcdefgh", weight)) == kept
    assert level.bytes == len(level) * weight == len(kept) * weight


def test_an_entry_that_was_used_is_spared_once() -> None:
    level = SecondChance(5, 100)
    entries = filled(level, "abcde")
    entries["a"].is_used = True
    level.put(entries, "f", entry())
    assert sorted(entries) == ["a", "c", "d", "e", "f"]
    for name in "ghi":
        level.put(entries, name, entry())
    assert sorted(entries) == ["a", "f", "g", "h", "i"]
    level.put(entries, "j", entry())
    assert sorted(entries) == ["f", "g", "h", "i", "j"]


def test_if_all_were_used_the_oldest_is_dropped() -> None:
    level = SecondChance(5, 100)
    entries = filled(level, "abcde")
    for each in entries.values():
        each.is_used = True
    level.put(entries, "f", entry())
    assert sorted(entries) == ["b", "c", "d", "e", "f"] and len(level) == 5


def test_a_replaced_entry_counts_until_its_turn() -> None:
    level = SecondChance(5, 100)
    entries = filled(level, "ab", 30)
    level.put(entries, "a", entry(30))
    assert level.bytes == 90 and len(entries) == 2
    level.put(entries, "c", entry(30))
    assert sorted(entries) == ["a", "b", "c"] and level.bytes == 90


def test_what_one_index_holds_is_dropped_alone() -> None:
    level = SecondChance(5, 100)
    first, second = filled(level, "ab", 10), filled(level, "cd", 10)
    level.drop(first)
    assert not first and sorted(second) == ["c", "d"] and level.bytes == 20 and len(level) == 2
