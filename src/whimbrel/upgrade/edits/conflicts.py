"""Conflict resolution: the findings whose edits can be applied together."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.syntax.edits import Edit
from whimbrel.upgrade.model import FileEdit, Finding, Safety
from whimbrel.upgrade.source.templates import has_mark

if TYPE_CHECKING:
    from whimbrel.upgrade.source.config_tree import ConfigTree

ByteRange = tuple[int, int]
MARKED: Final = "a template mark stands there, and its value decides"
_VARIABLE: Final = re.compile(rb"\$\{\w+\}")


class EditSelection:
    """Compatible edits by file.

    A group is applied completely or not at all; an edit of several groups is applied once.
    """

    def __init__(self) -> None:
        self.edits: dict[str, list[Edit]] = {}
        self._sorted: dict[str, list[ByteRange]] = {}
        self._taken: set[FileEdit] = set()

    def try_add(self, group: tuple[FileEdit, ...]) -> bool:
        """Add *group* and return True, unless one of its edits conflicts with an added one or with another of
        the group."""
        unique_edits = [file_edit for file_edit in dict.fromkeys(group) if file_edit not in self._taken]
        if not is_consistent(unique_edits) or any(self._clashes(edit) for edit in unique_edits):
            return False
        self._taken.update(unique_edits)
        for one in unique_edits:
            insort(self._sorted.setdefault(one.path, []), (one.edit.start, one.edit.end))
            self.edits.setdefault(one.path, []).append(one.edit)
        return True

    def _clashes(self, file_edit: FileEdit) -> bool:
        """Return True if the edit conflicts with a neighbour: added edits are sorted and disjoint."""
        taken = self._sorted.get(file_edit.path, [])
        edit = file_edit.edit
        at = bisect_left(taken, (edit.start, edit.end))
        for start, end in reversed(taken[max(0, at - 8) : at]):
            if end > edit.start and start < edit.end:
                return True
            if end > start:
                break
        return any(edit.start < end for start, end in _until(taken, at, edit.end))


def _until(taken: list[ByteRange], at: int, end: int) -> Iterable[ByteRange]:
    while at < len(taken) and taken[at][0] < end:
        yield taken[at]
        at += 1


def is_consistent(group: Iterable[FileEdit]) -> bool:
    """Return True if no edit of *group* conflicts with another one of it."""
    ordered = sorted(group, key=lambda edit: (edit.path, edit.edit.start, edit.edit.end))
    pairs = zip(ordered, ordered[1:], strict=False)
    return not any(a.path == b.path and a.edit.clashes(b.edit) for a, b in pairs)


def resolve_conflicts(findings: list[Finding], paths: Iterable[str]) -> list[Finding]:
    """Return *findings* with their final edits.

    Edits of text outside of files, and edits that differ between the inclusions of a file, are left to the
    user.
    """
    known_paths = set(paths)
    wanted: dict[tuple[str, str, int], dict[SourceLocation | None, set[frozenset[FileEdit]]]] = {}
    for finding in findings:
        if finding.edits:
            own_edits = frozenset(edit for edit in finding.edits if edit.path == finding.place.path)
            by_inclusion = wanted.setdefault(_line_key(finding), {})
            by_inclusion.setdefault(finding.place.included_from, set()).add(own_edits)
    return [_resolved(finding, known_paths, wanted.get(_line_key(finding), {})) for finding in findings]


def _line_key(finding: Finding) -> tuple[str, str, int]:
    return finding.rule, finding.place.path, finding.place.line


def _resolved(
    finding: Finding, known_paths: set[str], inclusions: dict[SourceLocation | None, set[frozenset[FileEdit]]]
) -> Finding:
    if not finding.edits:
        return finding
    if finding.safety is Safety.MANUAL:
        return replace(finding, edits=())
    if any(edit.path not in known_paths for edit in finding.edits):
        return to_manual(finding, "this text cannot be edited here")
    if len({frozenset(edits) for edits in inclusions.values()}) > 1:
        return to_manual(
            finding, "the file is included more than once, and each inclusion needs another change"
        )
    return finding


def fault_before(finding: Finding, tree: ConfigTree) -> SourceLocation | None:
    """Return the first fault of the files that *finding* changes: a file with one stays as it is."""
    files = (tree.files[path] for path in dict.fromkeys(edit.path for edit in finding.edits))
    return next((SourceLocation(file.path, file.faults[0].line) for file in files if file.faults), None)


def why_by_hand(finding: Finding, tree: ConfigTree) -> str:
    """Return the reason why the edits would be guesses, "" for none: they depend on a variable or a template
    mark."""
    if not is_consistent(dict.fromkeys(finding.edits)):
        return "its edits contradict each other"
    for path, group in _by_file(finding.edits).items():
        file = tree.files[path]
        before = b"\n".join(file.document.bytes[edit.start : edit.end] for edit in group)
        after = b"\n".join(edit.text for edit in group)
        if file.is_template:
            touched = b"\n".join(_lines_of(file.document.bytes, edit) for edit in group)
            if has_mark(touched) or has_mark(after):
                return MARKED
        lost = (
            next((name for name in _VARIABLE.findall(before) if name not in after), b"")
            if after.strip()
            else b""
        )
        if lost:
            return f"the text would lose {lost.decode('latin-1')}"
    return ""


def _lines_of(data: bytes, edit: Edit) -> bytes:
    """Return the lines that *edit* changes; none if it inserts lines or replaces the name of a directive."""
    start = data.rfind(b"\n", 0, edit.start) + 1
    inserts = edit.start == edit.end == start
    renames = (
        edit.end > edit.start
        and data[start : edit.end].strip() == data[edit.start : edit.end].strip()
        and b"\n" not in edit.text
    )
    if inserts or (renames and data[edit.end : edit.end + 1] in (b" ", b"\t")):
        return b""
    end = data.find(b"\n", max(edit.end - 1, edit.start))
    return data[start : len(data) if end < 0 else end]


def _by_file(edits: Iterable[FileEdit]) -> dict[str, list[Edit]]:
    by_file: dict[str, list[Edit]] = {}
    for file_edit in edits:
        by_file.setdefault(file_edit.path, []).append(file_edit.edit)
    return by_file


def to_manual(finding: Finding, reason: str) -> Finding:
    """Return *finding* without its edits, as MANUAL."""
    advice = (
        f"{finding.advice}; by hand, because {reason}"
        if finding.advice and reason != MARKED
        else f"by hand, because {reason}"
    )
    return replace(finding, safety=Safety.MANUAL, edits=(), advice=advice)
