"""Logical lines: what httpd hands from a file to its parser, one at a time.

A physical line ends in a newline (a carriage return before it is white space).  A backslash right before the
line end joins the next line; white space around the joined text is dropped; a NUL hides the rest of its
physical line.  A byte order mark is text like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, repeat

from whimbrel.base.latin1 import to_text as as_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.static_typing import Final
from whimbrel.syntax.words import WHITE, getword

MAX_SECTIONS: Final = 1000
"""Sections within each other. httpd has no bound but its stack: it crashes at about 10,000."""
TOO_DEEP: Final = f"Sections are nested more than {MAX_SECTIONS} levels deep"


@dataclass(frozen=True, slots=True)
class LineRules:
    """Line rules of one version of httpd.

    Attributes:
        doubled_ends: a backslash after another one does not join, and one of the two is dropped.
        limit: maximum bytes of a logical line, line end included; the excess is the next line, with the
            next number; None: no limit.
        drops_unfinished: a line that ends with the file after a joining backslash is not read.
    """

    doubled_ends: bool
    limit: int | None
    drops_unfinished: bool


V22_LINES = LineRules(doubled_ends=True, limit=8191, drops_unfinished=True)
V24_LINES = LineRules(doubled_ends=False, limit=None, drops_unfinished=False)


@dataclass(slots=True)
class LogicalLine:
    """Bytes *start* to *end* (line ends included); *number* is what httpd reports: that of the last physical
    line read, counted from 1.

    *text* is joined and trimmed, one character per byte; it is empty for a blank line.
    """

    start: int
    end: int
    number: int
    text: str


Scanned = tuple[int, int, int, str]  # the fields of LogicalLine

_UNUSUAL = compile(r"\\\r?\n|\0")
_NAME = compile(
    r"""(</[^ \t\n\v\f\r\\]*|[^ \t\n\v\f\r"'\\>][^ \t\n\v\f\r\\>]*)(?:[ \t\n\v\f\r]+|\Z)"""
)  # names that need no care


def logical_lines(data: bytes, rules: LineRules = V24_LINES) -> Iterator[LogicalLine]:
    """Return the lines of a file in httpd's order, blank lines and comments included."""
    for start, end, number, text in scan(as_text(data), rules):
        yield LogicalLine(start, end, number, text)


def scan(source: str, rules: LineRules) -> Iterator[Scanned]:
    """Yield the same lines as tuples, which is faster.  Bytes after the last line belong to no line."""
    size = len(source)
    limit = rules.limit or len(source)
    position = 0
    number = 0
    unusual = _next_unusual(source, 0)
    find = source.find
    while position < size:
        cut = position + limit + 1  # without line ends each piece would be searched up to the end
        end = find("\n", position, cut) + 1 or min(cut, size)
        if end > unusual or end - position > limit:
            end, number, text = _slow_line(source, position, number, rules)
            if number == 0:
                return
            if end > unusual:
                unusual = _next_unusual(source, end)
        else:
            number += 1
            text = source[position:end]
        yield position, end, number, text.strip(WHITE)
        position = end


def plain(source: str) -> bool:
    """Return True if every physical line of *source* is a logical line: none is joined, none is cut."""
    return _UNUSUAL.search(source) is None


def numbered(source: str) -> Iterator[Scanned]:
    """Yield the lines of a `plain` source with numbers and texts; the positions are 0."""
    return zip(repeat(0), repeat(0), count(1), [line.strip(WHITE) for line in source.split("\n")])


def _next_unusual(source: str, at: int) -> int:
    match = _UNUSUAL.search(source, at)
    return match.start() if match else len(source)


def origin(source: str, start: int, rules: LineRules) -> tuple[str, list[int]]:
    """Return the text of the logical line that begins at *start*, the position of each character in *source*,
    and the end of the last one.
    """
    places: list[int] = []
    end, _, joined = _slow_line(source, start, 0, rules, places)
    indent = len(joined) - len(joined.lstrip(WHITE))
    text = joined.strip(WHITE)
    places = places[indent : indent + len(text)]
    behind = places[-1] + 1 if places else end
    dropped = rules.doubled_ends and text.endswith("\\") and source[behind:end].startswith("\\")
    return text, [*places, behind + dropped]


def _slow_line(
    source: str, position: int, number: int, rules: LineRules, places: list[int] | None = None
) -> tuple[int, int, str]:
    """Read one line with all rules; return its end, its number (0: no line before the end of the file) and
    its text.

    *places*, if given, receives the position of every character.
    """
    pieces: list[str] = []
    length = 0
    while True:
        number += 1
        if position >= len(source):
            return position, 0 if rules.drops_unfinished or not length else number, "".join(pieces)
        cut = len(source) if rules.limit is None else min(len(source), position + rules.limit - length)
        end = source.find("\n", position, cut) + 1 or cut
        chunk = source[position:end].partition("\0")[0]
        if places is not None:
            places[length:] = range(position, position + len(chunk))
        position = end
        before = pieces.pop() if pieces and not rules.doubled_ends and not _without_line_end(chunk) else ""
        piece, goes_on = _joins(before + chunk, rules)
        length += len(piece) - len(before)
        pieces += [piece] if piece else []
        if not goes_on:
            return position, number, "".join(pieces)


def _joins(chunk: str, rules: LineRules) -> tuple[str, bool]:
    """Return the rest of a physical line, and True if a backslash joins the next one to it.

    2.4 examines all text collected so far: on an empty line a backslash left over before it joins again.
    """
    body = _without_line_end(chunk)
    if body == chunk or not body.endswith("\\"):
        return chunk, False
    return body[:-1], not (rules.doubled_ends and body.endswith("\\\\"))


def _without_line_end(text: str) -> str:
    return text[:-1].removesuffix("\r") if text.endswith("\n") else text


def split_name(text: str) -> tuple[str, str]:
    """Return a line's first word and the rest, as httpd looks them up.

    Words are httpd's, so the name may be quoted (``""`` gives an empty name, a line that httpd ignores). One
    ``>`` at the end of the name is removed, and a section without arguments (``<Else>``) gets ``>`` as
    arguments; a name whose second character is a slash (closing tags) is unchanged.
    """
    plain = _NAME.match(text)
    if plain:
        word = plain[1]
        args = text[plain.end() :]
    else:
        word, rest = getword(text)
        args = text[rest:]
    if word[1:2] == "/":
        return word, args
    name = word.removesuffix(">")
    return name, args or (">" if name[:1] == "<" else "")
