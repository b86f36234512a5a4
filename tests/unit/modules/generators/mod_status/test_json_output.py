"""?json: the keys of ?auto, numbers as numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.modules.generators.mod_status.json_output import wanted

SHOWN = "<Location /server-status>\nSetHandler server-status\n</Location>\n"


@pytest.mark.parametrize(
    ("query", "want"),
    [
        (None, False),
        ("", False),
        ("json", True),
        ("refresh=3&json", True),
        ("json=1", True),
        ("notjson", False),
        ("jsonp", False),
        ("auto", False),
    ],
)
def test_the_parameter(query: str | None, want: bool) -> None:
    assert wanted(query) is want


@pytest.mark.parametrize("version", ["2.4", "2.2"])
def test_the_keys_are_those_of_auto(tmp_path: Path, version: str) -> None:
    serving = build_engine(tmp_path, SHOWN + "ExtendedStatus On\n", version=version)
    auto = [
        line.partition(":")[0]
        for line in fetch(serving, "/server-status?auto").body.splitlines()
        if ":" in line
    ]
    reply = fetch(serving, "/server-status?json")
    found = json.loads(reply.body)
    assert reply.get("Content-Type") == "application/json"
    assert set(found) == {*auto, "Workers", "Children"}
    assert isinstance(found["BusyWorkers"], int)
