"""The text of a verification: what was not decided, with what helps."""

from __future__ import annotations

from whimbrel.report.verification.text import render
from whimbrel.verify.answer import Answer
from whimbrel.verify.causes import Cause
from whimbrel.verify.coverage.coverage import TIME_ENDED, UNREACHED
from whimbrel.verify.difference import Difference, FieldDifference
from whimbrel.verify.probe import Probe
from whimbrel.verify.verification import DifferenceGroup, Example, NotDecided, VerifyResult


def test_lines_without_a_request_stand_under_their_reason() -> None:
    result = VerifyResult()
    result.not_decided = [
        NotDecided(f"old: /a.conf:1: Order x: {UNREACHED}"),
        NotDecided("access under old: AuthType is an expression", Probe()),
        NotDecided(f"new: /a.conf:1: Require x: {UNREACHED}"),
        NotDecided(f"new: /a.conf:9: Alias /: /b: {TIME_ENDED}"),
    ]
    assert render(result).splitlines()[:-2] == [
        "not decided: access under old: AuthType is an expression",
        "    at GET http://127.0.0.1:80/ from 192.0.2.1",
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
    (row,) = [line.split() for line in text.splitlines() if line.strip().startswith("gains")]
    assert row[1] == "10.1.0.0/16"
