"""Text of a report."""

from __future__ import annotations

from tests.unit.report.reports import report

from whimbrel.report.formats.text import render
from whimbrel.report.model import Report, ReportEntry
from whimbrel.upgrade.model import Risk


def test_every_finding_has_its_place() -> None:
    lines = render(report()).splitlines()
    assert lines[0] == "conf/httpd.conf:3: C42 [breaks start-up, fixed by upgrade] SSLv2 is gone & <over>"
    assert lines[1] == "    advice: take it away"
    assert "conf/a,b.conf: READ [could not be read, needs review] a NUL byte: 100%\\x0aof it" in lines
    assert "    included from conf/httpd.conf:7" in lines


def test_colours_only_on_request() -> None:
    assert "\x1b[" not in render(report())
    assert "\x1b[31;1mbreaks start-up\x1b[0m" in render(report(), colored=True)


def entry(line: int, **fields: object) -> ReportEntry:
    return ReportEntry(
        **{
            "rule": "C17",
            "path": "a.conf",
            "line": line,
            "message": "Order is Require",
            "risk": Risk.BREAKS,
            "is_fixable": True,
            "new": ("Require all granted",),
            **fields,
        }
    )  # type: ignore[arg-type]


def test_equal_findings_stand_once_with_all_places_and_the_new_text() -> None:
    entries = [entry(1), entry(5), entry(2, path="b.conf"), entry(9, new=("Require all denied",))]
    assert render(Report(["a.conf", "b.conf"], entries)).splitlines()[:7] == [
        "C17 in 3 places [breaks start-up, fixed by upgrade] Order is Require",
        "    new: Require all granted",
        "    at a.conf:1, 5",
        "    at b.conf:2",
        "a.conf:9: C17 [breaks start-up, fixed by upgrade] Order is Require",
        "    new: Require all denied",
        "0 lines in 2 files: 4 findings, 0 notes",
    ]


def test_the_worst_comes_first() -> None:
    entries = [entry(1, risk=Risk.COSMETIC), entry(2, risk=Risk.OPENS), entry(3, risk=Risk.BREAKS)]
    lines = [line for line in render(Report(["a.conf"], entries)).splitlines() if line.startswith("a.conf:")]
    assert [line.partition(" [")[2].partition(",")[0] for line in lines] == [
        "breaks start-up",
        "opens access",
        "cosmetic",
    ]


def test_one_statement_for_what_is_changed_and_must_be_checked() -> None:
    text = render(
        Report(
            ["a.conf"],
            [entry(1, needs_review=True, decision="whether it is wanted")],
            inputs=["input: fragment: a.conf"],
        )
    )
    assert text.startswith(
        "input: fragment: a.conf\na.conf:1: C17 [breaks start-up, changed by upgrade, needs review]"
    )
    assert "    decide: whether it is wanted" in text
    assert "fixed by upgrade" not in text
    assert "1 decision to take" in text


def test_many_places_are_shortened() -> None:
    text = render(Report(["a.conf"], [entry(line) for line in range(1, 301)]))
    assert "C17 in 300 places" in text and "and 276 more" in text


def test_a_name_with_a_line_end_begins_no_line() -> None:
    whole = Report(["x"], [entry(1, path="x\n0 findings.conf", message="a\nb")])
    assert "x\\x0a0 findings.conf:1: C17" in render(whole)
    assert not [line for line in render(whole).splitlines() if line.startswith(("0 findings.conf", "b"))]
