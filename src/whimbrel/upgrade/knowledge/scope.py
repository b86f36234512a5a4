"""The scope of knowledge: files that were read, and items about which nothing is known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterable
from enum import Enum
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, replace

_CODE: Final = re.compile(r"\bAH\d{5}: ")
EXIT_NOT_DECIDED: Final = 3
"""The exit code in the place of 0 where an item of the scope could have changed the result."""


class UnknownKind(Enum):
    """Why something is unknown; the values are words of reports and JSON."""

    NOT_READ = "not read"
    MISSING = "missing here"
    STAND_IN = "read elsewhere"
    LEFT_OUT = "left out"
    NO_BEHAVIOUR = "no behaviour"
    USERS_UNKNOWN = "users unknown"
    UNDEFINED_VARIABLE = "undefined variable"
    PROGRAM_NOT_RUN = "program not run"
    NOT_EXERCISED = "not exercised"
    WRITTEN = "written by upgrade"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class UnknownItem:
    """One thing that is not known.

    Attributes:
        place: the line that names it, None if no line does.
        subject: the fact in one sentence.
        consequence: what follows for the result.
        advice: how to make it known.
        matters: the result could depend on it; the directory of a log does not matter.
        is_old: the line is one of the text of 2.2, which is not at its path.
    """

    kind: UnknownKind
    place: SourceLocation | None
    subject: str
    consequence: str = ""
    advice: str = ""
    matters: bool = True
    is_old: bool = False


@dataclass(frozen=True, slots=True)
class KnowledgeScope:
    """What was read of an input, and what is unknown about it; each item once."""

    files_read: tuple[str, ...] = ()
    items: tuple[UnknownItem, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Return True if no unknown item could have changed the result."""
        return not self.deciding

    @property
    def deciding(self) -> tuple[UnknownItem, ...]:
        """The items that could have changed the result."""
        return tuple(item for item in self.items if item.matters)

    def exit_code(self, code: int) -> int:
        """Return the exit code of a command whose result is *code*: 0 needs a complete scope."""
        return EXIT_NOT_DECIDED if code == 0 and not self.is_complete else code

    def merge(self, other: KnowledgeScope) -> KnowledgeScope:
        """Return the scope of both inputs."""
        return KnowledgeScope(
            tuple(dict.fromkeys((*self.files_read, *other.files_read))),
            _distinct((*self.items, *other.items)),
        )

    def merge_version(self, other: KnowledgeScope, replaced: Container[str] = ()) -> KnowledgeScope:
        """Return the scope of two versions of one configuration.

        A fact about a line that has another number in *other*, or stands in another file there, is one fact.
        *replaced*: the paths at which a reader finds the text of *other* alone, whose numbers count there.
        """
        if replaced:
            return KnowledgeScope(self.files_read, _as_replaced(self, other, replaced)).merge_version(other)
        facts = Counter(map(_fact, self.items))
        new: list[UnknownItem] = []
        known = {_fact(item) for item in other.items if item.matters}
        for item in other.items:
            fact = _fact(item)
            facts[fact] -= 1
            if facts[fact] < 0:
                new.append(item)
        items = (
            replace(item, matters=True) if not item.matters and _fact(item) in known else item
            for item in self.items
        )
        return KnowledgeScope(self.files_read, tuple(items)).merge(
            KnowledgeScope(other.files_read, tuple(new))
        )

    def with_items(self, items: Iterable[UnknownItem]) -> KnowledgeScope:
        """Return the scope with further items."""
        return replace(self, items=_distinct((*self.items, *items)))


def _as_replaced(
    old: KnowledgeScope, new: KnowledgeScope, replaced: Container[str]
) -> tuple[UnknownItem, ...]:
    """Return the items of *old*: those at *replaced* paths with the place that *new* has for the fact, and
    with a mark if it has none.
    """
    places: dict[object, list[SourceLocation]] = {}
    for item in new.items:
        if item.place is not None:
            places.setdefault(_fact(item), []).append(item.place)
    found = []
    for item in old.items:
        if item.place is not None and item.place.path in replaced:
            own = places.get(_fact(item))
            item = replace(item, place=own.pop(0)) if own else replace(item, is_old=True)
        found.append(item)
    return tuple(found)


def _fact(item: UnknownItem) -> tuple[UnknownKind, str, str, str]:
    """Return an item without its place."""
    return item.kind, _without_codes(item.subject), item.consequence, item.advice


def _without_codes(text: str) -> str:
    """Return *text* without the codes of log messages, which 2.2 does not have."""
    return _CODE.sub("", text)


def _distinct(items: Iterable[UnknownItem]) -> tuple[UnknownItem, ...]:
    """Return each fact once; it matters if it matters to one of those that found it."""
    found: dict[tuple[UnknownKind, str, str], UnknownItem] = {}
    for item in items:
        place = f"{item.place.path}:{item.place.line}" if item.place is not None else ""
        key = (item.kind, place, _without_codes(item.subject))
        known = found.get(key)
        if known is None or (item.matters and not known.matters):
            found[key] = item
    return tuple(found.values())
