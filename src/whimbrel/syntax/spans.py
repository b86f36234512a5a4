"""Positions of a line's parts in the source, for edits that change a name or an argument alone.

A backslash at a line end may divide an argument, or even a name; a range then extends from the first byte to
the last.
"""

from __future__ import annotations

from whimbrel.base.latin1 import to_text as as_text
from whimbrel.syntax.lines import origin
from whimbrel.syntax.tree import Close, Directive, Document, Section
from whimbrel.syntax.words import WHITE, getword

Range = tuple[int, int]  # start and end in bytes, as an Edit takes them
Named = Directive | Section | Close


def name_range(document: Document, node: Named) -> Range:
    """Return the range of the first word as written: with quotes and the ``<`` of a section, and with ``>``
    if it is adjacent (``<Else>``).
    """
    text, places = _line(document, node)
    end = len(text[: getword(text)[1]].rstrip(WHITE))
    return _between(places, 0, end)


def args_range(document: Document, node: Named, start: int = 0, end: int | None = None) -> Range:
    """Return the range of characters *start* to *end* of the node's args (by default all).

    Without arguments this is the empty range after the name, so an insertion there needs a leading blank.
    """
    text, places = _line(document, node)
    first = getword(text)[1]
    return _between(places, first + start, len(text) if end is None else first + end)


def _line(document: Document, node: Named) -> tuple[str, list[int]]:
    last = node.body if isinstance(node, Section) else node.end
    text, places = origin(as_text(document.bytes[node.start : last]), 0, document.rules)
    return text, [place + node.start for place in places]


def _between(places: list[int], start: int, end: int) -> Range:
    """From the byte of the first character to the end of the last; an empty stretch lies before its
    character.
    """
    if start == end:
        return places[start], places[start]
    return places[start], places[end] if end == len(places) - 1 else places[end - 1] + 1
