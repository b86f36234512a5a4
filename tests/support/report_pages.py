"""Pages of reports for tests: one whose every text is markup that would run, one of many findings."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from html.parser import HTMLParser
from typing import Final

from whimbrel.report.model import Report, ReportEntry
from whimbrel.report.page.model import (
    Badge,
    Bar,
    Card,
    Cell,
    Chart,
    CodeLine,
    CodeSide,
    Column,
    FindingGroup,
    Hunk,
    ReportPage,
    ReportTable,
    ShownFinding,
)
from whimbrel.upgrade.model import Risk
from whimbrel.upgrade.rules import rule_names

MARKUP: Final = (
    "</script></style></title></svg><script>document.title='ran'</script>"
    "<img src=x onerror=\"document.title='ran'\"><svg onload=\"document.title='ran'\"></svg>"
    "<!-- ' onfocus=\"document.title='ran'\" autofocus x=\" {{ 7*7 }} &amp; ]]>"
)
"""Text that is markup in each place where it could become some: text, attributes, JSON, SVG, style."""
VOID: Final = {"meta", "input", "path", "circle", "rect"}


def hostile_page(items: int = 3) -> ReportPage:
    """Return a page of which each text that is not a key or an anchor is MARKUP."""
    cell = Cell(MARKUP), Cell(MARKUP, "code"), Cell(MARKUP, "number"), Cell(MARKUP, "chip", "opens")
    linked = Cell(MARKUP, "code", href="item-0"), Cell(MARKUP, value=MARKUP), Cell(MARKUP), Cell(MARKUP)
    table = ReportTable(MARKUP, (MARKUP,) * 4, (cell, linked), "table", MARKUP, (cell, cell), MARKUP)
    code = CodeLine(((MARKUP, False), (MARKUP, True)), 7)
    sides = CodeSide(MARKUP, (code, CodeLine(((MARKUP, True),), 8, "-"))), CodeSide(MARKUP, ())
    findings = tuple(
        ShownFinding(
            f"item-{at}",
            "C17" if at else MARKUP,
            MARKUP,
            MARKUP,
            "opens",
            MARKUP,
            MARKUP,
            (MARKUP,),
            ((MARKUP, MARKUP),),
            (code,),
            sides,
            table,
            MARKUP,
            ("closes", MARKUP),
        )
        for at in range(items)
    )
    after = ReportTable(MARKUP, (MARKUP,) * 4, (cell, linked), "after", MARKUP)
    hunk = Hunk(((code, None), (None, code)))
    bar = Bar(MARKUP, (3, 4), (75.0, 100.0))
    columns = tuple(Column(MARKUP, MARKUP, at * 10, (50.0, 20.0)) for at in range(2))
    return ReportPage(
        MARKUP,
        MARKUP,
        Badge(MARKUP, "opens"),
        MARKUP,
        MARKUP,
        (MARKUP,),
        (Card(MARKUP, 3, "opens"), Card(MARKUP, 2, "undecided", "table"), Card(MARKUP, 0, "closes")),
        (table,),
        (Chart(MARKUP, (MARKUP, MARKUP), (bar,), columns, MARKUP, 9, MARKUP),),
        (
            FindingGroup("g1", MARKUP, findings[:-1], (hunk, hunk), MARKUP),
            FindingGroup("g2", MARKUP + "2", findings[-1:]),
        ),
        (after,),
        MARKUP,
        MARKUP,
        MARKUP,
        MARKUP,
        True,
        MARKUP,
    )


def texts_of(value: object) -> int:
    """Count the texts of a page that are MARKUP."""
    if isinstance(value, str):
        return value.startswith(MARKUP)
    if isinstance(value, tuple):
        return sum(map(texts_of, value))
    if is_dataclass(value):
        return sum(texts_of(getattr(value, field.name)) for field in fields(value))
    return 0


def large_report(count: int, files: int = 200) -> Report:
    """Return a report of *count* findings with lines and changes, of all risks."""
    risks = list(Risk)
    entries = []
    for at in range(count):
        line = 10 + at // files * 12
        removed = ("Order allow,deny", "Allow from 10.0.0.0/8", f"Deny from 10.{at % 250}.0.0/16")
        added = (
            "<RequireAll>",
            "Require ip 10.0.0.0/8",
            f"Require not ip 10.{at % 250}.0.0/16",
            "</RequireAll>",
        )
        entries.append(
            ReportEntry(
                ("C17", "C08", "C13", "C42", "C14")[at % 5],
                f"conf/vhosts/{at % files:04}.conf",
                line,
                "2.4 has no Order, Allow or Deny without mod_access_compat",
                "nobody gains or loses access",
                risks[at % 5],
                is_fixable=True,
                via="conf/httpd.conf:95",
                text=f'<Directory "/srv/{at}">',
                old=tuple((line + below, text) for below, text in enumerate(removed, 1)),
                new=added,
            )
        )
    names = [f"conf/vhosts/{at:04}.conf" for at in range(files)]
    return Report(names, entries, count * 12, names=rule_names())


class Outline(HTMLParser):
    """Reads a page: elements with their attributes, and all text outside of style and script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text = ""
        self.raw: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in ("style", "script"):
            kind = "json" if self.elements[-1][1].get("type") else self.open[-1]
            self.raw[kind] = self.raw.get(kind, "") + data
        else:
            self.text += data

    def named(self, *tags: str) -> list[dict[str, str]]:
        """Return the attributes of all elements of these names."""
        return [attributes for tag, attributes in self.elements if tag in tags]
