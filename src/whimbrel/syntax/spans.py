"""Where the parts of a line stand in the source, for edits that change a name or a word and leave the rest
alone.

A backslash at a line end lets a word, even a name, consist of pieces; a range then reaches from the first
byte to the last one.
"""

from __future__ import annotations

from whimbrel.base.latin1 import to_text as as_text
from whimbrel.syntax.lines import origin
from whimbrel.syntax.tree import Close, Directive, Document, Section
from whimbrel.syntax.words import WHITE, getword

Range = tuple[int, int]  # start and end in bytes, as an Edit takes them
Named = Directive | Section | Close


def name_range(document: Document, node: Named) -> Range:
    """Return the first word of the line as it is written: its quotes and the ``<`` of a section included,
    ``>`` where it is glued (``<Else>``).
    """
    text, places = _line(document, node)
    end = len(text[: getword(text)[1]].rstrip(WHITE))
    return _between(places, 0, end)


def args_range(document: Document, node: Named, start: int = 0, end: int | None = None) -> Range:
    """Characters *start* to *end* of the node's args (all of them unless given).

    Where the line has no arguments this is the empty range after the name, so that an insertion there needs a
    blank of its own.
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
