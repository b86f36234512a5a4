"""In every format a refused .htaccess file is 500 for requests, and its risk keeps its key."""

from __future__ import annotations

import json

import pytest

from whimbrel.report.formats.html import render as html
from whimbrel.report.formats.json import render as as_json
from whimbrel.report.formats.junit import render as junit
from whimbrel.report.formats.sarif import render as sarif
from whimbrel.report.formats.text import render as text
from whimbrel.report.model import Report, ReportEntry
from whimbrel.report.page.check_page import check_page
from whimbrel.upgrade.model import Risk

WORDS = "500 for each request below htdocs/a"
PATH = "htdocs/a/.htaccess"


@pytest.fixture
def report() -> Report:
    entry = ReportEntry("C17", PATH, 1, "Order is gone", risk=Risk.BREAKS, in_htaccess=True)
    return Report([PATH], [entry])


def test_text_and_its_table(report: Report) -> None:
    shown = text(report)
    assert f"{PATH}:1  C17  {WORDS}" in shown
    assert "  500 per request   1" in shown
    assert "breaks start-up" not in shown


def test_json_and_sarif_keep_the_risk(report: Report) -> None:
    found = json.loads(as_json(report))
    assert found["risks"] == {"breaks start-up": 1}
    assert (found["findings"][0]["risk"], found["findings"][0]["effect"]) == ("breaks start-up", WORDS)
    properties = json.loads(sarif(report))["runs"][0]["results"][0]["properties"]
    assert (properties["risk"], properties["effect"]) == ("breaks start-up", WORDS)


def test_pages(report: Report) -> None:
    assert WORDS in html(report)
    assert WORDS in junit(report)
    cards = {card.name: (card.count, card.risk) for card in check_page(report).cards}
    assert cards["breaks start-up"] == (0, "breaks")
    assert cards["500 per request"] == (1, "fails")
    assert "500 per request" not in {card.name for card in check_page(Report()).cards}
