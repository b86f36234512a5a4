"""Merging of AllowOverride lines, as far as it affects access control.
Manual: mod/core.html#allowoverride."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import Final

from whimbrel.access.sections import Override
from whimbrel.upgrade.source.conditions import TRANSPARENT
from whimbrel.upgrade.source.config_tree import Statement

ALL: Final = frozenset({"authconfig", "limit", "fileinfo", "indexes", "options"})


def merge_overrides(base: Override, lines: Iterable[Statement]) -> Override:
    """Return *base* merged with the AllowOverride lines of a section; a line under an open condition can only
    add classes."""
    for line in lines:
        if line.name == "allowoverride":
            classes = _classes(line.words())
            if not any(branch.taken[0] is None for branch in _branches(line)):
                base = classes
            elif base is not None:
                base |= classes
    return base


def _branches(line: Statement) -> Iterator[Statement]:
    """Yield the branches around *line* within its section."""
    return takewhile(lambda section: section.name in TRANSPARENT, line.enclosing())


def _classes(words: list[str]) -> frozenset[str]:
    classes: set[str] = set()
    for word in words:
        low = word.lower().partition("=")[0]
        if low == "none":
            classes.clear()
        elif low == "all":
            classes = set(ALL)
        elif low in ALL:
            classes.add(low)
    return frozenset(classes)


def admits(override: Override, kind: str) -> bool:
    """Return True if 2.2 admits directives of the class *kind*; without any AllowOverride it admits all."""
    return override is None or kind in override
