"""The text of a fleet."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.unit.fleet.fleet_report import fleet_report

from whimbrel.fleet.formats.text import duration, render
from whimbrel.fleet.model import NO_START, FleetReport, ServerResult
from whimbrel.report.formats.frames import FrameStyle


def test_a_line_for_each_server_then_the_rules_then_the_counts() -> None:
    order, *lines = render(fleet_report()).splitlines()
    columns = "by to decide, not known, breaks and the columns to its right"
    assert order == f"most work first: sorted by verdict, then {columns}"
    heads = ["breaks", "500s", "changes", "to decide", "not known"]  # no server has a count of the others
    assert re.split(" {2,}", lines[0]) == ["server", "verdict", *heads, "time"]
    assert lines[1].split(None, 3) == ["delta", "not", "read", "conf: Permission denied"]
    assert [line.split() for line in (*lines[2:4], lines[5])] == [
        ["alpha", "findings", "1,195", "5", "2", "7", "3", "1.25", "s"],
        ["beta", "findings", "1,195", "5", "2", "7", "3", "=", "alpha"],
        ["gamma", "nothing", "to", "do", "0", "0", "0", "0", "0", "1", "min", "15", "s"],
    ]
    assert "\x1b" not in lines[4] and "<b>\\x1b[31m" in lines[4]
    assert lines[6:8] == ["", "rules that matter most"]
    assert (
        lines[8].split() == "C17 order-allow-deny breaks start-up 2 servers 2,390 of 2,400 findings".split()
    )
    assert lines[9].split() == "C20 changes answers 2 servers 4 findings".split()
    assert lines[10:] == [
        "",
        "5 servers: 1 not read, 2 with findings, 1 not decided, 1 nothing to do",
        "4 worked on, 1 equal to another, in 4 min 12 s by 2 processes",
        "First: delta: conf: Permission denied",
    ]


def test_the_columns_stand_below_each_other() -> None:
    _order, head, _fault, first, *_ = render(fleet_report()).splitlines()
    for word in ("breaks", "500s", "changes", "not known"):
        end = head.index(word) + len(word)
        assert first[end - 1].isdigit() and first[end] == " "


def test_why_a_server_does_not_load_stands_below_its_counts() -> None:
    report = fleet_report()
    report.servers[2] = replace(
        report.servers[0], name="gamma", verdict="does not load", code=2, fault="a:1: b"
    )
    rows = render(report).splitlines()
    at = next(number for number, row in enumerate(rows) if row.startswith("gamma"))
    assert rows[at].split()[1:7] == ["does", "not", "load", "1,195", "5", "2"]
    assert rows[at + 1] == "    a:1: b"


def test_the_order_of_pairs_has_no_review() -> None:
    report = fleet_report()
    report.command = "verify"
    order, head, *_ = render(report).splitlines()
    assert "to decide" not in order + head and "then by not known, breaks" in order


@pytest.mark.parametrize("width", [80, 100])
def test_rows_fit_the_terminal_with_fewer_columns(width: int) -> None:
    report = fleet_report()
    rows = render(report, FrameStyle(width)).splitlines()
    at = rows.index("")
    assert max(map(len, rows[:at])) <= width
    head = next(row for row in rows if row.startswith("server"))
    assert {"breaks", "to decide", "not known"} <= set(re.split(" {2,}", head))
    assert any("= alpha" in row for row in rows)


def test_one_or_many_servers_have_their_verbs_and_the_worst_is_first() -> None:
    """Servers of which no version starts come before the next command, with the place to correct."""
    fault = f"{NO_START}: conf/httpd.conf:96: <Directory> is not closed"
    broken = [ServerResult(name, f"/{name}", "does not load", 2, fault=fault) for name in ("a", "b")]
    text = render(FleetReport("verify", broken, 2), following="whimbrel x")
    assert "2 servers: 2 do not load\n" in text
    assert text.endswith(
        "First: a: correct conf/httpd.conf:96: <Directory> is not closed\nNext: whimbrel x\n"
    )
    assert "1 server: 1 does not load\n" in render(FleetReport("verify", broken[:1], 1))


def test_what_limits_a_result_stands_below_its_row() -> None:
    note = "200 requests asked: not every request that can be derived was asked (--limit)"
    result = ServerResult("a", "/a", "not decided", 3, undecided=1, note=note)
    lines = render(FleetReport("verify", [result], 1)).splitlines()
    (row,) = [at for at, line in enumerate(lines) if line.startswith("a ")]
    assert lines[row + 1].strip() == note


def test_an_interrupt_is_named_first() -> None:
    report = fleet_report()
    report.is_interrupted = True
    report.cut_writes = ("alpha",)
    lines = render(report).splitlines()
    assert "interrupted: 5 of 6 servers are finished" in lines
    assert lines[-2] == "alpha: interrupted while its files were written: whimbrel upgrade --undo"
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


def test_who_gains_or_loses_access_and_the_pages_are_named() -> None:
    report = fleet_report()
    report.servers[:2] = [replace(one, access="C20 closes it at a:2") for one in report.servers[:2]]
    lines = render(report, following="whimbrel verify x", index="pages/index.html").splitlines()
    assert lines.count("    access: C20 closes it at a:2") == 1  # beta is equal to alpha
    assert lines[-1] == "Next: whimbrel verify x"
    assert "pages: pages/index.html, which leads to that of each server" in lines
    assert not [line for line in render(fleet_report()).splitlines() if line.startswith("pages:")]
