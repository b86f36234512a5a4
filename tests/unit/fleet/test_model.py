"""The report of a fleet: exit code, counts, rules."""

from __future__ import annotations

import pytest

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.fleet.model import FleetReport, RuleCount, RuleTotal, ServerResult, rule_counts
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
        RuleTotal("C17", "order", Risk.BREAKS, 1, 5),
        RuleTotal("C20", "", Risk.CHANGES, 2, 2),
        RuleTotal("C30", "", Risk.CHANGES, 1, 50),
    ]


def test_counts_of_a_server() -> None:
    counts = rule_counts([("A", Risk.CHANGES), ("B", Risk.OPENS), ("A", Risk.CHANGES)])
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
