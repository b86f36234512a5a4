"""The scope of knowledge as text and JSON, alike for check, upgrade, verify, explain and replay."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, Final

from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem

MAX_ITEMS: Final = 40
"""The number of items that text shows; JSON has all."""


def text_lines(scope: KnowledgeScope, directory: str = "", findings: Collection[str] = ()) -> Iterator[str]:
    """Yield the items as lines of text, those that could have changed the result first; nothing for none.

    *findings* are the messages of findings that are shown elsewhere: their items are counted only.
    """
    if not scope.items:
        return
    items = [item for item in ordered(scope) if item.subject not in findings]
    deciding = len(scope.deciding)
    shown = len(scope.items) - len(items)
    head = f"not known: {deciding} that may matter, {len(scope.items) - deciding} that no answer depends on"
    yield f"{head}; {shown} of them are findings" if shown else head
    for item in items[:MAX_ITEMS]:
        yield f"  {_line(item, directory)}"
    if len(items) > MAX_ITEMS:
        yield f"  and {len(items) - MAX_ITEMS} more (JSON names all)"


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
    return f"{path}:{item.place.line}" if item.place.line else path


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
