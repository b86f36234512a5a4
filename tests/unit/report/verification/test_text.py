"""The words of a verification at a terminal: each kind of difference, what was not decided with what helps,
the verdict."""

from __future__ import annotations

import pytest
from tests.unit.report.verification.results import not_loaded
from tests.unit.report.verification.results import result as golden_result

from whimbrel.report.verification.text import render
from whimbrel.verify.answer import Answer
from whimbrel.verify.causes import Cause
from whimbrel.verify.coverage.coverage import TIME_ENDED, UNREACHED
from whimbrel.verify.difference import Difference, FieldDifference
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import DifferenceGroup, Example, NotDecided, VerifyResult

GOLDEN = """\
2.2 and 2.4: different
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
not decided: too large
not decided: no user
    at GET http://a.test/d from 192.0.2.1
1 chain of sections compared exactly, 1,234 requests: 4 causes of 11 differences, \
2 lines or chains not decided
stopped after 20 seconds
who gains or loses access: 1 example gains it, 1 loses it
    gains  403 -> granted  GET http://a.test/in/
           192.0.2.1 as bob
           /new.conf:4
    loses  granted -> 403  GET http://a.test/b
           192.0.2.1
"""


def test_lines_without_a_request_stand_under_their_reason() -> None:
    result = VerifyResult()
    result.not_decided = [
        NotDecided(f"old: /a.conf:1: Order x: {UNREACHED}"),
        NotDecided("access under old: AuthType is an expression", Probe()),
        NotDecided(f"new: /a.conf:1: Require x: {UNREACHED}"),
        NotDecided(f"new: /a.conf:9: Alias /: /b: {TIME_ENDED}"),
    ]
    assert render(result).splitlines()[2:-1] == [
        "not decided: access under old: AuthType is an expression",
        "    at GET http://127.0.0.1/ from 192.0.2.1",
        f"not decided: 2 lines: {UNREACHED} (whimbrel explain URL --diff CONF compares a URL that you know)",
        "    old: /a.conf:1: Order x",
        "    new: /a.conf:1: Require x",
        f"not decided: 1 line: {TIME_ENDED} (--limit asks more requests)",
        "    new: /a.conf:9: Alias /: /b",
    ]


def test_an_example_of_access_names_all_of_its_clients() -> None:
    example = Example(
        Probe(client="10.1.0.0"),
        Difference((FieldDifference("status", "403", "200"),)),
        Answer(403),
        Answer(200),
        access=(403, 200),
        clients="10.1.0.0/16",
    )
    result = VerifyResult(groups=[DifferenceGroup("access", Cause((), ()), [example], 1)])
    text = render(result)
    assert "        clients: 10.1.0.0/16\n" in text
    lines = text.splitlines()
    (row,) = [number for number, line in enumerate(lines) if line.strip().startswith("gains")]
    assert lines[row + 1].strip() == "10.1.0.0/16"


def test_the_page() -> None:
    assert render(golden_result()) == GOLDEN


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
        (0, "0 chains of sections compared exactly, 0 requests"),
        (1, "1 chain of sections compared exactly, 1 request"),
        (2, "2 chains of sections compared exactly, 2 requests"),
    ],
)
def test_a_verification_without_differences(count: int, words: str) -> None:
    lines = render(VerifyResult(("a", "b"), chains=count, probes=count)).splitlines()
    none = "0 causes of 0 differences, 0 lines or chains not decided"
    assert lines[:2] == ["a and b: same", f"  {words}: {none}"]


def test_styles_are_for_terminals_alone() -> None:
    assert "\x1b[" in render(golden_result(), colored=True) and "\x1b[" not in render(golden_result())
