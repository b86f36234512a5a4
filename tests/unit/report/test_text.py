"""The face for people."""

from __future__ import annotations

from tests.unit.report.reports import report

from whimbrel.report.text import render


def test_every_finding_has_its_place() -> None:
    lines = render(report()).splitlines()
    assert lines[0] == "conf/httpd.conf:3: C42 [breaks start-up, mended by upgrade] SSLv2 is gone & <over>"
    assert lines[1] == "    remedy: take it away"
    assert "conf/a,b.conf: READ [could not be read, needs review] a NUL byte: 100%" in lines
    assert "    included from conf/httpd.conf:7" in lines


def test_colours_only_on_request() -> None:
    assert "\x1b[" not in render(report())
    assert "\x1b[31;1mbreaks start-up\x1b[0m" in render(report(), colored=True)
