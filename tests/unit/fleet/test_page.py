"""The page of a fleet: cards, rules, servers with links, rules by server."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from tests.unit.fleet.fleet_report import HOSTILE, fleet_report

from whimbrel.fleet import page as page_module
from whimbrel.fleet.formats.html import render
from whimbrel.fleet.model import FleetReport, RuleCount, ServerResult
from whimbrel.fleet.page import fleet_page, page_name
from whimbrel.upgrade.model import Risk


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.links += [value or "" for name, value in attrs if name == "href"]


def test_the_worst_servers_come_first() -> None:
    page = fleet_page(fleet_report())
    assert (page.badge.text, page.badge.risk) == ("Not read", "breaks")
    table = next(table for table in page.tables if table.title == "Servers")
    assert [row[0].text for row in table.rows][:3] == ["delta", "alpha", "beta"]
    assert [row[1].risk for row in table.rows] == ["breaks", "breaks", "breaks", "undecided", "same"]
    assert [(card.name, card.count) for card in page.cards if card.count] == [
        ("breaks start-up", 2390),
        ("500 per request", 10),
        ("changes answers", 4),
        ("not decided", 8),
    ]


def test_equal_servers_link_to_one_page() -> None:
    parser = _Links()
    parser.feed(render(fleet_report()))
    assert [link for link in parser.links if link.startswith("servers/")] == ["servers/alpha.html"] * 2
    odd = ServerResult(HOSTILE, "/x", "findings", 1, has_page=True)
    assert page_name(odd) == b"servers/<b>\x1b[31m\xe9.html"
    names = {page_name(ServerResult("x" * 254 + end, "/x", "findings", 1)) for end in "ab"}
    assert len(names) == 2 and max(map(len, names)) < 200  # the name of a file has 255 bytes
    (row,) = fleet_page(FleetReport("check", [odd], 1)).tables[0].rows
    assert row[0].page == "servers/%3Cb%3E%1B%5B31m%E9.html"


def test_a_filter_by_rule_over_the_servers_that_differ() -> None:
    page = fleet_page(fleet_report())
    (group,) = page.groups
    assert (group.title, [item.rule for item in group.items]) == ("alpha", ["C17", "C17", "C20"])
    assert group.items[0].marks == ("1 equal server",)
    assert group.items[0].message == "1,195 findings"
    text = render(fleet_report())
    assert '<label>Server<select class="field" id="file">' in text


def test_names_are_no_markup() -> None:
    text = render(fleet_report())
    assert "<b>\\" not in text and "\x1b" not in text
    assert "&lt;b&gt;" in text


def test_the_page_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_module, "MAX_FINDINGS", 3)
    monkeypatch.setattr(page_module, "MAX_ROWS", 2)
    rules = (RuleCount("C17", Risk.BREAKS, 1), RuleCount("C20", Risk.CHANGES, 1))
    servers = [ServerResult(f"s{number}", "/x", "findings", 1, rules) for number in range(5)]
    page = fleet_page(FleetReport("check", servers, 5))
    assert [group.title for group in page.groups] == ["s0"]
    assert page.left_out.startswith("The rules of the worst servers are shown, 2 of 10")
    table = page.tables[0]
    assert (len(table.rows), len(table.folded), table.fold_title) == (2, 3, "3 more")


@pytest.mark.parametrize("command", ["check", "upgrade", "verify"])
def test_an_empty_fleet_has_a_page(command: str) -> None:
    assert fleet_page(FleetReport(command, [], 4, is_interrupted=True)).badge.text == "Not decided"
