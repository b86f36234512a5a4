"""Edits of a file as byte ranges of its source.

An edit replaces a range (an empty range inserts).  Dependent edits form a `Group`, which is applied
completely or not at all.  Ranges may touch but not overlap; insertions at one position stay in the given
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from whimbrel.base.lazy_dataclasses import dataclass


class Edit(NamedTuple):
    """Put *text* in the place of bytes *start* to *end*.

    Of several insertions at one position those of lower *rank* come first, else those that are given first.
    """

    start: int
    end: int
    text: bytes
    rank: int = 0

    def clashes(self, other: Edit) -> bool:
        """True where both want to change the same byte, or one inserts inside what the other replaces."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Group:
    """Edits that are right only together; *label* names the group in errors."""

    edits: tuple[Edit, ...]
    label: str = ""


class EditError(Exception):
    """Edits that cannot be applied; the source is unchanged."""


class RangeError(EditError):
    """An edit outside of the source, or one that ends before it starts."""

    def __init__(self, edit: Edit, size: int) -> None:
        super().__init__(f"the edit {edit.start}-{edit.end} does not fit a source of {size} bytes")
        self.edit = edit
        self.size = size


class OverlapError(EditError):
    """Two edits want the same bytes; *first* and *second* are the groups they belong to (maybe
    the same one).
    """

    def __init__(self, first: Group, second: Group, place: int) -> None:
        super().__init__(f"the edits {first.label or '?'} and {second.label or '?'} overlap at byte {place}")
        self.first = first
        self.second = second
        self.place = place


def apply(data: bytes, groups: Iterable[Group]) -> bytes:
    """Return *data* with all *groups* applied; raise OverlapError or RangeError if one cannot be applied."""
    ordered = _ordered(groups)
    pieces = []
    done = 0
    for index, (edit, group) in enumerate(ordered):
        if not 0 <= edit.start <= edit.end <= len(data):
            raise RangeError(edit, len(data))
        if edit.start < done:
            raise OverlapError(ordered[index - 1][1], group, edit.start)
        pieces += [data[done : edit.start], edit.text]
        done = edit.end
    return b"".join([*pieces, data[done:]])


def choose(groups: Sequence[Group]) -> tuple[list[Group], list[Group]]:
    """Return the groups that can be applied together, earlier ones first, and those that overlap with one of
    them or themselves.
    """
    chosen: list[Group] = []
    refused: list[Group] = []
    for group in groups:
        (chosen if _fits([*chosen, group]) else refused).append(group)
    return chosen, refused


def _ordered(groups: Iterable[Group]) -> list[tuple[Edit, Group]]:
    """Return all edits by position; insertions precede the replacement at the same position (sorting is
    stable).
    """
    return sorted(
        ((edit, group) for group in groups for edit in group.edits),
        key=lambda pair: (pair[0].start, pair[0].end, pair[0].rank),
    )


def _fits(groups: Sequence[Group]) -> bool:
    ordered = [edit for edit, _ in _ordered(groups)]
    return not any(first.clashes(second) for first, second in zip(ordered, ordered[1:], strict=False))
