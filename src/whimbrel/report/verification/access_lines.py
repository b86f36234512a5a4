"""Who gains or loses access, as text: both answers, the request, the client and the line that decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from whimbrel.base.terminal_text import columns_of, padded, shown
from whimbrel.report.decisions import access_counts
from whimbrel.upgrade.model import AccessDifference, Risk

MAX_ROWS: Final = 4
"""Differences that the text has, which the last screen shows whole; HTML has all."""
MAX_CELL: Final = 110
"""Characters of a request."""
MAX_CLIENTS: Final = 110
"""Characters of a client, or of a set of them."""
TITLE: Final = "who gains or loses access"
INDENT: Final = "    "
MAX_COLUMNS: Final = 80
"""Columns of a terminal that wraps no row."""
WORDS: Final = {Risk.OPENS: "gains", Risk.CLOSES: "loses", Risk.CHANGES: "other answer"}
"""What happens to the client."""


def access_lines(differences: Sequence[AccessDifference]) -> Iterator[str]:
    """Yield what each of *differences* changes, for which request and client, and the line that decides;
    equal ones once, nothing for none.
    """
    found = list(dict.fromkeys(map(_texts, differences)))
    if not found:
        return
    yield f"{TITLE}: {access_counts(differences)}"
    width = max(columns_of(word) for word, *_ in found[:MAX_ROWS])
    for word, change, request, *details in found[:MAX_ROWS]:
        row = f"{INDENT}{padded(word, width)}  {change}  {request}"
        below = " " * (len(INDENT) + width + 2)
        if columns_of(row) > MAX_COLUMNS:
            row = f"{INDENT}{padded(word, width)}  {change}"
            details = [request, *details]
        yield row
        yield from (f"{below}{text}" for text in details if text)
    if len(found) > MAX_ROWS:
        yield f"{INDENT}and {len(found) - MAX_ROWS:,} more (--format html shows them)"


def _texts(one: AccessDifference) -> tuple[str, ...]:
    """Return what happens, both answers, the request, the client, and the place of the line or ""."""
    before, after = one.words
    place = f"{one.place.path}:{one.place.line}" if one.place is not None else ""
    client = shown(one.client, MAX_CLIENTS)
    return WORDS[one.risk], f"{before} -> {after}", shown(one.request, MAX_CELL), client, shown(place)
