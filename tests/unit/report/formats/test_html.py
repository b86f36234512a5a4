"""HTML page of a report."""

from __future__ import annotations

from html.parser import HTMLParser

from tests.unit.report.reports import report

from whimbrel.report.formats.html import render

VOID = {"meta", "br"}


class Balance(HTMLParser):
    """Parser that records open elements, references to other documents, and all text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_it_is_whole_and_needs_nothing_else() -> None:
    page = Balance()
    page.feed(render(report()))
    assert not page.open
    assert not page.links
    assert "SSLv2 is gone & <over>" in page.text
    assert "1 file without any finding." in page.text
    assert "url(" not in render(report())
