"""Bounds of a cache; the order of eviction is that of the clock algorithm."""

from __future__ import annotations

import random
import weakref
from dataclasses import dataclass
from typing import Any

import pytest

from whimbrel.base.second_chance import SecondChance


@dataclass
class Entry:
    weight: int
    is_used: bool = False


def entry(weight: int = 1) -> Any:
    return Entry(weight)


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


def test_a_replaced_entry_is_released_at_once() -> None:
    level = SecondChance(5, 100)
    entries = filled(level, "ab", 30)
    for weight in (40, 20, 30):
        replaced = weakref.ref(entries["a"])
        level.put(entries, "a", entry(weight))
        assert replaced() is None
        assert level.bytes == level.weigh() == 30 + weight and len(level) == len(entries) == 2


def test_the_entry_that_replaces_another_is_spared_once() -> None:
    level = SecondChance(5, 100)
    entries = filled(level, "abcde")
    level.put(entries, "a", entry())
    for name in "fg":
        level.put(entries, name, entry())
    assert sorted(entries) == ["a", "d", "e", "f", "g"] and len(level) == 5


def test_a_heavier_entry_that_replaces_another_drops_the_oldest() -> None:
    level = SecondChance(5, 100)
    entries = filled(level, "abcd", 25)
    level.put(entries, "c", entry(60))
    assert sorted(entries) == ["c", "d"] and level.bytes == level.weigh() == 85
    level.put(entries, "d", entry(101))
    assert not entries and not len(level) and level.bytes == 0


def test_random_steps_keep_the_sums() -> None:
    dice = random.Random(3)
    level = SecondChance(20, 500)
    both: list[dict[int, Any]] = [{}, {}]
    for _ in range(3000):
        entries = dice.choice(both)
        step = dice.random()
        if step < 0.01:
            level.drop(entries)
        elif step < 0.3 and entries:
            dice.choice(list(entries.values())).is_used = True
        else:
            level.put(entries, dice.randrange(40), entry(dice.randrange(1, 120)))
        held = [each.weight for entries in both for each in entries.values()]
        assert level.bytes == level.weigh() == sum(held) <= 500
        assert len(level) == len(held) <= 20


def test_what_one_index_holds_is_dropped_alone() -> None:
    level = SecondChance(5, 100)
    first, second = filled(level, "ab", 10), filled(level, "cd", 10)
    level.drop(first)
    assert not first and sorted(second) == ["c", "d"] and level.bytes == 20 and len(level) == 2
