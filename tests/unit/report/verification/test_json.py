"""The JSON of a verification has the keys that docs/verify.md names, and the values of the verification."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.unit.report.verification.results import not_loaded, result

from whimbrel.report.verification.json import render

SECTION = (
    (Path(__file__).parents[4] / "docs/verify.md").read_text().partition("## JSON")[2].partition("\n\n")[2]
)
DOCUMENTED = SECTION.partition("SARIF")[0]


def found() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(render(result()))
    return loaded


def keys(value: object) -> set[str]:
    """Return the keys of an object and of what is in it."""
    if isinstance(value, dict):
        return set(value).union(*map(keys, value.values()))
    return set().union(*map(keys, value)) if isinstance(value, list) else set()


def test_the_keys_of_the_document() -> None:
    top = found()
    assert list(top) == [
        *(
            "verdict",
            "ready",
            "old",
            "new",
            "errors",
            "no_start",
            "chains",
            "requests",
            "limits",
            "knowledge",
        ),
        *("differences", "not_decided"),
    ]
    assert list(top["differences"][0]) == [
        *("kind", "risk", "count", "assumed", "reason", "rule", "decided", "cause", "lines", "examples")
    ]
    assert list(top["differences"][0]["examples"][0]) == [
        "request",
        "client",
        "clients",
        "parts",
        "old",
        "new",
    ]
    names = {*top, *top["differences"][0], *top["differences"][0]["examples"][0], "file", "line", "text"}
    assert not [name for name in names if f"`{name}`" not in DOCUMENTED]


def test_values() -> None:
    top = found()
    assert (top["verdict"], top["old"], top["new"]) == ("different", "2.2", "2.4")
    assert (top["chains"], top["requests"], top["limits"]) == (1, 1234, ["stopped after 20 seconds"])
    kinds = [(one["kind"], one["risk"], one["count"]) for one in top["differences"]]
    assert kinds == [
        ("access", "opens access", 7),
        ("response", "changes answers", 1),
        ("response", "closes access", 2),
        ("httpd", "changes answers", 1),
    ]
    assert [one["assumed"] for one in top["differences"]] == [True, False, False, False]
    assert [one["reason"] for one in top["differences"]] == ["", "", "a reason", ""]
    line = {"file": "/old.conf", "line": 3, "text": "Deny from all", "verdict": "denied"}
    assert top["differences"][0]["cause"]["old"] == [line] == top["differences"][0]["lines"]["old"]
    example = top["differences"][0]["examples"][0]
    assert example["parts"] == [{"name": "status", "old": "403", "new": "200"}]
    assert (example["old"]["status"], example["new"]["status"], example["client"]) == (403, 200, "user bob")
    assert [one["reason"] for one in top["not_decided"]] == ["too large", "no user"]
    assert [bool(one["request"]) for one in top["not_decided"]] == [False, True]


def test_a_request() -> None:
    request = found()["differences"][0]["examples"][0]["request"]
    assert request == {
        "method": "GET",
        "target": "/in/",
        "host": "a.test",
        "address": "127.0.0.1",
        "port": 80,
        "client": "192.0.2.1",
        "client_host": None,
        "user": "bob",
        "fields": [],
        "environment": [],
        "tls": False,
    }


def test_a_side_that_does_not_load() -> None:
    top = json.loads(render(not_loaded()))
    assert top["verdict"] == "does not load"
    assert top["errors"] == {"2.2": [], "2.4": ["AH00526: Syntax error\nInvalid command 'X'"]}
