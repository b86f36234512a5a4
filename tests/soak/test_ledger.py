"""The ledger: each way in which clients and the access log can disagree is found."""

from __future__ import annotations

import pytest

from tests.soak.ledger import Ledger

LINE = '127.0.0.1 - - [29/Nov/2026:10:00:00 +0000] "GET /a.txt?n={} HTTP/1.1" {} {} "-" "-"'


@pytest.fixture
def ledger() -> Ledger:
    """A ledger of four requests: answered, without a body, given back, given up."""
    found = Ledger()
    numbers = [found.begin() for _ in range(4)]
    found.answered(numbers[0], "static", 200, 8)
    found.answered(numbers[1], "HEAD", 200, -1)
    found.give_back(numbers[2])
    found.give_up(numbers[3])
    return found


RIGHT = (LINE.format(1, 200, 8), LINE.format(2, 200, "-"), LINE.format(4, 200, 77))


def test_a_log_that_agrees(ledger: Ledger) -> None:
    assert ledger.reconcile(RIGHT) == (3, [])


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (RIGHT[1:], "request 1 (200): 0 lines"),
        ((*RIGHT, RIGHT[0]), "request 1 (200): 2 lines"),
        ((*RIGHT, LINE.format(3, 200, 8)), "request 3 (1): 1 lines in place of 0"),
        (RIGHT[:2], "request 4 (2): 0 lines"),
        ((LINE.format(1, 404, 8), *RIGHT[1:]), "status 200 for the client, 404 in the log"),
        ((LINE.format(1, 200, 7), *RIGHT[1:]), "8 bytes for the client, 7 in the log"),
        ((*RIGHT, LINE.format(9, 200, 8)), "a line of no request"),
        ((*RIGHT, '127.0.0.1 - - [x] "GET / HTTP/1.1" 200 8 "-" "-"'), "a line of no request"),
    ],
    ids=["missing", "twice", "given back", "given up", "status", "size", "no such number", "no number"],
)
def test_a_log_that_disagrees(ledger: Ledger, lines: tuple[str, ...], problem: str) -> None:
    (found,) = ledger.reconcile(lines)[1]
    assert problem in found


def test_a_lost_response_may_have_one_line_or_none_but_not_two(ledger: Ledger) -> None:
    number = ledger.begin()
    ledger.lose(number, "static", "closed")
    line = LINE.format(number, 200, 8)
    assert ledger.reconcile(RIGHT)[1] == []
    assert ledger.reconcile((*RIGHT, line))[1] == []
    assert len(ledger.reconcile((*RIGHT, line, line))[1]) == 1
    assert (ledger.wrong, ledger.failures) == (1, ["static 5: lost, closed"])


def test_a_request_without_an_end_is_a_problem(ledger: Ledger) -> None:
    ledger.begin()
    assert ledger.reconcile(RIGHT)[1] == ["request 5 (0): 0 lines, no end"]
