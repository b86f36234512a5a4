"""The frame of an edit reads as the file will: new lines stand in their places, between unchanged ones."""

from __future__ import annotations

from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.edits.frame_lines import MAX_SPAN, FrameLine, frame_lines, lines_needed
from whimbrel.upgrade.model import Finding, TextFix

PATH = "/a.conf"


def finding(line: int, *fixes: tuple[tuple[int, int], tuple[int, int], str]) -> Finding:
    edits = tuple(TextFix(PATH, *fix) for fix in fixes)
    return Finding("C17", SourceLocation(PATH, line), "x", old=((line, "x"),), fixes=edits)


def drawn(found: Finding, text: str) -> list[str]:
    """Return sign, number and text of each line of the frame."""
    texts = {(PATH, at): line for at, line in enumerate(text.split("\n"), 1)}
    assert all((PATH, number) in texts for number in lines_needed(found))
    return [f"{line.sign or ' '}{line.number or '':>2} {line.text}" for line in frame_lines(found, texts)]


def test_unchanged_lines_between_two_parts() -> None:
    text = "<Directory />\n  A\n  B\n  C\n  Order a\n  <LimitExcept GET>\n    Deny b\n  </LimitExcept>\n"
    found = finding(1, ((5, 1), (6, 1), ""), ((7, 1), (8, 1), "    Require all denied\n"))
    assert drawn(found, text) == [
        "  1 <Directory />",
        ".   3 unchanged lines",
        "- 5   Order a",
        "  6   <LimitExcept GET>",
        "- 7     Deny b",
        "+       Require all denied",
    ]


def test_of_a_long_gap_the_sections_around_a_change_are_shown() -> None:
    """Those that begin and end in the gap have nothing to do with it."""
    text = "  Order a\n  <Limit GET>\n  Q\n  </Limit>\n  R\n  <Limit PUT>\n  Satisfy Any"
    found = finding(1, ((1, 1), (2, 1), "  Require b\n"), ((7, 1), (8, 1), ""))
    assert drawn(found, text) == [
        "- 1 Order a",
        "+   Require b",
        ".   4 unchanged lines",
        "  6 <Limit PUT>",
        "- 7 Satisfy Any",
    ]


def test_a_line_far_above_names_its_place() -> None:
    """A LoadModule line that goes with a change stands before a line with a number."""
    text = "\n".join(("Listen 80", *(f"<If {at}>\n</If>" for at in range(20)), "DefaultType text/plain"))
    load = "LoadModule headers_module modules/mod_headers.so\n"
    found = finding(42, ((1, 1), (1, 1), load), ((42, 1), (42, 23), "Header set X"))
    assert drawn(found, text) == [
        f"+   {load.rstrip()}",
        "  1 Listen 80",
        ".   40 unchanged lines",
        "-42 DefaultType text/plain",
        "+   Header set X",
    ]


def test_blank_lines_in_a_short_gap_stay() -> None:
    """No number is left out without a count."""
    found = finding(1, ((4, 1), (5, 1), ""))
    assert drawn(found, "<Directory />\nDav On\n\nOrder a\n") == [
        "  1 <Directory />",
        "  2 Dav On",
        "  3 ",
        "- 4 Order a",
    ]


def test_a_line_that_is_wrapped_stays() -> None:
    text = "Require group a\r\n<Limit PUT>\r\nDeny b\r\n</Limit>\r"
    new = "<RequireAll>\r\n    Require group a\r\n</RequireAll>\r\n"
    found = finding(1, ((1, 1), (2, 1), new), ((2, 1), (5, 1), ""))
    assert drawn(found, text) == [
        "+   <RequireAll>",
        "  1     Require group a",
        "- 2 <Limit PUT>",
        "- 3 Deny b",
        "- 4 </Limit>",
        "+   </RequireAll>",
    ]


def test_a_part_of_a_line() -> None:
    assert drawn(finding(1, ((1, 1), (1, 11), "MaxRequestWorkers")), "MaxClients 150") == [
        "- 1 MaxClients 150",
        "+   MaxRequestWorkers 150",
    ]


def test_no_frame_without_ranges_or_lines() -> None:
    assert frame_lines(finding(1), {(PATH, 1): "a"}) == ()
    assert frame_lines(finding(1, ((1, 1), (3, 1), "")), {(PATH, 1): "a"}) == ()
    far = finding(1, ((1, 1), (2, 1), ""), ((MAX_SPAN + 5, 1), (MAX_SPAN + 6, 1), ""))
    assert not list(lines_needed(far)) and frame_lines(far, {}) == ()


def test_a_section_far_above_is_a_count() -> None:
    texts = {(PATH, 1): "<Directory />", (PATH, 9000): "Order a"}
    found = finding(1, ((9000, 1), (9001, 1), ""))
    assert len(list(lines_needed(found))) == 1
    assert frame_lines(found, texts) == (
        FrameLine("", 1, "<Directory />"),
        FrameLine(".", 0, "8,998 unchanged lines"),
        FrameLine("-", 9000, "Order a"),
    )
