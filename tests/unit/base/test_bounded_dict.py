"""BoundedDict: the bound, and the dictionary that it otherwise is."""

from __future__ import annotations

from whimbrel.base.bounded_dict import BoundedDict


def filled(count: int, maxsize: int) -> BoundedDict[int, str]:
    """A dictionary to which *count* keys were assigned."""
    table: BoundedDict[int, str] = BoundedDict(maxsize)
    for key in range(count):
        table[key] = str(key)
    return table


def test_up_to_its_bound_it_holds_every_entry() -> None:
    assert filled(3, 3) == {0: "0", 1: "1", 2: "2"}


def test_one_entry_more_drops_all_others() -> None:
    assert filled(4, 3) == {3: "3"}


def test_an_entry_that_is_there_can_be_replaced_when_it_is_full() -> None:
    table = filled(3, 3)
    table[1] = "new"
    assert table == {0: "0", 1: "new", 2: "2"}


def test_chained_assignment_gives_the_value() -> None:
    table = filled(2, 2)
    value = table[7] = "seven"
    assert (value, len(table)) == ("seven", 1)


def test_the_bound_holds_however_many_entries_are_assigned() -> None:
    sizes = set()
    table: BoundedDict[int, None] = BoundedDict(5)
    for key in range(100):
        table[key] = None
        sizes.add(len(table))
    assert max(sizes) == 5
