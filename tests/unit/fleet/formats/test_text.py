"""The text of a fleet."""

from __future__ import annotations

import pytest
from tests.unit.fleet.fleet_report import fleet_report

from whimbrel.fleet.formats.text import duration, render
from whimbrel.fleet.model import FleetReport
from whimbrel.report.formats.frames import FrameStyle


def test_a_line_for_each_server_then_the_rules_then_the_counts() -> None:
    order, *lines = render(fleet_report()).splitlines()
    assert (
        order == "most work first: by verdict, then review, undecided, breaks and the columns that follow it"
    )
    heads = ["breaks", "500s", "opens", "closes", "changes", "unread", "cosmetic", "review", "undecided"]
    assert lines[0].split() == ["server", "verdict", *heads, "time"]
    assert lines[1].split(None, 3) == ["delta", "not", "read", "conf: Permission denied"]
    assert [line.split() for line in (*lines[2:4], lines[5])] == [
        ["alpha", "findings", "1,195", "5", "0", "0", "2", "0", "0", "7", "3", "1.25", "s"],
        ["beta", "findings", "1,195", "5", "0", "0", "2", "0", "0", "7", "3", "=", "alpha"],
        ["gamma", "nothing", "to", "do", "0", "0", "0", "0", "0", "0", "0", "0", "0", "1", "min", "15", "s"],
    ]
    assert "\x1b" not in lines[4] and "<b>\\x1b[31m" in lines[4]
    assert lines[6:8] == ["", "rules that matter most"]
    assert lines[8].split() == "C17 order-allow-deny breaks start-up 2 servers 2,400 findings".split()
    assert lines[9].split() == "C20 changes answers 2 servers 4 findings".split()
    assert lines[10:] == [
        "",
        "5 servers: 1 not read, 2 findings, 1 not decided, 1 nothing to do",
        "4 worked on, 1 equal to another, in 4 min 12 s by 2 processes",
    ]


def test_the_columns_stand_below_each_other() -> None:
    _order, head, _fault, first, *_ = render(fleet_report()).splitlines()
    for word in ("breaks", "500s", "changes", "undecided"):
        end = head.index(word) + len(word)
        assert first[end - 1].isdigit() and first[end] == " "


def test_the_order_of_pairs_has_no_review() -> None:
    report = fleet_report()
    report.command = "verify"
    order, head, *_ = render(report).splitlines()
    assert "review" not in order + head and "then undecided, breaks" in order


def test_an_interrupt_is_named_first() -> None:
    report = fleet_report()
    report.is_interrupted = True
    report.cut_writes = ("alpha",)
    lines = render(report).splitlines()
    assert "interrupted: 5 of 6 servers are finished" in lines
    assert lines[-1] == "alpha: interrupted while its files were written: whimbrel upgrade --undo"
    nothing = render(FleetReport("check", [], 3, is_interrupted=True))
    assert nothing.splitlines()[-2] == "0 servers: none finished"


def test_colors() -> None:
    assert "\x1b[31;1mfindings" in render(fleet_report(), FrameStyle(is_colored=True))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.00 s"), (9.99, "9.99 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3700, "61 min 40 s")],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration(seconds) == text
