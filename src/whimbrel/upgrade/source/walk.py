"""Walks over nested lines, in time linear in their number.

A generator that calls itself hands each line through all levels above it: hostile text has a thousand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, Self, TypeVar


class Nested(Protocol):
    """A line that may have lines in it."""

    @property
    def children(self) -> Sequence[Self]:
        """The lines in this one."""


Line = TypeVar("Line", bound=Nested)


def walk(lines: Iterable[Line], inner: Callable[[Line], Iterable[Line]] | None = None) -> Iterator[Line]:
    """Yield *lines* in reading order; those in a line, its children or what *inner* returns, follow it."""
    open_levels = [iter(lines)]
    while open_levels:
        for line in open_levels[-1]:
            yield line
            below = line.children if inner is None else inner(line)
            if below:
                open_levels.append(iter(below))
                break
        else:
            open_levels.pop()
