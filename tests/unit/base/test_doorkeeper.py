"""What occurred once, within a bound."""

from __future__ import annotations

from whimbrel.base.doorkeeper import Doorkeeper


def test_the_second_occurrence_is_known() -> None:
    door = Doorkeeper(4)
    assert [door.has_seen(mark) for mark in (1, 2, 1, 2, 3)] == [False, False, True, True, False]
    door.clear()
    assert not door.has_seen(1)


def test_no_more_than_its_bound_is_held() -> None:
    door = Doorkeeper(4)
    for mark in range(9):
        assert not door.has_seen(mark)
        assert len(door) <= 4
    assert door.has_seen(8)
