"""The command ``s`` on one pattern space."""

from __future__ import annotations

from typing import Any

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.modules.filters.mod_sed.regexp import BasicExpression
from whimbrel.modules.filters.mod_sed.script import ALL_MATCHES, Replacement


@dataclass(slots=True)
class Edited:
    """The text after ``s``, and the number of replacements."""

    text: str
    count: int


def substituted(
    expression: BasicExpression, replacement: Replacement, count: int, text: str, room: int
) -> Edited | None:
    """Return *text* with the match number *count* replaced: 0 the first, `ALL_MATCHES` all.

    A repeated character at the place of the last match must occur there, so that no match of nothing follows
    another match. None if the text exceeds *room*, or if the matches of nothing would not end.
    """
    match: Any = expression.search(text)
    out: list[str] = []
    size = 0
    at = 0
    shift = 0
    number = 0
    replaced = 0
    while match is not None:
        number += 1
        start = match.start() + shift
        end = match.end() + shift
        if count in (0, ALL_MATCHES) or number == count:
            new = expanded(replacement, match)
            out += (text[at:start], new)
            size += start - at + len(new)
            replaced += 1
        else:
            out.append(text[at:end])
            size += end - at
        if size > room:
            return None
        if not count or end >= len(text):
            at = end
            break
        if number > 1 and start == end == at and not shift:
            return None
        at = end
        following = expression.search_rest(text[at:])
        if following is None:
            break
        match, offset = following
        shift = at + offset
        if match.end() + shift == at:
            return None
    out.append(text[at:])
    return Edited("".join(out), replaced)


def expanded(replacement: Replacement, match: Any) -> str:
    """Return *replacement* with the groups of *match*."""
    return "".join(part if isinstance(part, str) else match.group(part) or "" for part in replacement)
