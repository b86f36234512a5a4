"""Counts of a replay: tallies of pieces add up to that of the whole; bounds hold what is listed."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

from whimbrel.replay import tally as subject
from whimbrel.replay.tally import (
    MAX_EXAMPLES,
    MAX_SHOWN,
    CausingLine,
    Change,
    ChangeKey,
    HostlessLines,
    Tally,
)

LINES = HostlessLines("q", 2, ("q", "r"), "log in their format")
KEY = ChangeKey("200 -> 403", (CausingLine("/a", 1, "x"),))
COUNTS = ("lines", "requests", "distinct", "malformed", "huge", "without_request", "missing")
NAMES = ("clients", "users", "hosts", "paths")


def change(number: int) -> Change:
    """Return a change of some requests of one name in each counter."""
    names = {name: Counter({f"{name}{number % 3}": number}) for name in NAMES}
    return Change(requests=number, distinct=1, examples=[f"GET /{number}"], **names)


def piece(number: int) -> Tally:
    """Return the counts of one piece of a log."""
    found = Tally(**{name: number * 10**at for at, name in enumerate(COUNTS)})
    found.statuses[200, 200, 403] = number
    found.status_examples[200, 403] = f"GET /{number}"
    found.changes[KEY] = change(number)
    found.hostless[LINES] = number
    found.taken_for["q"] = number
    found.count_hour(b"10/Oct/2000:13", number, is_changed=number % 2 == 0)
    found.note_bad(b"bad %d" % number)
    return found


def test_pieces_add_up() -> None:
    total = Tally()
    for number in (1, 2, 3, 4):
        total.add(piece(number))
    assert [getattr(total, name) for name in COUNTS] == [10 * 10**at for at in range(len(COUNTS))]
    assert total.statuses == {(200, 200, 403): 10}
    assert total.hostless == {LINES: 10}
    assert total.taken_for == {"q": 10}
    assert total.status_examples == {(200, 403): "GET /1"}
    assert total.hours == {"10/Oct/2000:13": (10, 6)}
    assert total.malformed_examples == [f"bad {number}" for number in (1, 2, 3, 4)]
    found = total.changes[KEY]
    assert (found.requests, found.distinct, found.dropped) == (10, 4, 0)
    assert [getattr(found, name) for name in NAMES] == [
        {f"{name}1": 5, f"{name}2": 2, f"{name}0": 3} for name in NAMES
    ]
    assert found.examples == [f"GET /{number}" for number in (1, 2, 3, 4)]
    assert total.changed == 10


@pytest.mark.parametrize("field", dataclasses.fields(Tally), ids=lambda field: field.name)
def test_every_count_of_a_piece_is_added(field: dataclasses.Field[object]) -> None:
    """A tally that gets one piece is that piece."""
    total = Tally()
    total.add(piece(7))
    assert getattr(total, field.name) == getattr(piece(7), field.name)


@pytest.mark.parametrize("field", dataclasses.fields(Change), ids=lambda field: field.name)
def test_every_count_of_a_change_is_added(field: dataclasses.Field[object]) -> None:
    total = Change()
    total.add(dataclasses.replace(change(7), dropped=3))
    assert getattr(total, field.name) == getattr(dataclasses.replace(change(7), dropped=3), field.name)


def test_examples_are_the_first_ones() -> None:
    total = Change()
    for number in range(MAX_EXAMPLES + 3):
        total.add(change(number))
    assert total.examples == [f"GET /{number}" for number in range(MAX_EXAMPLES)]
    lines = Tally()
    for number in range(MAX_EXAMPLES + 3):
        lines.note_bad(b"%d" % number)
    assert lines.malformed_examples == [str(number) for number in range(MAX_EXAMPLES)]


def test_a_bad_line_is_shown_escaped_and_cut() -> None:
    lines = Tally()
    lines.note_bad(b"a\x1b\n\xe9" + b"x" * MAX_SHOWN)
    lines.note_bad(b"y" * MAX_SHOWN)
    lines.note_bad(rb'"\x16\x03" 400')  # httpd writes what a client sent so: it is no backslash to escape
    assert lines.malformed_examples == [
        "a\\x1b\\x0a\\xe9" + "x" * (MAX_SHOWN - 4) + "...",
        "y" * MAX_SHOWN,
        '"\\x16\\x03" 400',
    ]


def test_the_rarest_names_are_dropped_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MAX_NAMES", 2)
    total = Change()
    for name, number in (("a", 5), ("b", 1), ("c", 9), ("d", 2)):
        total.add(Change(clients=Counter({name: number})))
    assert total.clients == {"a": 5, "b": 1, "c": 9, "d": 2} and total.dropped == 0
    total.add(Change(clients=Counter({"e": 1})))
    assert total.clients == {"a": 5, "c": 9} and total.dropped == 4


def test_changes_and_hours_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject, "MAX_GROUPS", 2)
    monkeypatch.setattr(subject, "MAX_HOURS", 2)
    total = Tally()
    for number in range(4):
        total.change(ChangeKey("what", (CausingLine("/a", number, ""),))).requests += 1
        total.count_hour(b"%d" % number, 1, is_changed=True)
    total.change(ChangeKey("what", (CausingLine("/a", 0, ""),))).requests += 1
    assert {key.old and key.old[0].line: one.requests for key, one in total.changes.items()} == {
        0: 2,
        1: 1,
        (): 2,
    }
    assert total.hours == {"0": (1, 1), "1": (1, 1), "": (2, 2)}
