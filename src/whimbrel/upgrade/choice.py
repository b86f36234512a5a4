"""Which findings' edits can be made at one time."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from whimbrel.errors import Place
from whimbrel.records import replace
from whimbrel.syntax.edits import Edit
from whimbrel.upgrade.model import FileEdit, Finding, Safety
from whimbrel.upgrade.templates import has_mark

if TYPE_CHECKING:
    from whimbrel.upgrade.estate import Estate

Key = tuple[int, int]
MARKED: Final = "a template's mark stands there: the values that it gets decide"
_VARIABLE: Final = re.compile(rb"\$\{\w+\}")


class Choice:
    """Edits that fit together, by file.  Groups go in whole or not at all; an edit that several groups have is made once."""

    def __init__(self) -> None:
        self.edits: dict[str, list[Edit]] = {}
        self._sorted: dict[str, list[Key]] = {}
        self._taken: set[FileEdit] = set()

    def offer(self, group: tuple[FileEdit, ...]) -> bool:
        """Take *group* if none of its edits clashes with one that was taken, or with another of its own."""
        own = [one for one in dict.fromkeys(group) if one not in self._taken]
        if not fits_itself(own) or any(self._clashes(edit) for edit in own):
            return False
        self._taken.update(own)
        for one in own:
            insort(self._sorted.setdefault(one.path, []), (one.edit.start, one.edit.end))
            self.edits.setdefault(one.path, []).append(one.edit)
        return True

    def _clashes(self, one: FileEdit) -> bool:
        """Taken edits lie in order without overlap, so that only the neighbours count."""
        taken, edit = self._sorted.get(one.path, []), one.edit
        at = bisect_left(taken, (edit.start, edit.end))
        for start, end in reversed(taken[max(0, at - 8):at]):
            if end > edit.start and start < edit.end:
                return True
            if end > start:
                break
        return any(edit.start < end for start, end in _until(taken, at, edit.end))


def _until(taken: list[Key], at: int, end: int) -> Iterable[Key]:
    while at < len(taken) and taken[at][0] < end:
        yield taken[at]
        at += 1


def fits_itself(group: Iterable[FileEdit]) -> bool:
    """Whether no edit of *group* clashes with another one of it."""
    ordered = sorted(group, key=lambda one: (one.path, one.edit.start, one.edit.end))
    pairs = zip(ordered, ordered[1:], strict=False)
    return not any(a.path == b.path and a.edit.clashes(b.edit) for a, b in pairs)


def settled(findings: list[Finding], paths: Iterable[str]) -> list[Finding]:
    """*findings* as they can be handled.

    Edits of texts that are no files, and edits on which the inclusions of a file don't agree, are left to people.
    """
    known = set(paths)
    wanted: dict[tuple[str, str, int], dict[Place | None, set[frozenset[FileEdit]]]] = {}
    for finding in findings:
        if finding.edits:
            own = frozenset(one for one in finding.edits if one.path == finding.place.path)
            by_way = wanted.setdefault(_where(finding), {})
            by_way.setdefault(finding.place.included_from, set()).add(own)
    return [_settled(finding, known, wanted.get(_where(finding), {})) for finding in findings]


def _where(finding: Finding) -> tuple[str, str, int]:
    return finding.rule, finding.place.path, finding.place.line


def _settled(finding: Finding, known: set[str], ways: dict[Place | None, set[frozenset[FileEdit]]]) -> Finding:
    if not finding.edits:
        return finding
    if finding.safety is Safety.MANUAL:
        return replace(finding, edits=())
    if any(one.path not in known for one in finding.edits):
        return by_hand(finding, "this text can't be edited here")
    if len({frozenset(edits) for edits in ways.values()}) > 1:
        return by_hand(finding, "the file is included more than once, and each inclusion needs another change")
    return finding


def why_by_hand(finding: Finding, estate: Estate) -> str:
    """The reason why the edits would guess: they read the value of a variable or of a template's mark; "" for
    none.
    """
    if not fits_itself(dict.fromkeys(finding.edits)):
        return "its edits contradict each other"
    for path, group in _by_file(finding.edits).items():
        file = estate.files[path]
        before = b"\n".join(file.document.bytes[edit.start : edit.end] for edit in group)
        after = b"\n".join(edit.text for edit in group)
        touched = b"\n".join(_lines_of(file.document.bytes, edit) for edit in group)
        if file.template and (has_mark(touched) or has_mark(after)):
            return MARKED
        lost = next((name for name in _VARIABLE.findall(before) if name not in after), b"") if after.strip() else b""
        if lost:
            return f"the text would lose {lost.decode('latin-1')}"
    return ""


def _lines_of(data: bytes, edit: Edit) -> bytes:
    """The lines that *edit* touches; none where it inserts lines of its own, or puts another name for the
    first word.
    """
    start = data.rfind(b"\n", 0, edit.start) + 1
    inserts = edit.start == edit.end == start
    renames = edit.end > edit.start and data[start : edit.end].strip() == data[edit.start : edit.end].strip() and b"\n" not in edit.text
    if inserts or (renames and data[edit.end : edit.end + 1] in (b" ", b"\t")):
        return b""
    end = data.find(b"\n", max(edit.end - 1, edit.start))
    return data[start : len(data) if end < 0 else end]


def _by_file(edits: Iterable[FileEdit]) -> dict[str, list[Edit]]:
    found: dict[str, list[Edit]] = {}
    for one in edits:
        found.setdefault(one.path, []).append(one.edit)
    return found


def by_hand(finding: Finding, why: str) -> Finding:
    """*finding* without its edits."""
    remedy = f"{finding.remedy}; by hand, because {why}" if finding.remedy and why != MARKED else f"by hand, because {why}"
    return replace(finding, safety=Safety.MANUAL, edits=(), remedy=remedy)
