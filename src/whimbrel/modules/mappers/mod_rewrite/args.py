"""The arguments of RewriteRule and RewriteCond, which follow word rules of their own.

Blanks outside quotes end an argument unless a backslash stands before them (it stays); a quote counts only at an argument's beginning and lasts
until the next one, whatever stands before that.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import strip

_WORD: Final = compile(r"(?:\\[ \t]|[^ \t])*")


class Line(NamedTuple):
    """The three arguments of a line; *flags* is "" where there are none."""

    first: str
    second: str
    flags: str


def split_line(text: str) -> Line | None:
    """The arguments of *text*, None where there are fewer than two; what follows the third is ignored."""
    one, rest = _argument(text)
    if not rest.strip(" \t"):
        return None
    two, rest = _argument(rest)
    return Line(one, two, _argument(rest)[0])


def _argument(text: str) -> tuple[str, str]:
    text = text.lstrip(" \t")
    if text[:1] in ('"', "'") and text:
        quoted, _, rest = text[1:].partition(text[0])
        return quoted, rest
    found = _WORD.match(text)
    return (found[0], text[found.end() :]) if found else ("", text)


def split_flags(text: str) -> list[tuple[str, str]] | None:
    """The flags between the brackets as (name, value); None where a bracket is missing."""
    if len(text) < 2 or text[0] != "[" or text[-1] != "]":
        return None
    found = []
    for part in text[1:-1].split(","):
        name, _, value = strip(part).partition("=")
        found.append((name, value))
    return found
