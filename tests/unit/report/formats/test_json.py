"""JSON of a report."""

from __future__ import annotations

import json

from tests.unit.report.reports import report

from whimbrel.report.formats.json import render


def test_json() -> None:
    found = json.loads(render(report()))
    assert found["files"] == ["conf/httpd.conf", "conf/a,b.conf", "clean.conf"]
    assert [one["line"] for one in found["findings"]] == [3, 9, 0]
    assert found["findings"][2]["included_from"] == "conf/httpd.conf:7"
