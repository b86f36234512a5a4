"""The lines and the sections of one file, for the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.studio.documents import text_of
from whimbrel.syntax.tree import Node, Section, parse

MAX_LINES: Final = 2000
"""Lines that are sent at once."""
MAX_LINE: Final = 4000
"""Characters of a line that are sent; a longer one is not edited here."""
MAX_SECTIONS: Final = 5000
"""Sections of a file that are sent."""
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
Json = dict[str, object]


def lines_of(data: bytes, first: int) -> Json:
    """Return MAX_LINES lines of a file from *first* on, counted from 1."""
    if b"\0" in data:
        return {"is_binary": True, "count": 0, "first": 1, "lines": [], "size": len(data)}
    lines = text_of(data).split("\n")
    if lines[-1] == "" and len(lines) > 1:
        del lines[-1]
    first = max(1, min(first, len(lines)))
    chosen = [line.rstrip("\r") for line in lines[first - 1 : first - 1 + MAX_LINES]]
    return {
        "is_binary": False,
        "count": len(lines),
        "first": first,
        "lines": [line[:MAX_LINE] for line in chosen],
        "locked": [
            first + at for at, line in enumerate(chosen) if len(line) > MAX_LINE or _CONTROL.search(line)
        ],
        "size": len(data),
    }


def sections_of(data: bytes) -> list[Json]:
    """Return the sections of a file as a tree: name, arguments and line of each."""
    if b"\0" in data:
        return []
    left = [MAX_SECTIONS]
    return list(_sections(parse(data).children, left))


def _sections(nodes: list[Node], left: list[int]) -> Iterator[Json]:
    for node in nodes:
        if isinstance(node, Section) and left[0] > 0:
            left[0] -= 1
            text = f"<{node.name} {node.args}".rstrip().rstrip(">").rstrip()
            yield {
                "text": text[:200] + ">",
                "line": node.number,
                "sections": list(_sections(node.children, left)),
            }
