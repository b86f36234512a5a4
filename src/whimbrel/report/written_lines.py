"""The numbers of lines in the text that an upgrade has written, for findings about the text that it read."""

from __future__ import annotations

from typing import NamedTuple

from whimbrel.base.errors import SourceLocation
from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.report.model import ReportEntry
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem
from whimbrel.upgrade.model import AccessDifference, Finding
from whimbrel.upgrade.source.line_map import LineMap


class _NewFile(NamedTuple):
    """The new text of a file: its lines, and the first one, from 1, for each old line that has one."""

    lines: list[str]
    numbers: dict[int, int]


class WrittenLines:
    """The new lines of *result*, whose texts are at their places."""

    def __init__(self, result: UpgradeResult) -> None:
        self._result = result
        self._files: dict[str, _NewFile] = {}

    def entry(self, entry: ReportEntry, finding: Finding, directory: str) -> ReportEntry:
        """Return *entry*, that of *finding*, at its new line; with a mark if the new text has none for it."""
        path = finding.place.path
        via = finding.place.included_from
        if via is not None and entry.via:
            line = self.line(via) or via.line
            entry = replace(entry, via=f"{display_path(via.path, directory)}:{line}")
        if path not in self._result.files or not entry.line:
            return entry
        line = self.line(SourceLocation(path, entry.line))
        if not line:
            return replace(entry, is_old=True)
        return replace(entry, line=line, text=self._file(path).lines[line - 1].strip(), old=(), lines=())

    def scope(self, scope: KnowledgeScope) -> KnowledgeScope:
        """Return *scope* with the new lines of its items."""
        return KnowledgeScope(scope.files_read, tuple(map(self._item, scope.items)))

    def access(self, one: AccessDifference) -> AccessDifference:
        """Return *one* with its new line, if it has one."""
        place = one.place
        line = self.line(place) if place is not None else 0
        return replace(one, place=SourceLocation(place.path, line)) if place is not None and line else one

    def line(self, place: SourceLocation) -> int:
        """Return the number of the line in the new text, 0 if that has none for it."""
        if place.path not in self._result.files:
            return place.line
        return self._file(place.path).numbers.get(place.line, 0)

    def _item(self, item: UnknownItem) -> UnknownItem:
        place = item.place
        if place is None or not place.line or place.path not in self._result.files:
            return item
        line = self.line(place)
        return replace(item, place=SourceLocation(place.path, line)) if line else replace(item, is_old=True)

    def _file(self, path: str) -> _NewFile:
        found = self._files.get(path)
        if found is None:
            lines = to_text(self._result.files[path]).split("\n")
            line_map = self._result.line_maps.get(path, LineMap())
            new_numbers = range(1, len(lines) + 1)
            numbers = {line_map.unchanged_from(number): number for number in new_numbers}
            for number in new_numbers:  # of an old line that changes, the first one in its place
                numbers.setdefault(line_map.original_line(number), number)
            found = _NewFile(lines, numbers)
            self._files[path] = found
        return found
