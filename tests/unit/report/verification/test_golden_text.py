"""The words of a verification at a terminal: each kind of difference, what was not decided, the verdict."""

from __future__ import annotations

import pytest
from tests.unit.report.verification.results import not_loaded, result

from whimbrel.report.verification.text import render
from whimbrel.verify.verification import VerifyResult

GOLDEN = """\
1. access control: 7 differences, opens access
    GET http://a.test/in/ from 192.0.2.1 as bob
        status: 2.2 403, 2.4 200
    no file of the configuration has this user at present
    lines of 2.2 that decide
        /old.conf:3: Deny from all
    lines of 2.4 that decide
        /new.conf:4: Require all granted
2. responses: 1 difference, changes answers
    GET http://a.test/a from 192.0.2.1
        content-type: 2.2 text/html, 2.4 none
        vary: 2.2 none, 2.4 x
    lines of 2.2
        /old.conf:9: DefaultType text/html
    the versions differ in what these lines do
3. responses: 2 differences, closes access
    GET http://a.test/b from 192.0.2.1
        status: 2.2 200, 2.4 403
    a reason
4. real server: 1 difference, changes answers
    GET http://a.test/c from 192.0.2.1
        status: Whimbrel 200, the real server 404
who gains or loses access (examples)
           client            request                before   after
    gains  192.0.2.1 as bob  GET http://a.test/in/  403      granted
    loses  192.0.2.1         GET http://a.test/b    granted  403
not decided: too large
not decided: no user
    at GET http://a.test/d from 192.0.2.1
2.2 and 2.4: different
  1 chain of sections compared exactly, 1234 requests: 4 causes of 11 differences, 2 not decided
  stopped after 20 seconds
"""


def test_the_page() -> None:
    assert render(result()) == GOLDEN


def test_a_side_that_does_not_load() -> None:
    assert render(not_loaded()).splitlines()[:4] == [
        "2.4 does not load:",
        "    AH00526: Syntax error",
        "    Invalid command 'X'",
        "2.2 and 2.4: does not load",
    ]


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 chains of sections compared exactly, 0 requests: 0 causes of 0 differences, 0 not decided"),
        (1, "1 chain of sections compared exactly, 1 request: 0 causes of 0 differences, 0 not decided"),
        (2, "2 chains of sections compared exactly, 2 requests: 0 causes of 0 differences, 0 not decided"),
    ],
)
def test_a_verification_without_differences(count: int, words: str) -> None:
    lines = render(VerifyResult(("a", "b"), chains=count, probes=count)).splitlines()
    assert lines[:2] == ["a and b: same", f"  {words}"]


def test_styles_are_for_terminals_alone() -> None:
    assert "\x1b[" in render(result(), colored=True) and "\x1b[" not in render(result())
