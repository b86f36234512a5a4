"""Values of the package as those of the public API: texts are decoded, places have names."""

from __future__ import annotations

from collections.abc import Iterable

from whimbrel.api.answers import Line
from whimbrel.api.findings import Edit, Finding, Unknown
from whimbrel.base.errors import SourceLocation
from whimbrel.base.latin1 import to_bytes, to_system
from whimbrel.config.origins import Origin
from whimbrel.report.model import ReportEntry
from whimbrel.upgrade.knowledge.scope import KnowledgeScope
from whimbrel.verify.answer import DecidingLine


def text_of(text: str) -> str:
    """Return text of one character per byte, decoded as UTF-8; other bytes are escaped."""
    try:
        return to_bytes(text).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text


def shown_of(text: str) -> str:
    """Return text that was decoded for a terminal, with escapes for its bytes that are not UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def path_of(path: str) -> str:
    """Return a path as Python's own interfaces take it."""
    try:
        return to_system(path)
    except UnicodeEncodeError:
        return path


def place_of(place: SourceLocation | None) -> tuple[str, int]:
    """Return file and line; "" and 0 for no place."""
    return (path_of(place.path), place.line) if place is not None and place.path else ("", 0)


def lines_of(lines: Iterable[Origin]) -> tuple[Line, ...]:
    """Return lines that set a value."""
    return tuple(Line(*place_of(line.place), text_of(line.text)) for line in lines)


def deciding_lines_of(lines: Iterable[DecidingLine]) -> tuple[Line, ...]:
    """Return lines that took part in an answer, each once."""
    found = (Line(path_of(line.path), line.line, text_of(line.text)) for line in lines)
    return tuple(dict.fromkeys(found))


def unknown_of(scope: KnowledgeScope) -> tuple[Unknown, ...]:
    """Return what is not known, what may matter first."""
    items = sorted(scope.items, key=lambda item: not item.matters)
    return tuple(
        Unknown(
            item.kind.value,
            *place_of(item.place),
            text_of(item.subject),
            text_of(item.consequence),
            text_of(item.advice),
            item.matters,
        )
        for item in items
    )


def finding_of(entry: ReportEntry) -> Finding:
    """Return an entry of a report."""
    file = path_of(entry.path)
    edit = None
    if entry.is_fixable:
        old = tuple((number, text_of(text)) for number, text in entry.old)
        edit = Edit(file, old, tuple(map(text_of, entry.new)))
    return Finding(
        entry.rule,
        file,
        entry.line,
        text_of(entry.message),
        text_of(entry.advice),
        entry.risk.value,
        entry.needs_review,
        entry.is_note,
        edit,
        text_of(entry.decision),
        text_of(entry.evidence),
        path_of(entry.via),
        text_of(entry.effect),
    )
