"""The model of a page: verdict, counts, tables, charts, and findings by file. Its texts are `page_text`."""

from __future__ import annotations

from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.upgrade.model import Risk

KEYS: Final = {
    Risk.BREAKS: "breaks",
    Risk.OPENS: "opens",
    Risk.CLOSES: "closes",
    Risk.CHANGES: "changes",
    Risk.COSMETIC: "cosmetic",
}
"""The names of the risks in the style sheet (data-risk)."""
FAILS: Final = "fails"
"""The same for findings that stop requests below a .htaccess file, not the start."""
UNDECIDED: Final = "undecided"
REVIEW: Final = "review"
"""The card of findings that a person must look at, of whatever risk."""
SAME: Final = "same"
ANSWER: Final = "answer"
"""The place of the sentences below the verdict."""
Pieces = tuple[tuple[str, bool], ...]
"""The text of a line in pieces; True marks the words that a finding is about."""


@dataclass(frozen=True, slots=True)
class Badge:
    """The verdict in a word or two, with the key of its color."""

    text: str
    risk: str


@dataclass(frozen=True, slots=True)
class Card:
    """A count; one of a risk filters the findings, one with *href* leads to its table."""

    name: str
    count: int
    risk: str
    href: str = ""


@dataclass(frozen=True, slots=True)
class CodeLine:
    """A line of a file; *sign* is "-", "+", "" or "@" for the name of a file; *number* 0 if none is known."""

    pieces: Pieces
    number: int = 0
    sign: str = ""


@dataclass(frozen=True, slots=True)
class CodeSide:
    """One side of a comparison: its name and its lines."""

    name: str
    lines: tuple[CodeLine, ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    Attributes:
        kind: text, code, number, sentence (a text that needs width), or chip (a word of risk).
        risk: the key of the color of a chip.
        href: a place in the page; `page`: the address of another one, which comes first.
        value: what a sorted column compares; "" for the text.
    """

    text: str
    kind: str = "text"
    risk: str = ""
    href: str = ""
    value: str = ""
    page: str = ""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table with a heading; *note* stands below the heading, *folded* rows behind a fold."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    anchor: str = ""
    note: str = ""
    folded: tuple[tuple[Cell, ...], ...] = ()
    fold_title: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A row of a chart: a label with two counts, and their shares of the largest in percent."""

    label: str
    counts: tuple[int, int]
    shares: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a time line, in units of its drawing: 100 are the height."""

    label: str
    title: str
    at: int
    heights: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Chart:
    """Pairs of counts as bars, or along the time as columns.

    Attributes:
        names: those of both counts.
        column: what the labels of the bars are.
        highest: the largest count of the columns, whose height is all of the drawing.
    """

    title: str
    names: tuple[str, str]
    bars: tuple[Bar, ...] = ()
    columns: tuple[Column, ...] = ()
    column: str = ""
    highest: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class ShownFinding:
    """One finding.

    Attributes:
        rule, name: number and short name of its rule.
        place: the file and line, or what stands in their place.
        risk, word: key and word of the risk.
        marks: what is left to do.
        notes: further sentences with their labels.
        code: the lines that it is about, where nothing replaces them.
        sides: old and new lines.
        table: answers that differ.
        command: what a copy button puts into the clipboard.
        also: key and word of a second risk, of a finding that opens for one client and closes for another.
        is_to_decide: a person must look at it; `is_note`: there is nothing to do.
    """

    anchor: str
    rule: str
    name: str
    place: str
    risk: str
    word: str
    message: str
    marks: tuple[str, ...] = ()
    notes: tuple[tuple[str, str], ...] = ()
    code: tuple[CodeLine, ...] = ()
    sides: tuple[CodeSide, ...] = ()
    table: ReportTable | None = None
    command: str = ""
    also: tuple[str, str] | None = None
    is_to_decide: bool = False
    is_note: bool = False


@dataclass(frozen=True, slots=True)
class Hunk:
    """A part of the difference of a file, with its context: pairs of lines, None where a side has none, and
    the rules and reasons of the change.
    """

    pairs: tuple[tuple[CodeLine | None, CodeLine | None], ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """The findings of a file, with the difference of the whole file if one is known."""

    anchor: str
    title: str
    items: tuple[ShownFinding, ...] = ()
    hunks: tuple[Hunk, ...] = ()
    changed: str = ""


@dataclass(frozen=True, slots=True)
class ReportPage:
    """A report.

    Attributes:
        command: the command that made it (``check``).
        title: its heading; *subject* what was read.
        sentence: the result beside the badge; *answer* what follows from it; *facts* more of it.
        tables: those before the findings: access first, then what is not known.
        after: those behind the findings.
        groups_title: the heading of the findings.
        nothing: the sentence in the place of findings if there are none.
        left_out: a sentence about findings that the page does not show.
        questions: what a person must decide: rule, place, question and answers of each.
        first: what to do before the next command, "" for nothing.
        next_command: what to run after reading.
        has_rules: the documents of the rules stand at the end.
        noun: the word for a finding; *group* that for what the findings stand in.
    """

    command: str
    title: str
    badge: Badge
    sentence: str
    subject: str = ""
    facts: tuple[str, ...] = ()
    cards: tuple[Card, ...] = ()
    tables: tuple[ReportTable, ...] = ()
    charts: tuple[Chart, ...] = ()
    groups: tuple[FindingGroup, ...] = ()
    after: tuple[ReportTable, ...] = ()
    groups_title: str = "Findings"
    nothing: str = ""
    left_out: str = ""
    first: str = ""
    next_command: str = ""
    has_rules: bool = False
    noun: str = "finding"
    group: str = "File"
    answer: tuple[str, ...] = ()
    questions: tuple[tuple[str, str, str, str], ...] = ()
