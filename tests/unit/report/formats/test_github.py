"""GitHub workflow commands; escapes as in the documentation of the toolkit."""

from __future__ import annotations

from tests.unit.report.reports import report

from whimbrel.report.formats.github import render


def test_annotations() -> None:
    lines = render(report()).splitlines()
    assert (
        lines[0]
        == "::error file=conf/httpd.conf,line=3,title=C42 SSLv2 is gone::SSLv2 is gone & <over>: take it away"
    )
    assert lines[1].startswith("::notice file=conf/httpd.conf,line=9,")
    assert (
        lines[2] == "::warning file=conf/a%2Cb.conf,title=READ What could not be read::a NUL byte: "
        "100%25%0Aof it: look"
    )
