"""SARIF.  The schema of 2.1.0 (OASIS) requires version, runs, tool.driver.name, message and uri."""

from __future__ import annotations

import json
from urllib.parse import unquote

from tests.unit.report.reports import report

from whimbrel.report.formats.sarif import render, uri


def test_sarif_has_what_the_schema_requires() -> None:
    log = json.loads(render(report()))
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
    assert [one["level"] for one in json.loads(render(report()))["runs"][0]["results"]] == [
        "error",
        "note",
        "warning",
    ]


def test_paths_become_references() -> None:
    assert uri("conf/a b.conf") == "conf/a%20b.conf"
    assert uri("/etc/h\xe9") == "file:///etc/h%E9"
    assert unquote(uri("a%b"), encoding="latin-1") == "a%b"
