"""JSON and SARIF.  The required properties are those of the schema of SARIF 2.1.0 (OASIS): version, runs, tool.driver.name, message, uri."""

from __future__ import annotations

import json
from urllib.parse import unquote

from tests.unit.report.reports import report

from whimbrel.report.formats.sarif import as_json, sarif, uri


def test_json() -> None:
    found = json.loads(as_json(report()))
    assert found["files"] == ["conf/httpd.conf", "conf/a,b.conf", "clean.conf"]
    assert [one["line"] for one in found["findings"]] == [3, 9, 0]
    assert found["findings"][2]["included_from"] == "conf/httpd.conf:7"


def test_sarif_has_what_the_schema_requires() -> None:
    log = json.loads(sarif(report()))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "whimbrel"
    assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert result["message"]["text"]
        for location in result["locations"]:
            physical = location["physicalLocation"]
            assert physical["artifactLocation"]["uri"]
            assert physical.get("region", {"startLine": 1})["startLine"] >= 1


def test_levels() -> None:
    assert [one["level"] for one in json.loads(sarif(report()))["runs"][0]["results"]] == [
        "error",
        "note",
        "warning",
    ]


def test_paths_become_references() -> None:
    assert uri("conf/a b.conf") == "conf/a%20b.conf"
    assert uri("/etc/h\xe9") == "file:///etc/h%E9"
    assert unquote(uri("a%b"), encoding="latin-1") == "a%b"
