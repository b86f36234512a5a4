"""The numbers of lines in the text that an upgrade has written, for findings about the text that it read."""

from __future__ import annotations

import os
import re
from typing import Final, NamedTuple

from whimbrel.base.errors import SourceLocation
from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.report.entries import entry_of
from whimbrel.report.model import ReportEntry
from whimbrel.upgrade.apply.left_decisions import OF_OLD, written_answers
from whimbrel.upgrade.check.fixpoint import UpgradeResult
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem
from whimbrel.upgrade.model import AccessDifference, Finding
from whimbrel.upgrade.source.line_map import LineMap

_OLD: Final = " of the old text"
"""What follows the number of a line that the new text lacks."""
_LINE: Final = re.compile(r"\bline ([0-9]+)\b")


class _NewFile(NamedTuple):
    """The new text of a file: its lines, and the first one, from 1, for each old line that has one."""

    lines: list[str]
    numbers: dict[int, int]


class WrittenLines:
    """The new lines of *result*, whose texts are at their places."""

    def __init__(self, result: UpgradeResult) -> None:
        self._result = result
        self._files: dict[str, _NewFile] = {}
        self._names: tuple[str, re.Pattern[str]] | None = None

    def entry(self, entry: ReportEntry, finding: Finding, directory: str) -> ReportEntry:
        """Return *entry*, that of *finding*, at its new line; with a mark if the new text has none for it."""
        path = finding.place.path
        via = finding.place.included_from
        if via is not None and entry.via:
            line = self.line(via) or via.line
            entry = replace(entry, via=f"{display_path(via.path, directory)}:{line}")
        entry = replace(
            entry,
            message=self.sentence(entry.message, directory, path),
            advice=self.sentence(entry.advice, directory, path),
            evidence=self.sentence(entry.evidence, directory),
        )
        if path not in self._result.files or not entry.line:
            return entry
        written = self._written_line(finding, entry.line)
        line = written or self.line(SourceLocation(path, entry.line))
        if not line:
            return replace(entry, is_old=True)
        if written and entry.answers:
            entry = self._about_new_text(entry, finding)
        return replace(entry, line=line, text=self._file(path).lines[line - 1].strip(), old=(), lines=())

    def _about_new_text(self, entry: ReportEntry, finding: Finding) -> ReportEntry:
        """Return *entry*, whose question is about lines that are written, with the choices that are left: a
        comment at its line keeps these lines.
        """
        lines = self._file(finding.place.path).lines
        written = {line.strip() for line in finding.new if line.strip()}
        about = [text for text in dict.fromkeys(map(str.strip, lines)) if text in written]
        is_elsewhere = any(other.path != finding.place.path for other in finding.elsewhere)
        answers = written_answers(finding.rule, about, entry.answers, is_elsewhere=is_elsewhere)
        return replace(entry, message=OF_OLD + entry.message, answers=answers)

    def sentence(self, text: str, directory: str, path: str = "") -> str:
        """Return *text* with the new numbers of the lines that it names as ``FILE:LINE``, and those of the
        file *path* that it names as ``line LINE``; a line that the new text lacks is marked as an old one.
        """

        def of_file(found: re.Match[str]) -> str:
            rule = found["rule"]
            name = found["name"]
            number = int(found["line"])
            place = SourceLocation(os.path.join(directory, name), number)
            line = self._line_of_finding(rule, place) if rule else self.line(place)
            mark = f"{rule} at " if rule else ""
            return f"{mark}{name}:{line}" if line else f"{mark}{name}:{number}{_OLD}"

        def of_own(found: re.Match[str]) -> str:
            line = self.line(SourceLocation(path, int(found[1])))
            return f"line {line}" if line else f"{found[0]}{_OLD}"

        text = self._named_places(directory).sub(of_file, text) if self._result.files else text
        return _LINE.sub(of_own, text) if path in self._result.files else text

    def _named_places(self, directory: str) -> re.Pattern[str]:
        """Return the pattern of a line of a changed file, behind the rule that it is a finding of."""
        if self._names is None or self._names[0] != directory:
            names = {name for path in self._result.files for name in (path, display_path(path, directory))}
            any_name = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
            shape = rf"(?:(?P<rule>[A-Z][0-9]{{2}}) at )?(?<![\w./-])(?P<name>{any_name}):(?P<line>[0-9]+)"
            self._names = directory, re.compile(shape)
        return self._names[1]

    def _line_of_finding(self, rule: str, place: SourceLocation) -> int:
        """Return the new line that a report names for the finding of *rule* at *place*."""
        for finding in self._result.findings:
            where = finding.place
            if (finding.rule, where.path, where.line) == (rule, place.path, place.line):
                line = entry_of(finding).line
                return self._written_line(finding, line) or self.line(SourceLocation(place.path, line))
        return self.line(place)

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

    def _written_line(self, finding: Finding, old_line: int) -> int:
        """Return the number of the line nearest to *old_line* that the upgrade wrote for *finding*: a comment
        about it stands above that, as the journal of the upgrade has it. 0 for none.
        """
        written = {line.strip() for line in finding.new if line.strip()} if finding.edits else set()
        lines = self._file(finding.place.path).lines if written else []
        numbers = [number for number, text in enumerate(lines, 1) if text.strip() in written]
        return min(numbers, key=lambda number: abs(number - old_line), default=0)

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
