"""META tags in the text of a document, found in time that is linear in the text.

A search for ``<meta[^>]*name`` tries each ``<meta`` up to the end of the text. Here one tag ends at the next
``>``, and nothing within it is tried again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from whimbrel.base.static_typing import Any


def meta_tags(data: bytes, find_start: Callable[[bytes, int], Any]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each tag; *find_start* searches ``<meta`` from a position on."""
    at = 0
    while (match := find_start(data, at)) is not None:
        end = data.find(b">", match.end()) + 1
        if not end:
            return
        yield match.start(), end
        at = end
