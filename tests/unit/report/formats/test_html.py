"""HTML page of a report."""

from __future__ import annotations

from tests.support.report_pages import Outline
from tests.unit.report.reports import report

from whimbrel.report.formats.html import render


def test_the_facts_of_a_report_are_in_the_page() -> None:
    page = Outline(render(report()))
    assert not page.open
    for text in (
        *(
            "SSLv2 is gone & <over>",
            "take it away",
            "SSLProtocol SSLv2",
            "fixed by upgrade",
            "breaks start-up",
        ),
        *("a NUL byte: 100%\\x0aof it", "could not be read", "needs review", "conf/httpd.conf:7"),
        *("40 lines read", "1 file without any finding", "1 not decided", "conf/a,b.conf"),
    ):
        assert text in page.text, text
    assert "2 findings in 2 of 3 files; 1 fixed by upgrade; 1 not read; 1 not decided" in page.text
