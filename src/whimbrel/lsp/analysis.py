"""A check of a server, or of a file alone, with the texts of the open documents.

It takes as long as `whimbrel check`, so it runs in a thread; a newer text cancels it at the next rule.
"""

from __future__ import annotations

import threading
from typing import Final

from whimbrel.base.errors import SourceLocation
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.printable import printable_line
from whimbrel.base.programs import without_programs
from whimbrel.base.real_paths import real_path
from whimbrel.config.options import LoadOptions
from whimbrel.lsp.documents import TextDocument
from whimbrel.lsp.line_contexts import FileKind
from whimbrel.lsp.main_files import Unit, sources_of
from whimbrel.upgrade.check.check import Selection, judge
from whimbrel.upgrade.check.fixpoint import RuleError, upgrade
from whimbrel.upgrade.documents.explain import rule_of
from whimbrel.upgrade.model import Finding, UpgradeOptions
from whimbrel.upgrade.source.config_tree import ConfigTree, SourceFile, no_progress
from whimbrel.upgrade.source.reading import Overlay, read_config_tree
from whimbrel.utilities.usage_error import UsageError

STACK_SIZE: Final = 64 << 20
"""Bytes of the stack of the thread of checks: sections may be a thousand deep."""


class Cancelled(Exception):
    """A check whose texts are no longer those of the editor."""


@dataclass(frozen=True, slots=True)
class FileAnalysis:
    """The result of a check.

    Attributes:
        options: those of the server, None for a file alone.
        tree: the configuration as it was read, None if it could not be.
        findings: by path of *tree*.
        texts: the bytes of the open documents with which it was made, by path.
        problem: why nothing was read, "" if something was.
        files: the files of *tree* by path and by real path.
    """

    unit: Unit
    options: LoadOptions | None
    tree: ConfigTree | None
    findings: dict[str, list[Finding]]
    texts: dict[str, bytes]
    problem: str = ""
    files: dict[str, SourceFile] = field(default_factory=dict)

    def file_of(self, path: str) -> SourceFile | None:
        """Return the file of the tree at *path*, by its real path too."""
        return self.files.get(path) or self.files.get(real_path(path))

    def kind_of(self, document: TextDocument) -> FileKind:
        """Return the use of the file of *document*."""
        if document.is_htaccess:
            return FileKind.HTACCESS
        is_main = self.unit.is_server and real_path(self.unit.path) == real_path(document.path)
        return FileKind.MAIN if is_main else FileKind.FRAGMENT


def analyze(unit: Unit, texts: dict[str, bytes], cancelled: threading.Event) -> FileAnalysis:
    """Check *unit*; raises Cancelled. A configuration that cannot be read is a problem of the result."""

    def step(*_progress: object) -> None:
        if cancelled.is_set():
            raise Cancelled

    step()
    try:
        with without_programs():
            sources = sources_of(unit, texts)
            contents = dict(texts)
            if sources.options is not None:
                contents = {real_path(path): data for path, data in sources.options.overlay.items()} | texts
            tree = read_config_tree(sources, UpgradeOptions(), overlay=Overlay(contents), progress=step)
            tree.report_progress = step
            result = judge(tree, Selection(), sources)
    except (UsageError, RuleError, OSError, RecursionError, MemoryError) as problem:
        return FileAnalysis(
            unit, None, None, {}, texts, printable_line(str(problem) or type(problem).__name__)
        )
    findings: dict[str, list[Finding]] = {}
    for finding in result.findings:
        findings.setdefault(finding.place.path, []).append(finding)
    files = {real_path(path): file for path, file in tree.files.items()} | tree.files
    return FileAnalysis(unit, sources.options, tree, findings, texts, files=files)


def fixed_files(
    analysis: FileAnalysis, number: str, path: str = "", line: int | None = None
) -> dict[str, bytes]:
    """Return the new bytes of the files that the edits of one rule change: those for *line* of *path*, or all
    of them.

    The rule runs alone, so its edits apply to the text that the editor has.
    """
    rule = rule_of(number)
    if rule is None or analysis.tree is None:
        return {}
    tree = analysis.tree

    def decide(finding: Finding, _current: ConfigTree, place: SourceLocation) -> Finding | None:
        is_wanted = finding.rule == number and (line is None or (place.path, place.line) == (path, line))
        return finding if is_wanted else None

    tree.report_progress = no_progress
    try:
        with without_programs():
            return upgrade(tree, [rule], decide).files
    except RuleError:
        return {}
