"""Comments that exempt lines from rules: ``# whimbrel: ignore`` and ``# whimbrel: ignore[C17,X01]``, on the
line or above it."""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.base.errors import SourceLocation
from whimbrel.upgrade.model import DIFFERENCE, Finding
from whimbrel.upgrade.source.config_tree import ConfigTree, SourceFile
from whimbrel.upgrade.source.marks import marks_in


def is_suppressed(finding: Finding, tree: ConfigTree) -> bool:
    """Return True if a comment exempts the line of the finding, from all rules or from its rule."""
    names = _names_at(finding, tree)
    return names is not None and (not names or finding.rule in names)


def is_recorded(finding: Finding, tree: ConfigTree) -> bool:
    """Return True if a comment that names the rule of the finding exempts its line."""
    return finding.rule in (_names_at(finding, tree) or ())


def reviewed_lines(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each line with a comment that other answers than those of 2.2, which it causes, are
    wanted: ``# whimbrel: ignore[DIFF]``.
    """
    for path, file in tree.files.items():
        for line, names in _suppressions_of(file).items():
            if DIFFERENCE in names:
                yield Finding(DIFFERENCE, SourceLocation(path, line), "2.4 answers otherwise", "")


def _names_at(finding: Finding, tree: ConfigTree) -> frozenset[str] | None:
    """Return the rules that the comment at the finding names, None without one, or where none exempts it."""
    file = tree.files.get(finding.place.path)
    if finding.is_proven or file is None:
        return None
    return _suppressions_of(file).get(finding.place.line)


def _suppressions_of(file: SourceFile) -> dict[int, frozenset[str]]:
    if file.suppressions is None:
        file.suppressions = suppressions(file.document.bytes)
    return file.suppressions


def suppressions(data: bytes) -> dict[int, frozenset[str]]:
    """Return for each exempted line the rules that its comments name; an empty set means all.

    The rules of several comments add up; beside them, one without rules exempts from no others.
    """
    suppressed: dict[int, frozenset[str]] = {}
    if b"whimbrel:" not in data:
        return suppressed
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        for names in marks_in(line) if b"whimbrel:" in line else ():
            exempted = _suppressed_line(lines, number)
            suppressed[exempted] = suppressed.get(exempted, frozenset()) | names
    return suppressed


def _suppressed_line(lines: list[bytes], number: int) -> int:
    """Return the line that a mark in line *number* exempts: that line, or for a comment the next line without
    comment."""
    while number <= len(lines) and lines[number - 1].lstrip().startswith(b"#"):
        number += 1
    return number
