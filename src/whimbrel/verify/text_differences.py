"""The lines and sections of two texts that differ: under one version every difference comes from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from whimbrel.verify.alignment import Alignment
from whimbrel.verify.answer import DecidingLine
from whimbrel.verify.config_lines import SECTIONS, ConfigLine, LineScope

MAX_LINES: Final = 6
"""Lines of one side that are named as a cause."""
_STANDING: Final = SECTIONS | {"htaccess"}
"""Kinds of scopes that stand for their lines if the other side has none of their argument."""
Place = tuple[str, int]
Roots = frozenset[tuple[int, Place]]
"""Locations of differing lines and sections, with the number of their side."""


class TextDifferences:
    """What differs in the texts of two sides.

    Attributes:
        lines: differing lines with what the other side has in their place.
        scopes: sections with the sections of other arguments in their place.
    """

    def __init__(self, alignment: Alignment | None = None) -> None:
        self.lines: dict[ConfigLine, ConfigLine] = {}
        self.scopes: dict[LineScope, LineScope] = {}
        self._differing: tuple[list[ConfigLine | LineScope], list[ConfigLine | LineScope]] = ([], [])
        self._roots: dict[tuple[int, Place], Place] = {}
        self._partners: dict[tuple[int, Place], tuple[int, Place]] = {}
        if alignment is not None:
            self._read(alignment)

    def _read(self, alignment: Alignment) -> None:
        renamed: set[LineScope] = set()
        for old, new in alignment.scopes:
            if old.args != new.args:
                self.scopes[old] = new
                self.scopes[new] = old
            if old.args != new.args or alignment.own_key(old, 0) != alignment.own_key(new, 1):
                renamed.update((old, new))  # a virtual host may have another name alone
                self._pair((old.path, old.line), (new.path, new.line))
        keys = [{(scope.kind, scope.args) for scope in lines.scopes} for lines in alignment.sides]
        for number, lines in enumerate(alignment.sides):
            for scope in lines.scopes:
                is_unmatched = (scope.kind, scope.args) not in keys[1 - number]
                if scope in renamed or (is_unmatched and scope.kind in _STANDING):
                    self._differing[number].append(scope)
                    place = scope.path, scope.line
                    for one in (place, *((line.path, line.line) for line in scope.lines)):
                        self._roots[number, one] = place
        for row in alignment.paired_rows:
            for number, left in enumerate(row.left):
                for line in left:
                    place = line.path, line.line
                    if self._roots.setdefault((number, place), place) == place:
                        self._differing[number].append(line)
            for old_line, new_line in row.replaced:
                self.lines[old_line] = new_line
                self.lines[new_line] = old_line
                self._pair((old_line.path, old_line.line), (new_line.path, new_line.line))

    def _pair(self, old: Place, new: Place) -> None:
        self._partners[0, old] = (1, new)
        self._partners[1, new] = (0, old)

    def roots_of(self, cause: tuple[Iterable[DecidingLine], Iterable[DecidingLine]]) -> Roots:
        """Return the differing lines among those of a cause, with what the other side has in their place; a
        section stands for the lines in it."""
        places = ((number, (line.path, line.line)) for number, row in enumerate(cause) for line in row)
        roots = {(key[0], self._roots[key]) for key in places if key in self._roots}
        return frozenset(roots | {self._partners[root] for root in roots if root in self._partners})

    def candidates(
        self, scopes: list[list[LineScope]], wanted: re.Pattern[str]
    ) -> tuple[list[DecidingLine], list[DecidingLine]]:
        """Return the differing lines that a difference in *scopes* of both sides can come from.

        *wanted* matches names of directives, which are tried first. If few lines differ, they are the cause.
        """
        inside = [set(row) for row in scopes]
        own = [
            [one for one in row if _scope_of(one) in around]
            for row, around in zip(self._differing, inside, strict=True)
        ]
        named = [[one for one in row if _is_named(one, wanted)] for row in own]
        for rows in (named, own):
            if any(rows):
                return self._shown(rows)
        is_few = sum(map(len, self._differing)) <= 2 * MAX_LINES
        return self._shown(self._differing) if is_few else ([], [])

    def _shown(
        self, rows: Sequence[Sequence[ConfigLine | LineScope]]
    ) -> tuple[list[DecidingLine], list[DecidingLine]]:
        """Return what differs on both sides, as lines of a cause, with what stands in its place."""
        found = [dict.fromkeys(map(shown, row[:MAX_LINES])) for row in rows]
        for number, row in enumerate(rows):
            for one in row[:MAX_LINES]:
                other = self.lines.get(one) if isinstance(one, ConfigLine) else self.scopes.get(one)
                if other is not None:
                    found[1 - number][shown(other)] = None
        old, new = map(list, found)
        return old, new

    def in_place_of(self, line: ConfigLine) -> Iterator[DecidingLine]:
        """Yield the line, and the section with another argument, that the other side has for *line*."""
        scope = self.scopes.get(line.scope)
        if scope is not None and scope.kind in SECTIONS:
            yield shown(scope)
        other = self.lines.get(line)
        if other is not None:
            yield shown(other)


def shown(one: ConfigLine | LineScope) -> DecidingLine:
    """Return a line or the opening line of a section as a part of a cause."""
    if isinstance(one, LineScope):
        return DecidingLine(one.path, one.line, one.written, "section")
    return DecidingLine(one.path, one.line, one.text, "directive")


def _is_named(one: ConfigLine | LineScope, wanted: re.Pattern[str]) -> bool:
    return isinstance(one, ConfigLine) and wanted.fullmatch(one.name) is not None


def _scope_of(one: ConfigLine | LineScope) -> LineScope:
    return one.scope if isinstance(one, ConfigLine) else one
