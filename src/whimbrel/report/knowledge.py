"""The scope of knowledge as text and JSON, alike for check, upgrade, verify, explain and replay."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from whimbrel.base.counts import count_noun
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.report.model import OLD_TEXT
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.knowledge.loaded import NO_START_24, STARTS
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.upgrade.knowledge.start_stops import MAX_STOPS

MAX_ITEMS: Final = 40
"""The number of items that text shows; JSON has all."""
OF_24: Final = " (2.2 only warns)"
MAX_ALIKE: Final = 3
"""Lines that are left out for one reason and shown one by one."""

_COPY: Final = "run the command on the server itself, or put what is missing at the places that are named"
_REMEDIES: Final = {
    UnknownKind.LEFT_OUT: _COPY,
    UnknownKind.MISSING: _COPY,
    UnknownKind.NOT_READ: _COPY,
    UnknownKind.UNDEFINED_VARIABLE: "--envvars FILE defines variables",
    UnknownKind.USERS_UNKNOWN: _COPY,
    UnknownKind.PROGRAM_NOT_RUN: "send these requests to the server itself",
    UnknownKind.NO_BEHAVIOUR: "send requests for these lines to the server itself",
    UnknownKind.STAND_IN: _COPY,
    UnknownKind.NOT_EXERCISED: "whimbrel explain URL --diff CONF compares a URL that you know",
    UnknownKind.ASSUMED: "a person decides: no file shows it",
}
"""What makes items known that have no advice of their own."""


def text_lines(scope: KnowledgeScope, directory: str = "", findings: Collection[str] = ()) -> Iterator[str]:
    """Yield the items as lines of text, those that could have changed the result first; nothing for none.

    *findings* are the messages of findings that are shown elsewhere: their items are counted as findings.
    """
    if not scope.items:
        return
    items = [item for item in ordered(scope) if item.subject not in findings]
    deciding = sum(item.matters for item in items)
    found = len(scope.items) - len(items)
    if items:
        head = f"not known: {deciding} that may matter, {of_no_answer(items)}"
        yield f"{head}; {found} more among the findings" if found else head
    else:
        yield f"not known: {count_noun(found, 'place')} among the findings"
    yield from _items(items, directory)
    remedies = {
        _REMEDIES[item.kind]: None for item in scope.deciding if not item.advice and item.kind in _REMEDIES
    }
    if remedies:
        yield f"  to know it: {'; '.join(remedies)}"


def without_start_line(scope: KnowledgeScope) -> KnowledgeScope:
    """Return *scope* without what `start_line` names and no answer depends on."""
    named = _starts(scope)[:MAX_STOPS]
    return replace(scope, items=tuple(item for item in scope.items if item.matters or item not in named))


def _starts(scope: KnowledgeScope) -> list[UnknownItem]:
    return [item for item in scope.items if item.consequence in STARTS and item.place is not None]


def start_line(scope: KnowledgeScope, directory: str) -> str:
    """Return at which lines 2.4 ends its start while what they name is missing, in its order; "" for none."""
    items = _starts(scope)
    if not items:
        return ""
    named = [
        f"{place_of(item, directory)}: {item.subject}{OF_24 if item.consequence == NO_START_24 else ''}"
        for item in items[:MAX_STOPS]
    ]
    named += [f"{len(items) - MAX_STOPS} more lines"] if len(items) > MAX_STOPS else []
    return (
        f"start: missing here, where 2.4 ends at it (what its machine has is not decided): {'; '.join(named)}"
    )


def first_start(scope: KnowledgeScope, directory: str) -> str:
    """Return the first line at which 2.4 ends its start on this machine, ``PLACE: REASON``; "" for none."""
    return next((f"{place_of(item, directory)}: {item.subject}" for item in _starts(scope)), "")


def of_no_answer(items: Sequence[UnknownItem]) -> str:
    """Return the number of items that do not matter: those that no request reached, and the others."""
    others = [item for item in items if not item.matters]
    unreached = sum(item.kind is UnknownKind.NOT_EXERCISED for item in others)
    counts = [f"{unreached} that no request decided"] if unreached else []
    if len(others) > unreached or not unreached:
        counts.append(f"{len(others) - unreached} that no answer depends on")
    return ", ".join(counts)


def _items(items: list[UnknownItem], directory: str) -> Iterator[str]:
    rows = _rows(items, directory)
    for row in rows[:MAX_ITEMS]:
        yield f"  {row}"
    if len(rows) > MAX_ITEMS:
        yield f"  and {len(rows) - MAX_ITEMS} more (JSON names all)"


def _rows(items: Iterable[UnknownItem], directory: str) -> list[str]:
    """Return a line for each item; of more than `MAX_ALIKE` lines with one reason the first, and a count."""
    alike: dict[object, list[UnknownItem]] = {}
    for item in items:
        reason = item.subject.partition(": ")[2] if item.place is not None else ""
        is_counted = item.kind in (UnknownKind.LEFT_OUT, UnknownKind.NO_BEHAVIOUR) and bool(reason)
        key = (item.kind, reason, item.consequence, item.matters) if is_counted else item
        alike.setdefault(key, []).append(item)
    rows = []
    for found in alike.values():
        if len(found) <= MAX_ALIKE:
            rows += [_line(item, directory) for item in found]
        else:
            files = {item.place.path for item in found if item.place is not None}
            more = f"; {len(found) - 1:,} more lines alike, in {count_noun(len(files), 'file')}"
            rows.append(f"{_line(found[0], directory)}{more}")
    return rows


def ordered(scope: KnowledgeScope) -> list[UnknownItem]:
    """Return the items, those that could have changed the result first."""
    return sorted(scope.items, key=lambda item: not item.matters)


def _line(item: UnknownItem, directory: str) -> str:
    where = place_of(item, directory)
    text = f"{item.kind.value}: {where}{': ' if where else ''}{item.subject}"
    details = "; ".join(filter(None, (item.consequence, item.advice)))
    return f"{text} ({details})" if details else text


def place_of(item: UnknownItem, directory: str) -> str:
    """Return the file and line that name the item, "" for none."""
    if item.place is None or not item.place.path:
        return ""
    path = display_path(item.place.path, directory)
    return f"{path}:{item.place.line}{OLD_TEXT if item.is_old else ''}" if item.place.line else path


def as_json(scope: KnowledgeScope, directory: str = "") -> dict[str, Any]:
    """Return the scope for JSON; the keys are part of the public interface."""
    return {
        "complete": scope.is_complete,
        "files_read": [display_path(path, directory) for path in scope.files_read],
        "unknown": [_item(item, directory) for item in ordered(scope)],
    }


def _item(item: UnknownItem, directory: str) -> dict[str, Any]:
    has_place = item.place is not None and item.place.path
    return {
        "kind": item.kind.value,
        "file": display_path(item.place.path, directory) if item.place is not None and has_place else None,
        "line": item.place.line if item.place is not None and has_place else None,
        "subject": item.subject,
        "consequence": item.consequence,
        "advice": item.advice,
        "matters": item.matters,
    }
