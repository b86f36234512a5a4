"""A verification as findings by file and line: rules, places and risks of docs/verify.md."""

from __future__ import annotations

import pytest
from tests.unit.report.verification.results import example, not_loaded, result

from whimbrel.report.verification.entries import report_of, risk_of
from whimbrel.upgrade.model import Risk
from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.causes import Cause
from whimbrel.verify.verification import DifferenceGroup, access_differences

OPENS, CLOSES, OTHER = (403, 200), (200, 403), (200, 404)


def test_each_kind_has_its_rule() -> None:
    found = [(one.rule, one.path, one.line, one.risk) for one in report_of(result()).entries]
    assert found == [
        ("V-ACCESS", "/new.conf", 4, Risk.OPENS),
        ("V-RESPONSE", "/old.conf", 9, Risk.CHANGES),
        ("V-RESPONSE", "", 0, Risk.CLOSES),
        ("V-RESPONSE", "", 0, Risk.CHANGES),
        ("V-UNDECIDED", "", 0, Risk.CHANGES),
        ("V-UNDECIDED", "", 0, Risk.CHANGES),
    ]


def test_messages_have_the_request() -> None:
    messages = [one.message for one in report_of(result()).entries]
    assert messages[0] == "GET http://a.test/in/ from 192.0.2.1 as bob: status: 403 -> 200"
    assert messages[-1] == "not decided: no user (GET http://a.test/d from 192.0.2.1)"
    evidence = report_of(result()).entries[0].evidence
    assert evidence == "2.2: /old.conf:3: Deny from all\n2.4: /new.conf:4: Require all granted"


def test_what_does_not_load_breaks() -> None:
    (entry,) = report_of(not_loaded()).entries
    assert (entry.rule, entry.path, entry.line, entry.risk) == ("V-LOAD", "/new.conf", 5, Risk.BREAKS)
    assert entry.message.startswith("2.4: AH00526")


@pytest.mark.parametrize("kind", ["access", "response", "httpd"])
@pytest.mark.parametrize(
    ("statuses", "risk"), [((OPENS,), Risk.OPENS), ((CLOSES,), Risk.CLOSES), ((OTHER,), Risk.CHANGES)]
)
def test_the_risk_of_a_group(kind: str, statuses: tuple[tuple[int, int], ...], risk: Risk) -> None:
    """A real server says nothing about the upgrade."""
    examples = [example("/", Answer(old), Answer(new)) for old, new in statuses]
    group = DifferenceGroup(kind, Cause((), ()), examples)
    assert risk_of(group) is (Risk.CHANGES if kind == "httpd" else risk)


def test_what_opens_counts_before_what_closes() -> None:
    examples = [example("/", Answer(old), Answer(new)) for old, new in (CLOSES, OPENS)]
    assert risk_of(DifferenceGroup("response", Cause((), ()), examples)) is Risk.OPENS


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_the_place_is_a_line_of_the_side_if_there_is_one(count: int) -> None:
    """New lines of the cause, old ones, then the lines that decided: new, old."""
    lines = [(DecidingLine(f"/{number}", number),) for number in (1, 2, 3, 4)]
    new, old, decided_new, decided_old = (
        line if number + 1 >= count else () for number, line in enumerate(lines)
    )
    group = DifferenceGroup(
        "access", Cause(old, new), [example("/", Answer(403), Answer(200))], 1, (decided_old, decided_new)
    )
    (difference,) = access_differences([group])
    assert difference.place is not None and difference.place.line == count
    assert difference.is_of_old is (count in (2, 4))


def test_examples_of_access_are_sorted_by_risk() -> None:
    examples = [example("/", Answer(old), Answer(new)) for old, new in (CLOSES, OPENS, OTHER)]
    found = access_differences([DifferenceGroup("response", Cause((), ()), examples)])
    assert [(one.before, one.after) for one in found] == [OPENS, CLOSES]
