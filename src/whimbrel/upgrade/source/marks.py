"""Marks in comments that exempt a line from rules, and the comments with marks above a line."""

from __future__ import annotations

import re
from typing import Final

_MARK: Final = re.compile(rb"\bwhimbrel:[ \t]*ignore(?![\w-])")
_RULES: Final = re.compile(rb"[ \t]*\[([ \t,]*\w+(?:[ \t,]+\w+)*[ \t,]*)\]")
# a list that is not closed or empty, or a rule outside of brackets: its author did not mean all rules
_FAULTY: Final = re.compile(rb"[ \t]*[\[({:=]|[ \t]+[A-Za-z]\d\d\b")

_REQUEST: Final = re.compile(rb"[ \t]*\[[ \t]*DIFF[ \t]+([A-Z]+ https?://.*\S)[ \t]*\]", re.IGNORECASE)
OF_REQUEST: Final = "2.4 answers otherwise: "
"""Begin of the message of a finding that a comment makes which names a request; what it names follows."""


def marks_in(line: bytes) -> list[frozenset[str]]:
    """Return the rules that each mark in the comment of *line* names; an empty set means all.

    A mark with a faulty list of rules is none: it exempts nothing.
    """
    _text, sign, comment = line.partition(b"#")
    found = []
    for mark in _MARK.finditer(comment) if sign else ():
        rules = _RULES.match(comment, mark.end())
        if rules is not None:
            found.append(frozenset(rules[1].decode("latin-1").upper().replace(",", " ").split()))
        elif _FAULTY.match(comment, mark.end()) is None:
            found.append(frozenset())
    return found


def requests_in(data: bytes) -> list[tuple[int, str]]:
    """Return the requests that comments of *data* name, each with the number of its line:
    ``# whimbrel: ignore[DIFF GET http://a/b: status 403 -> 404]``. Such a mark exempts no line.
    """
    found = []
    for number, line in enumerate(data.split(b"\n"), 1) if b"whimbrel:" in data else ():
        comment = line.lstrip(b" \t")
        mark = _MARK.search(comment) if comment.startswith(b"#") else None
        named = _REQUEST.match(comment, mark.end()) if mark is not None else None
        if named is not None:
            found.append((number, named[1].decode("latin-1")))
    return found


def comments_above(data: bytes, start: int) -> list[tuple[int, int]]:
    """Return the ranges of the comment lines directly above position *start*, which begins a line; the lowest
    one first.

    A line below a backslash at the end continues that line: it is no comment.
    """
    found = []
    while start and data[start - 1 : start] == b"\n":
        line = data.rfind(b"\n", 0, start - 1) + 1
        is_continued = data[max(0, line - 3) : line].endswith((b"\\\n", b"\\\r\n"))
        if is_continued or not data[line:start].lstrip(b" \t").startswith(b"#"):
            break
        found.append((line, start))
        start = line
    return found


def without_marks_above(data: bytes, start: int) -> tuple[int, bytes]:
    """Return where the removal of the line at *start* begins, and the comments that stay of those above it.

    The comments with marks go with their line, as they would exempt the next one.
    """
    above = comments_above(data, start)
    marked = [at for at, end in above if marks_in(data[at:end])]
    if not marked:
        return start, b""
    others = [data[at:end] for at, end in reversed(above) if at >= marked[-1] and at not in marked]
    return marked[-1], b"".join(others)
