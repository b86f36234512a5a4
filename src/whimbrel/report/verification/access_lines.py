"""Who gains or loses access, as a table of text: client, request, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from whimbrel.base.terminal_text import columns_of, padded, shown
from whimbrel.upgrade.model import AccessDifference, Risk

MAX_ROWS: Final = 12
"""Rows of the text; HTML has all."""
MAX_CELL: Final = 60
"""Characters of a request."""
MAX_CLIENTS: Final = 110
"""Characters of a client, or of a set of them."""
TITLE: Final = "who gains or loses access (examples)"
_COLUMNS: Final = ("", "client", "request", "before", "after")
WORDS: Final = {Risk.OPENS: "gains", Risk.CLOSES: "loses", Risk.CHANGES: "other answer"}
"""What happens to the client."""


def access_lines(differences: Sequence[AccessDifference]) -> Iterator[str]:
    """Yield the table of *differences*, equal rows once; nothing for none."""
    rows = list(dict.fromkeys(map(_row, differences)))
    if not rows:
        return
    yield TITLE
    cells = [_COLUMNS, *rows[:MAX_ROWS]]
    widths = [max(columns_of(row[column]) for row in cells) for column in range(len(_COLUMNS))]
    for row in cells:
        line = "  ".join(padded(text, width) for text, width in zip(row, widths, strict=True))
        yield f"    {line}".rstrip()
    if len(rows) > MAX_ROWS:
        yield f"    and {len(rows) - MAX_ROWS:,} more (--format html shows them)"


def _row(one: AccessDifference) -> tuple[str, ...]:
    return (
        WORDS[one.risk],
        shown(one.client, MAX_CLIENTS),
        shown(one.request, MAX_CELL),
        *one.words,
    )
