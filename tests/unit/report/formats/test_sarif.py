"""SARIF.  The schema of 2.1.0 (OASIS) requires version, runs, tool.driver.name, message and uri."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from tests.unit.report.reports import report
from typer.testing import CliRunner

from whimbrel import __version__
from whimbrel.base.product import REPOSITORY
from whimbrel.cli import check
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


def run_of(path: Path) -> dict[str, Any]:
    """Return the run of `whimbrel check --format sarif`."""
    result = CliRunner().invoke(check.app, [str(path), "--format", "sarif"])
    assert result.exit_code == 1, result.output
    (run,) = json.loads(result.stdout)["runs"]
    assert isinstance(run, dict)
    return run


def test_rules_have_their_texts_and_an_address(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text("MaxClients 5\nNameVirtualHost *:80\nRewriteLog logs/r\n")
    driver = run_of(path)["tool"]["driver"]
    assert driver["informationUri"] == REPOSITORY and driver["semanticVersion"] == __version__
    assert {"C08", "C14", "C39"} <= {rule["id"] for rule in driver["rules"]}
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"] and rule["fullDescription"]["text"]
        assert "## How to fix it" in rule["help"]["markdown"] and "```" not in rule["help"]["markdown"]
        name = rule["helpUri"].removeprefix(f"{REPOSITORY}/blob/v{__version__}/")
        assert (Path(__file__).parents[4] / name).is_file(), name


def test_a_fix_replaces_ranges_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "a.conf"
    path.write_text("# caf\u00e9\n  MaxClients 5\n")
    (result,) = [one for one in run_of(path)["results"] if one["ruleId"] == "C08"]
    (fix,) = result["fixes"]
    (change,) = fix["artifactChanges"]
    (replacement,) = change["replacements"]
    assert fix["description"]["text"] and change["artifactLocation"]["uri"].endswith("a.conf")
    region = replacement["deletedRegion"]
    assert (region["startLine"], region["endLine"]) == (2, 2)
    line = "  MaxClients 5"
    start, end = region["startColumn"] - 1, region["endColumn"] - 1
    new = line[:start] + replacement["insertedContent"]["text"] + line[end:]
    assert new == "  MaxRequestWorkers 5"


def test_an_entry_without_fixes_has_none() -> None:
    assert all("fixes" not in one for one in json.loads(render(report()))["runs"][0]["results"])


def test_the_repository_is_that_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[4] / "pyproject.toml").read_text())["project"]
    assert project["urls"]["Repository"] == REPOSITORY
