"""The report of a fleet: exit code, counts, rules."""

from __future__ import annotations

import pytest

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.fleet.formats.html import render as html_of
from whimbrel.fleet.formats.text import render
from whimbrel.fleet.model import FleetReport, RuleCount, RuleTotal, ServerResult, rule_counts
from whimbrel.fleet.page import fleet_page
from whimbrel.report.model import EffectClass
from whimbrel.upgrade.model import Risk


def server(name: str, code: int = 0, *rules: RuleCount) -> ServerResult:
    return ServerResult(
        name, f"/{name}", {0: "same", 1: "different", 2: "not read", 3: "not decided"}[code], code, rules
    )


@pytest.mark.parametrize(
    ("codes", "worst"),
    [((), 0), ((0, 0), 0), ((0, 3), 3), ((3, 1, 0), 1), ((1, 3, 2, 0), 2)],
)
def test_the_exit_code_is_that_of_the_worst(codes: tuple[int, ...], worst: int) -> None:
    report = FleetReport("verify", [server(str(at), code) for at, code in enumerate(codes)], len(codes))
    assert report.exit_code() == worst


def test_verdicts_the_worst_first() -> None:
    report = FleetReport("verify", [server("a"), server("b", 3), server("c", 2), server("d")], 4)
    assert list(report.verdicts().items()) == [("not read", 1), ("not decided", 1), ("same", 2)]


def test_rules_by_risk_then_by_servers() -> None:
    often = RuleCount("C20", Risk.CHANGES, 1)
    report = FleetReport(
        "check",
        [
            server("a", 1, often, RuleCount("C17", Risk.CHANGES, 2), RuleCount("C17", Risk.BREAKS, 3)),
            server("b", 1, often, RuleCount("C30", Risk.CHANGES, 50)),
        ],
        2,
        {"C17": "order"},
    )
    assert report.rule_totals() == [
        RuleTotal("C17", "order", EffectClass(Risk.BREAKS), 1, 5, 1, 3),
        RuleTotal("C20", "", EffectClass(Risk.CHANGES), 2, 2, 2, 2),
        RuleTotal("C30", "", EffectClass(Risk.CHANGES), 1, 50, 1, 50),
    ]


def test_a_rule_names_how_many_servers_have_its_worst_risk() -> None:
    """The text, and the page: with 20 findings that break the start of two servers of three."""
    found = [
        server("a", 1, RuleCount("C17", Risk.BREAKS, 8)),
        server("b", 1, RuleCount("C17", Risk.BREAKS, 12), RuleCount("C17", Risk.CHANGES, 1)),
        server("c", 1, RuleCount("C17", Risk.COSMETIC, 6), RuleCount("C20", Risk.CHANGES, 1)),
    ]
    report = FleetReport("check", found, 3)
    (first, second) = [line.split() for line in render(report).splitlines() if line.startswith("  C")]
    assert " ".join(first) == "C17 breaks start-up 2 of 3 servers 20 of 27 findings"
    assert " ".join(second) == "C20 changes answers 1 server 1 finding"
    assert "2 of 3" in html_of(report) and "20 of 27" in html_of(report)


def test_requests_that_fail_are_not_counted_as_breaking_the_start() -> None:
    """The check of one server has two classes for them: a .htaccess file does not keep 2.4 from starting."""
    found = rule_counts(
        [("C17", EffectClass(Risk.BREAKS)), *[("C17", EffectClass(Risk.BREAKS, is_per_request=True))] * 3]
    )
    only = rule_counts([("C17", EffectClass(Risk.BREAKS, is_per_request=True))])
    report = FleetReport("check", [server("a", 1, *found), server("b", 1, *only)], 2)
    (line,) = [line.split() for line in render(report).splitlines() if line.startswith("  C")]
    assert " ".join(line) == "C17 breaks start-up 1 of 2 servers 1 of 5 findings"
    text = render(FleetReport("check", [server("b", 1, *only)], 1))
    (line,) = [line.split() for line in text.splitlines() if line.startswith("  C")]
    assert " ".join(line) == "C17 500 per request 1 server 1 finding"
    texts = [item.word for group in fleet_page(report).groups for item in group.items]
    assert texts == ["breaks start-up", "500 per request", "500 per request"]


def test_counts_of_a_server() -> None:
    changes = EffectClass(Risk.CHANGES)
    counts = rule_counts([("A", changes), ("B", EffectClass(Risk.OPENS)), ("A", changes)])
    assert counts == (RuleCount("B", Risk.OPENS, 1), RuleCount("A", Risk.CHANGES, 2))
    assert server("a", 1, *counts).by_risk() == {Risk.OPENS: 1, Risk.CHANGES: 2}


def test_servers_by_their_work() -> None:
    """The most to review first, then the most that is not decided, then the worst changes."""
    few, many = RuleCount("C1", Risk.BREAKS, 1), RuleCount("C1", Risk.BREAKS, 9)
    found = [
        server("nothing"),
        server("few", 1, few),
        replace(server("open", 1, few), undecided=2),
        server("many", 1, many),
        replace(server("review", 1, few), review=1),
        server("unread", 2),
    ]
    names = [one.name for one in sorted(found, key=ServerResult.work)]
    assert names == ["unread", "review", "open", "many", "few", "nothing"]
