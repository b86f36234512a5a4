"""Arguments of RewriteRule and RewriteCond, which have their own tokenizer.

Blanks outside quotes end an argument unless a backslash precedes them (it stays). A quote counts only at the
beginning of an argument and extends to the next one, escaped or not.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import strip

_WORD: Final = compile(r"(?:\\[ \t]|[^ \t])*")


class Line(NamedTuple):
    """The three arguments of a line; *flags* is "" without any."""

    first: str
    second: str
    flags: str


def split_line(text: str) -> Line | None:
    """Split *text* into arguments; return None for fewer than two. Text after the third is ignored."""
    first, rest = _argument(text)
    if not rest.strip(" \t"):
        return None
    two, rest = _argument(rest)
    return Line(first, two, _argument(rest)[0])


def _argument(text: str) -> tuple[str, str]:
    text = text.lstrip(" \t")
    if text[:1] in ('"', "'") and text:
        quoted, _, rest = text[1:].partition(text[0])
        return quoted, rest
    match = _WORD.match(text)
    return (match[0], text[match.end() :]) if match else ("", text)


def split_flags(text: str) -> list[tuple[str, str]] | None:
    """Split the flags between the brackets into (name, value); return None if a bracket is missing."""
    if len(text) < 2 or text[0] != "[" or text[-1] != "]":
        return None
    flags = []
    for part in text[1:-1].split(","):
        name, _, value = strip(part).partition("=")
        flags.append((name, value))
    return flags
