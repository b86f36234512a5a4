"""The counts of a report."""

from __future__ import annotations

from tests.unit.report.reports import report

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.report.formats.github import summary
from whimbrel.report.model import Report, ReportEntry, groups, new_lines, sorted_entries, title_of
from whimbrel.upgrade.model import Risk


def test_a_note_is_no_finding() -> None:
    assert [entry.rule for entry in report().findings] == ["C42", "READ"]


def test_counts() -> None:
    shown = report()
    assert shown.by_risk() == {Risk.BREAKS: 1, Risk.CHANGES: 1, Risk.COSMETIC: 1}
    assert list(shown.by_risk()) == [Risk.BREAKS, Risk.CHANGES, Risk.COSMETIC]
    assert shown.by_rule() == {"C42": 1, "C52": 1, "READ": 1}
    assert summary(shown)[0] == "40 lines in 3 files: 2 findings, 1 note"
    known = "not known: 1 place among the findings"
    assert known in summary(shown)


def test_reports_are_joined_without_doubles() -> None:
    whole = report()
    whole.add(report())
    assert (len(whole.files), len(whole.entries)) == (3, 3)
    empty = Report()
    empty.add(report())
    assert title_of(empty, "C42") == "SSLv2 is gone"
    assert title_of(empty, "READ") == "What could not be read"


def test_order() -> None:
    assert [entry.line for entry in sorted_entries(report().entries)] == [0, 3, 9]


def test_long_lines_of_an_edit_are_shortened() -> None:
    entry = ReportEntry(
        "C17", "a", 1, "x", new=("Require not ip " + "10.0.0.0/8 " * 1000, "Require all denied")
    )
    first, second = new_lines(entry)
    assert len(first) < 450 and first.endswith("(11015 characters)")
    assert second.strip() == "Require all denied"


def htaccess_entry(risk: Risk, path: str = "htdocs/a/.htaccess") -> ReportEntry:
    return ReportEntry("C17", path, 1, "Order", risk=risk, in_htaccess=True)


def test_a_htaccess_file_stops_requests_and_not_the_start() -> None:
    assert htaccess_entry(Risk.BREAKS).effect == "500 for each request below htdocs/a"
    assert htaccess_entry(Risk.BREAKS, ".htaccess").effect == "500 for each request below its directory"
    assert htaccess_entry(Risk.OPENS).effect == "opens access"
    unknown = replace(htaccess_entry(Risk.BREAKS), unless="mod_a is loaded")
    assert unknown.effect == "500 for each request below htdocs/a unless mod_a is loaded"
    shown = Report(
        entries=[htaccess_entry(Risk.BREAKS), ReportEntry("C42", "a.conf", 1, "x", "", Risk.BREAKS)]
    )
    assert shown.by_risk() == {Risk.BREAKS: 2}
    assert [effect_class.name for effect_class in shown.by_effect()] == ["breaks start-up", "500 per request"]
    assert [group[0].rule for group in groups(shown.entries)] == ["C42", "C17"]
    assert "  500 per request: 1" in summary(shown)


def test_what_could_not_be_read_is_a_class_of_its_own() -> None:
    """Behind what changes answers, whatever risk it may have: nobody knows its effect."""
    unread = ReportEntry("READ", "a.conf", 1, "a NUL byte")
    shown = Report(entries=[unread, ReportEntry("C09", "a.conf", 2, "x")])
    assert [one.name for one in shown.by_effect()] == ["changes answers", "could not be read"]
    assert [group[0].rule for group in groups(shown.entries)] == ["C09", "READ"]
    assert unread.effect == "could not be read"
