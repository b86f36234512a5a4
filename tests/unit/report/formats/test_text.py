"""Text of a report."""

from __future__ import annotations

from tests.unit.report.reports import report

from whimbrel.report.formats.frames import FrameStyle
from whimbrel.report.formats.text import render
from whimbrel.report.model import Report, ReportEntry
from whimbrel.upgrade.model import Risk


def entry(line: int, **fields: object) -> ReportEntry:
    return ReportEntry(
        **{
            "rule": "C17",
            "path": "a.conf",
            "line": line,
            "message": "2.4 has no Order",
            "risk": Risk.BREAKS,
            "is_fixable": True,
            "text": "Order allow,deny",
            "new": ("Require all granted",),
            **fields,
        }
    )  # type: ignore[arg-type]


def test_every_finding_has_its_place_and_the_table_is_last() -> None:
    lines = render(report(), next_command="whimbrel upgrade x").splitlines()
    assert lines[:4] == [
        "conf/httpd.conf:3  C42  breaks start-up · fixed by upgrade",
        "    3  | SSLProtocol SSLv2",
        "       |             ^^^^^ SSLv2 is gone & <over>",
        "       = take it away",
    ]
    assert "conf/a,b.conf  READ  could not be read · needs review" in lines
    assert "       | a NUL byte: 100%\\x0aof it" in lines
    assert "       = included from conf/httpd.conf:7" in lines
    table = lines.index("3 files, 40 lines: 2 findings (1 fixed by upgrade, 1 not read), 1 note")
    assert lines[table + 1 : table + 5] == [
        "  breaks start-up     1   1 fixed by upgrade",
        "  could not be read   1   1 not read",
        "  cosmetic            1   nothing to do",
        "not known: 1 place among the findings",
    ]
    assert lines[-1] == "Next: whimbrel upgrade x"


def test_the_table_is_first_too_on_request() -> None:
    lines = render(report(), summary_first=True).splitlines()
    head = "3 files, 40 lines: 2 findings (1 fixed by upgrade, 1 not read), 1 note"
    assert head in lines[:4] and lines.count(head) == 2


def test_colors_only_on_request() -> None:
    assert "\x1b[" not in render(report())
    assert "\x1b[31;1mbreaks start-up\x1b[0m" in render(report(), FrameStyle(is_colored=True))


def test_equal_findings_stand_once_with_further_places() -> None:
    entries = [entry(1), entry(5), entry(2, path="b.conf"), entry(9, new=("Require all denied",))]
    lines = render(Report(["a.conf", "b.conf"], entries)).splitlines()
    assert lines[0] == "a.conf:1  C17  breaks start-up · changed by upgrade  in 3 places"
    assert lines[4] == "       = also a.conf:5  b.conf:2"
    assert lines[6] == "a.conf:9  C17  breaks start-up · changed by upgrade"
    assert "  breaks start-up   4   all changed by upgrade" in lines


def test_the_worst_comes_first() -> None:
    entries = [entry(1, risk=Risk.COSMETIC), entry(2, risk=Risk.OPENS), entry(3, risk=Risk.BREAKS)]
    lines = [line for line in render(Report(["a.conf"], entries)).splitlines() if line.startswith("a.conf:")]
    assert [line.split("  ")[2].partition(" · ")[0] for line in lines] == [
        "breaks start-up",
        "opens access",
        "cosmetic",
    ]


def test_reviews_and_decisions_stand_in_frame_and_table() -> None:
    decided = entry(1, needs_review=True, decision="Is it wanted?")
    text = render(Report(["a.conf"], [decided], inputs=["input: fragment: a.conf"]))
    assert text.startswith("input: fragment: a.conf\n\na.conf:1  C17  breaks start-up · changed by upgrade, ")
    assert "= to decide: Is it wanted?\n" in text and "fixed by upgrade" not in text
    question = (
        "to decide: 1 finding at 1 place\n  C17 order-allow-deny  a.conf:1  Is it wanted?\n      yes: up"
    )
    assert f"  breaks start-up   1   1 to decide\n{question}" in text


def test_decisions_have_their_places_and_the_next_command_is_one_line() -> None:
    decided = [entry(line, decision="Is it so?") for line in range(1, 7)]
    command = "whimbrel upgrade " + " ".join(f"-D NAME{number}" for number in range(30))
    text = render(Report(["a.conf"], decided), FrameStyle(width=60), next_command=command)
    table = " ".join(text.split())
    question = (
        "to decide: 6 findings at 6 places, 1 question C17 order-allow-deny a.conf:1 and 5 more Is it so?"
    )
    assert question in table
    assert text.splitlines()[-1] == f"Next: {command}"


def test_many_places_are_counted() -> None:
    text = render(Report(["a.conf"], [entry(line) for line in range(1, 1301)]))
    assert "  in 1,300 places\n" in text and "and 1,294 more (JSON names all)\n" in text
    assert len(text.splitlines()) == 10


def test_a_name_with_a_line_end_begins_no_line() -> None:
    lone = Report(["x"], [entry(1, path="x\n0 findings.conf", message="a\nb")])
    assert "x\\x0a0 findings.conf:1  C17" in render(lone)
    assert not [line for line in render(lone).splitlines() if line.startswith(("0 findings.conf", "b"))]


def test_files_that_no_include_reads_have_a_section_and_counts_of_their_own() -> None:
    lone = Report(
        ["a.conf", "lone.conf"],
        [entry(1), entry(2, path="lone.conf", is_lone=True), entry(3, path="lone.conf", is_lone=True)],
        7,
        lone={"lone.conf": 5},
    )
    lines = render(lone).splitlines()
    title = lines.index("Files that no Include reads: no answer of the server depends on them")
    assert [at for at, line in enumerate(lines) if line.startswith("a.conf:1")][0] < title
    assert lines[title + 2].startswith("lone.conf:2") and lines[title + 2].endswith("in 2 places")
    counted = "1 finding (1 changed by upgrade; upgrade compares answers and may ask more)"
    assert f"1 file, 7 lines: {counted}, 0 notes" in lines
    assert "  breaks start-up   1   1 changed by upgrade" in lines
    assert (
        "files that no Include reads, not counted above: 1 file, 5 lines: 2 findings "
        "(2 fixed by upgrade, 0 to review), 0 notes"
    ) in lines
