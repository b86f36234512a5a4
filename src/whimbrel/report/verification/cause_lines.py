"""The lines that a difference comes from, as text: those that decide first, each once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.base.terminal_text import shown
from whimbrel.verify.answer import DECIDES, DecidingLine
from whimbrel.verify.verification import DifferenceGroup

MAX_LINE: Final = 1200
"""Characters of a place with its line."""
MAX_OTHERS: Final = 4
"""Lines that do not decide; JSON has all."""
_PLAIN: Final = re.compile(r"(?i)<|auth(type|name)\b")
"""Begin of lines that tell nothing beside those that decide: of sections, and of names of realms."""
_INDENT: Final = "    "
Place = tuple[str, int]
"""The path and the number of a line."""
NO_PLACES: Final[tuple[frozenset[Place], frozenset[Place]]] = (frozenset(), frozenset())


def cause_lines(
    names: tuple[str, str],
    sides: tuple[tuple[DecidingLine, ...], tuple[DecidingLine, ...]],
    of_examples: tuple[frozenset[Place], frozenset[Place]] = NO_PLACES,
) -> Iterator[str]:
    """Yield the lines of both sides below the name of their side; those of both once.

    *of_examples*: the places of the lines that decide the examples; those that decide other requests of the
    same cause have a title of their own.

    Where some lines of a side decide, its others stand in sections of the requests: those nearest to the
    deciding ones are shown, without the lines that open sections and name realms.
    """
    old, new = (_ranked(lines) for lines in sides)
    if [str(line) for line in old] == [str(line) for line in new]:
        yield from _of_side("both", old, of_examples[0] | of_examples[1])
        return
    yield from _of_side(names[0], old, of_examples[0])
    yield from _of_side(names[1], new, of_examples[1])


def places_of_examples(group: DifferenceGroup) -> tuple[frozenset[Place], frozenset[Place]]:
    """Return the places of the lines of both sides that decide the examples of *group*."""
    old, new = (
        frozenset(
            (line.path, line.line)
            for lines in (group.lines, *(one.lines for one in group.examples))
            for line in lines[side]
            if line.role == DECIDES
        )
        for side in (0, 1)
    )
    return old, new


def _ranked(lines: tuple[DecidingLine, ...]) -> list[DecidingLine]:
    """Return the lines that decide, Require lines first, then the others; each once, by place."""
    found: dict[str, DecidingLine] = {}
    for line in lines:
        known = found.get(str(line))
        if known is None or line.role == DECIDES:
            found[str(line)] = line
    return sorted(found.values(), key=_rank)


def _rank(line: DecidingLine) -> tuple[bool, bool, str, int]:
    is_other = line.role != DECIDES
    is_late = is_other or not line.text.lower().startswith("require")
    return (is_other, is_late, line.path, line.line)


def _of_side(name: str, lines: list[DecidingLine], of_examples: frozenset[Place]) -> Iterator[str]:
    deciding = [line for line in lines if line.role == DECIDES]
    if not deciding:
        yield from _titled(f"lines of {name}", lines)
        return
    others = [line for line in lines if line.role != DECIDES and not _PLAIN.match(line.text)]
    shown_ones = [line for line in deciding if (line.path, line.line) in of_examples] or deciding
    further = [line for line in deciding if line not in shown_ones]
    yield from _titled(f"lines of {name} that decide", shown_ones)
    yield from _titled(
        f"lines of {name} that decide other requests of this cause",
        further[:MAX_OTHERS],
        len(further[MAX_OTHERS:]),
    )
    nearest_lines = sorted(others, key=lambda line: _distance(line, deciding))[:MAX_OTHERS]
    yield from _titled(
        f"other lines of {name} in sections of these requests",
        sorted(nearest_lines, key=_rank),
        len(others) - len(nearest_lines),
    )


def _distance(line: DecidingLine, deciding: list[DecidingLine]) -> tuple[bool, int]:
    """Return how far *line* is from the deciding lines of its file; other files are farther."""
    found = [abs(one.line - line.line) for one in deciding if one.path == line.path]
    return (not found, min(found, default=0))


def _titled(title: str, lines: list[DecidingLine], more: int = 0) -> Iterator[str]:
    if not lines:
        return
    yield title
    for line in lines:
        yield f"{_INDENT}{shown(str(line), MAX_LINE)}"
    if more:
        yield f"{_INDENT}and {more} more (--format json has all)"
