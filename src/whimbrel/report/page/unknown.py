"""What is not known, as a table beside the verdict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from whimbrel.report.knowledge import of_no_answer, ordered, place_of
from whimbrel.report.page.model import ANSWER, KEYS, UNDECIDED, Card, Cell, ReportTable
from whimbrel.report.page.texts import number, page_text
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem
from whimbrel.upgrade.knowledge.start_stops import StartStops
from whimbrel.upgrade.model import Risk

ANCHOR: Final = "not-known"
_COLUMNS: Final = ("Why", "Place", "What", "Consequence")
"""The columns; one without any text is left out."""
MAX_ROWS: Final = 1000
"""Rows of items that matter, and as many of the others."""


def start_cards(stops: StartStops) -> tuple[Card, ...]:
    """Return the count of the lines that end the start on this machine, with what they lack named in the
    answer; none for none. Files of modules do not count: most machines have none of the server's.
    """
    return (Card("stops here", len(stops.lines), KEYS[Risk.BREAKS], ANSWER),) if stops.lines else ()


def unknown_card(scope: KnowledgeScope, further: int = 0, word: str = "not decided") -> Card:
    """Return the count of what was not decided; *further* items stand elsewhere in the table."""
    count = len(scope.deciding) + further
    return Card(word, count, UNDECIDED, ANCHOR if count else "")


def unknown_tables(
    scope: KnowledgeScope, directory: str = "", further: Iterable[tuple[str, str]] = ()
) -> tuple[ReportTable, ...]:
    """Return the table of what is not known; none if all is known.

    *further* items are reason and request of what a comparison did not decide.
    """
    items = ordered(scope)
    deciding = [_row(item, directory) for item in items if item.matters]
    others = [_row(item, directory) for item in items if not item.matters]
    compared = [
        (
            Cell("not decided", "chip", UNDECIDED),
            Cell(page_text(at), "code" if at else "text"),
            Cell(page_text(what)),
            Cell("the verdict does not cover it"),
        )
        for what, at in further
    ]
    rows = [*compared, *deciding]
    if not rows and not others:
        return ()
    more = max(len(rows) - MAX_ROWS, 0) + max(len(others) - MAX_ROWS, 0)
    them = "it" if len(rows) == 1 else "them"
    counts = [f"{number(len(compared))} not decided"] if compared else []
    counts += [f"{number(len(deciding))} that may matter"] if deciding else []
    in_all = f"{number(len(rows))} in all: " if len(counts) > 1 else ""
    note = f"{in_all}{', '.join(counts)}: the verdict does not cover {them}."
    if not rows:
        note = "Nothing that may matter."
    filled = [at for at in range(len(_COLUMNS)) if any(row[at].text for row in (*rows, *others))]
    return (
        ReportTable(
            "Not known",
            tuple(_COLUMNS[at] for at in filled),
            tuple(tuple(row[at] for at in filled) for row in rows[:MAX_ROWS]),
            ANCHOR,
            note + (f" JSON has {number(more)} more." if more else ""),
            tuple(tuple(row[at] for at in filled) for row in others[:MAX_ROWS]),
            of_no_answer(items),
        ),
    )


def _row(item: UnknownItem, directory: str) -> tuple[Cell, Cell, Cell, Cell]:
    what = "; ".join(filter(None, (item.subject, item.advice)))
    consequence = item.consequence or ("not decided" if item.matters else "no answer depends on it")
    why = Cell(item.kind.value, "chip", UNDECIDED) if item.matters else Cell(item.kind.value)
    place = page_text(place_of(item, directory))
    return why, Cell(place, "code" if place else "text"), Cell(page_text(what)), Cell(page_text(consequence))
