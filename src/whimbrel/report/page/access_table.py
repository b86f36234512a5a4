"""Access that differs: who, for which request, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from whimbrel.report.page.model import KEYS, Cell, ReportTable
from whimbrel.report.page.texts import MAX_CODE, number, page_text
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.model import AccessDifference, Risk

MAX_ROWS: Final = 500
GAINS: Final = {Risk.OPENS: "gains access", Risk.CLOSES: "loses access", Risk.CHANGES: "another answer"}
"""What happens to the client."""


def access_table(
    differences: Sequence[AccessDifference],
    directory: str = "",
    places: Mapping[tuple[str, int], str] | None = None,
    note: str = "",
) -> tuple[ReportTable, ...]:
    """Return the table of *differences*, none for none.

    *places* are anchors of findings, by file and line.
    """
    rows = tuple(_row(one, directory, places or {}) for one in differences[:MAX_ROWS])
    if not rows:
        return ()
    more = len(differences) - len(rows)
    note = " ".join(filter(None, (note, f"{number(more)} more are not shown." if more else "")))
    columns = ("Access", "Client", "Request", "Before", "After", "Line")
    return (ReportTable("Who gains or loses access", columns, rows, "access", note),)


def _row(one: AccessDifference, directory: str, places: Mapping[tuple[str, int], str]) -> tuple[Cell, ...]:
    place = ""
    anchor = ""
    if one.place is not None:
        path = display_path(one.place.path, directory)
        place = f"{path}:{one.place.line}" if one.place.line else path
        anchor = places.get((path, one.place.line), "")
    return (
        Cell(GAINS[one.risk], "chip", KEYS[one.risk]),
        Cell(page_text(one.client)),
        Cell(page_text(one.request, MAX_CODE), "code"),
        Cell(one.words[0], "number"),
        Cell(one.words[1], "number"),
        Cell(page_text(place, MAX_CODE), "code" if place else "text", href=anchor),
    )
