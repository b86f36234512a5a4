"""The page of a check: verdict and counts."""

from __future__ import annotations

import pytest
from tests.unit.report.reports import report

from whimbrel.report.model import Report, ReportEntry
from whimbrel.report.page.check_page import check_page
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.upgrade.model import Risk

UNKNOWN = KnowledgeScope(items=(UnknownItem(UnknownKind.NOT_READ, None, "a file"),))
FIXED = ReportEntry("C17", "a", 1, "m", is_fixable=True, risk=Risk.BREAKS)
REVIEWED = ReportEntry("C17", "a", 2, "m", needs_review=True, risk=Risk.OPENS, evidence="10.0.0.1 may enter")


@pytest.mark.parametrize(
    ("entries", "scope", "badge"),
    [
        ([], KnowledgeScope(), ("Nothing to do", "same")),
        ([], UNKNOWN, ("Not decided", "undecided")),
        ([FIXED], KnowledgeScope(), ("Changed by upgrade", "cosmetic")),
        ([FIXED], UNKNOWN, ("Not decided", "undecided")),
        ([FIXED, REVIEWED], UNKNOWN, ("Needs review", "opens")),
    ],
)
def test_the_verdict(entries: list[ReportEntry], scope: KnowledgeScope, badge: tuple[str, str]) -> None:
    page = check_page(Report(["a"], entries, scope=scope))
    assert (page.badge.text, page.badge.risk) == badge
    assert ("not decided" in page.sentence) is not scope.is_complete
    assert bool(page.tables) is (not scope.is_complete or REVIEWED in entries)


def test_counts_are_cards() -> None:
    page = check_page(report())
    assert [(card.name, card.count) for card in page.cards] == [
        ("breaks start-up", 1),
        ("opens access", 0),
        ("closes access", 0),
        ("changes answers", 0),
        ("could not be read", 1),
        ("cosmetic", 1),
        ("to decide", 0),
        ("not decided", 1),
    ]


def test_access_comes_first_and_leads_to_its_finding() -> None:
    page = check_page(Report(["a"], [FIXED, REVIEWED], scope=UNKNOWN))
    access, unknown = page.tables
    assert [cell.text for cell in access.rows[0]] == ["opens access", "a:2", "10.0.0.1 may enter"]
    assert access.rows[0][1].href == page.groups[0].items[1].anchor
    assert unknown.title == "Not known"
