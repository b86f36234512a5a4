"""Reports of a replay."""

from __future__ import annotations

from collections import Counter

from whimbrel.replay.summary import Summary
from whimbrel.replay.tally import MAX_GROUPS, MAX_NAMES, CausingLine, Change, ChangeKey, Tally
from whimbrel.replay.text import text_of


def summary() -> Summary:
    tally = Tally(lines=12, requests=10, malformed=2, malformed_examples=["<b>\\xff"])
    tally.statuses.update({(200, 200, 403): 4, (200, 200, 200): 6})
    tally.status_examples[200, 403] = "GET http://a/x from 10.0.0.1"
    change = tally.change(
        ChangeKey("status 200 -> 403", (), (CausingLine("/etc/a.conf", 7, "Require ip <x>"),))
    )
    change.requests, change.distinct = 4, 1
    change.clients["10.0.0.1"] = 4
    return Summary("old", "new", ("log",), tally)


def test_text() -> None:
    text = text_of(summary())
    assert "4 requests change (40.00 %):" in text
    assert (
        "4 requests: status 200 -> 403\n    new: /etc/a.conf:7: Require ip <x>\n    clients: 10.0.0.1 (4)"
        in text
    )
    assert "2 lines have another format" in text and "logged 200, now 403" in text


def test_json() -> None:
    told = summary().as_dict()
    assert (told["requests"], told["changed"], told["log"]["as_logged"]) == (10, 4, 6)
    assert told["changes"][0]["new_lines"] == [{"file": "/etc/a.conf", "line": 7, "text": "Require ip <x>"}]
    assert told["skipped"]["malformed"] == 2


def test_names_and_changes_are_bounded() -> None:
    total = Change()
    for piece in range(3):
        total.add(
            Change(2 * MAX_NAMES, clients=Counter({f"{piece}.{n}": 1 + n % 3 for n in range(2 * MAX_NAMES)}))
        )
    assert len(total.clients) <= 2 * MAX_NAMES and total.dropped > 0
    tally = Tally()
    for number in range(MAX_GROUPS + 50):
        tally.change(ChangeKey("status", (CausingLine("f", number, ""),))).requests += 1
    assert len(tally.changes) <= MAX_GROUPS + 1 and tally.changed == MAX_GROUPS + 50
