"""Entries as findings of a page: the worst are shown, lines are numbered and marked, bytes are bounded."""

from __future__ import annotations

import pytest
from tests.support.report_pages import large_report

from whimbrel.report.model import Report, ReportEntry
from whimbrel.report.page.check_page import check_page
from whimbrel.report.page.items import MAX_FINDINGS, groups, item, left_out
from whimbrel.report.page.model import CodeLine
from whimbrel.report.page.texts import Anchors
from whimbrel.report.page.writing import write
from whimbrel.upgrade.model import Risk


def test_the_worst_findings_are_shown_and_the_others_counted() -> None:
    entries = large_report(100_000).entries
    kept, sentence = left_out(entries)
    assert len(kept) == MAX_FINDINGS == 5000
    assert {entry.risk for entry in kept} == {Risk.BREAKS}
    assert sentence == (
        "The first 5,000 of 100,000 findings are shown, the worst first; --format json has all."
    )
    assert left_out(entries[:MAX_FINDINGS]) == (entries[:MAX_FINDINGS], "")


@pytest.mark.parametrize("character", ["&", '"', "<", "\xff", "\x01", "\\", "a"])
def test_the_bytes_of_a_page_are_bounded_for_every_character(character: str) -> None:
    """Texts take the bytes that are allowed at most, whatever they hold; markup takes 100 for each line."""
    text = character * 1500
    lines = tuple((at, text) for at in range(1, 60))
    entries = [
        ReportEntry("C17", "a", at, text, text, evidence=text, text=text, old=lines, new=(text,) * 60)
        for at in range(1, 100)
    ]
    bound = 500_000
    kept, sentence = left_out(entries, max_bytes=bound)
    assert 0 < len(kept) < len(entries) and sentence
    page = len(write(check_page(Report(["a"], kept))).encode())
    empty = len(write(check_page(Report(["a"], []))).encode())
    assert bound / 12 < page - empty < bound + 10_000 * len(kept)


def test_findings_stand_by_file_in_the_order_of_lines() -> None:
    entries = [ReportEntry("C17", path, line, "m") for path, line in (("b", 9), ("a", 3), ("b", 2))]
    found = groups(entries, Anchors(), {"C17": "order-allow-deny"})
    assert [(group.title, [one.place for one in group.items]) for group in found.groups] == [
        ("a", ["line 3"]),
        ("b", ["line 2", "line 9"]),
    ]
    assert found.anchors[entries[0]] == "C17-b-9"
    assert found.groups[0].items[0].command == "whimbrel explain C17"


def test_old_lines_are_numbered_and_new_ones_where_that_is_known() -> None:
    entry = ReportEntry(
        "C17",
        "a",
        10,
        "m",
        text="<Directory />",
        old=((11, "Order deny,allow"), (12, "Deny from all")),
        new=("Require all denied",),
    )
    one = item(entry, Anchors(), {}, {"Require all denied": [7, 11, 40]})
    old, new = one.sides
    assert [(line.number, line.sign) for line in old.lines] == [(10, ""), (11, "-"), (12, "-")]
    assert [(line.number, line.sign) for line in new.lines] == [(0, ""), (11, "+")]
    assert old.lines[1].pieces == (("Order", True), (" deny,allow", False))
    assert new.lines[1].pieces == (("Require", True), (" all ", False), ("denied", True))


def test_a_line_that_nothing_replaces_is_a_frame() -> None:
    entry = ReportEntry("READ", "a", 6, "ServerRoot ${ROOT} is no directory", text='ServerRoot "${ROOT}"')
    one = item(entry, Anchors(), {}, {})
    assert one.code == (CodeLine((("ServerRoot ", False), ('"${ROOT}"', True)), 6),)
    assert (one.sides, one.word, one.command) == ((), "could not be read", "")


def test_long_texts_are_cut_and_counted() -> None:
    lines = tuple((at, "x") for at in range(1, 101))
    entry = ReportEntry("C17", "a", 1, "m", old=lines, new=("y",) * 100, evidence="e\n" * 50)
    one = item(entry, Anchors(), {}, {})
    assert [side.lines[-1].pieces[0][0] for side in one.sides] == ["and 60 more lines"] * 2
    assert one.notes[-1] == ("", "and 38 more lines (JSON has all)")


def test_files_that_end_the_start_come_first() -> None:
    """A .htaccess file, which 2.4 answers with 500, is read after the start."""
    of_requests = ReportEntry("C17", "/srv/.htaccess", 1, "m", "", Risk.BREAKS, in_htaccess=True)
    found = [of_requests, ReportEntry("C15", "apache2.conf", 3, "m", "", Risk.BREAKS)]
    assert [one.title for one in groups(found, Anchors(), {}).groups] == ["apache2.conf", "/srv/.htaccess"]
