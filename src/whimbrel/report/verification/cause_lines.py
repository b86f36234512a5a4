"""The lines that a difference comes from, as text: those that decide first, each once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.base.terminal_text import shown
from whimbrel.verify.answer import DecidingLine

DECIDES: Final = "decides"
"""The role of a line that the result of a request rests on."""
MAX_LINE: Final = 1200
"""Characters of a place with its line."""


def cause_lines(
    names: tuple[str, str], sides: tuple[tuple[DecidingLine, ...], tuple[DecidingLine, ...]]
) -> Iterator[str]:
    """Yield the lines of both sides with the name of their side; those of both once.

    On a side where some lines decide, the others are those that apply beside them.
    """
    old, new = (tuple(_ranked(lines)) for lines in sides)
    if [str(line) for line in old] == [str(line) for line in new]:
        yield from _of_side("both", old)
        return
    yield from _of_side(names[0], old)
    yield from _of_side(names[1], new)


def _ranked(lines: tuple[DecidingLine, ...]) -> list[DecidingLine]:
    """Return the lines that decide as they came, then the others by place; each once."""
    found: dict[str, DecidingLine] = {}
    for line in lines:
        known = found.get(str(line))
        if known is None or line.role == DECIDES:
            found[str(line)] = line
    return sorted(found.values(), key=_rank)


def _rank(line: DecidingLine) -> tuple[bool, str, int]:
    return (False, "", 0) if line.role == DECIDES else (True, line.path, line.line)


def _of_side(name: str, lines: tuple[DecidingLine, ...]) -> Iterator[str]:
    has_deciding = any(line.role == DECIDES for line in lines)
    titles = {True: f"{name} decides", False: f"{name}, beside it"}
    for line in lines:
        title = titles[line.role == DECIDES] if has_deciding else name
        yield f"{title}: {shown(str(line), MAX_LINE)}"
