"""The arguments of RewriteRule and RewriteCond, which follow word rules of their own.

Blanks outside quotes end an argument, a backslash hides the character after it and stays, a quote counts only at an argument's beginning.
"""

from __future__ import annotations

from typing import NamedTuple


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
        end = _end(text, 1, text[0])
        return text[1:end], text[end + 1:]
    end = _end(text, 0, " \t")
    return text[:end], text[end:]


def _end(text: str, at: int, ends: str) -> int:
    """Where the argument that begins at *at* ends: at one of *ends* that no backslash hides."""
    size = len(text)
    while at < size and text[at] not in ends:
        at += 2 if text[at] == "\\" and at + 1 < size else 1
    return at


def split_flags(text: str) -> list[tuple[str, str]] | None:
    """The flags between the brackets as (name, value); None where a bracket is missing."""
    if len(text) < 2 or text[0] != "[" or text[-1] != "]":
        return None
    found = []
    for part in text[1:-1].split(","):
        name, _, value = part.strip().partition("=")
        found.append((name, value))
    return found
