"""The page of a verification: verdict, access before and after, causes with their lines."""

from __future__ import annotations

import pytest

from whimbrel.base.errors import SourceLocation
from whimbrel.report.page.verify_page import verify_page
from whimbrel.report.verification.html import render
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.upgrade.knowledge.start_stops import StartStops
from whimbrel.verify.answer import Answer, DecidingLine
from whimbrel.verify.causes import Cause
from whimbrel.verify.difference import Difference, FieldDifference
from whimbrel.verify.probe import Probe, ProbeUser
from whimbrel.verify.side import LoadError
from whimbrel.verify.verification import (
    DifferenceGroup,
    Example,
    NotDecided,
    VerifyResult,
    access_differences,
)

OLD = DecidingLine("/o/a.conf", 17, "Allow from 10.0.0.0/8")
NEW = DecidingLine("/n/a.conf", 18, "Require ip <all>")


def group(old: int, new: int, kind: str = "access") -> DifferenceGroup:
    """Return a cause with one example of these statuses."""
    probe = Probe("/admin", host="h.example", client="10.2.0.7", user=ProbeUser("bob"))
    difference = Difference((FieldDifference("status", str(old), str(new)),))
    example = Example(probe, difference, Answer(old), Answer(new))
    return DifferenceGroup(kind, Cause((OLD,), (NEW,)), [example], 7, is_assumed=True)


UNKNOWN = KnowledgeScope(items=(UnknownItem(UnknownKind.NOT_READ, None, "a file"),))
BROKEN = ((), (LoadError("Invalid command 'Oder'"),))


@pytest.mark.parametrize(
    ("result", "badge"),
    [
        (VerifyResult(), ("Same", "same")),
        (VerifyResult(scope=UNKNOWN), ("Not decided", "undecided")),
        (VerifyResult(not_decided=[NotDecided("no password")]), ("Not decided", "undecided")),
        (VerifyResult(errors=BROKEN), ("Does not load", "breaks")),
        (VerifyResult(groups=[group(200, 403), group(403, 200)]), ("Different", "opens")),
        (VerifyResult(groups=[group(200, 403)]), ("Different", "closes")),
        (VerifyResult(groups=[group(200, 404, "response")]), ("Different", "changes")),
    ],
)
def test_the_verdict(result: VerifyResult, badge: tuple[str, str]) -> None:
    page = verify_page(result)
    assert (page.badge.text, page.badge.risk) == badge
    assert page.cards[-1].count == len(result.not_decided) + len(result.scope.deciding)
    assert page.cards[0].count == sum(map(len, result.errors))


def test_what_stops_the_start_is_no_count_of_zero() -> None:
    """The count of lines that end the start here has the place of that of texts that do not load."""
    place = SourceLocation("/n/a.conf", 3)
    stops = StartStops((), ((place, "bad user name x"),))
    page = verify_page(VerifyResult(start_stops=stops))
    assert (page.cards[0].name, page.cards[0].count, page.cards[0].href) == ("stops here", 1, "answer")
    assert "breaks start-up" not in [card.name for card in page.cards]
    assert any("does not start here: /n/a.conf:3: bad user name x" in text for text in page.answer)


def test_access_names_client_request_before_and_after() -> None:
    page = verify_page(VerifyResult(groups=[group(200, 403), group(403, 200)]))
    opened, closed = page.tables[0].rows
    assert [cell.text for cell in opened] == [
        "gains access",
        "10.2.0.7 as bob",
        "GET http://h.example/admin",
        "403",
        "granted",
        "/n/a.conf:18",
    ]
    assert closed[0].text == "loses access"
    assert opened[-1].href in {item.anchor for part in page.groups for item in part.items}


def test_a_cause_has_its_lines_and_examples() -> None:
    page = verify_page(VerifyResult(("2.2", "2.4"), groups=[group(403, 200)]))
    [[item]] = [part.items for part in page.groups]
    assert [(side.name, [line.pieces[0][0] for line in side.lines]) for side in item.sides] == [
        ("2.2", ["/o/a.conf", "Allow from 10.0.0.0/8"]),
        ("2.4", ["/n/a.conf", "Require ip <all>"]),
    ]
    assert item.sides[0].lines[1].number == 17
    assert item.table is not None and [cell.text for cell in item.table.rows[0]][1:] == [
        "status",
        "403",
        "200",
    ]
    assert item.notes == (("", "no file of the configuration has this user at present"),)
    assert item.marks == ("7 differences",)


def test_a_cause_that_opens_and_closes_counts_as_both() -> None:
    both = group(403, 200)
    both.examples += group(200, 403).examples
    page = verify_page(VerifyResult(groups=[both]))
    assert {card.name: card.count for card in page.cards if card.count} == {
        "opens access": 1,
        "closes access": 1,
    }
    assert page.groups[0].items[0].also == ("closes", "closes access")


def test_what_httpd_prints_and_what_was_not_decided_are_in_the_page() -> None:
    written = render(
        VerifyResult(errors=BROKEN, not_decided=[NotDecided("no <password>", Probe("/x"))], scope=UNKNOWN)
    )
    for text in ("Invalid command &#39;Oder&#39;", "no &lt;password&gt;", "a file", "new does not load"):
        assert text in written


def test_access_that_opens_comes_first() -> None:
    found = [*access_differences([group(404, 500, "response"), group(200, 403), group(401, 302)])]
    assert [(one.before, one.after) for one in found] == [(401, 302), (200, 403)]
