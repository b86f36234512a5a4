"""Findings of the upgrade as entries of a report."""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.report.model import Report, ReportEntry
from whimbrel.upgrade.check.check import CheckResult
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.edits.frame_lines import SourceTexts, frame_lines
from whimbrel.upgrade.model import Finding

_NO_TEXTS: Final[SourceTexts] = {}


def entry_of(
    finding: Finding,
    directory: str = "",
    texts: SourceTexts = _NO_TEXTS,
    lone: frozenset[str] = frozenset(),
) -> ReportEntry:
    """Return *finding* as an entry with paths relative to *directory*; *texts* has its source lines, and
    *lone* the files that no Include of its server reads.
    """
    via = finding.place.included_from
    line = _line_of(finding, texts)
    return ReportEntry(
        finding.rule,
        display_path(finding.place.path, directory),
        line,
        relative_places(finding.message, directory),
        relative_places(finding.advice, directory),
        finding.risk,
        finding.needs_review,
        bool(finding.edits),
        f"{display_path(via.path, directory)}:{via.line}" if via is not None else "",
        relative_places(finding.evidence, directory),
        texts.get((finding.place.path, line), "").strip(),
        finding.new,
        relative_places(finding.decision, directory),
        finding.old,
        tuple(replace(fix, path=display_path(fix.path, directory)) for fix in finding.fixes),
        finding.in_htaccess,
        finding.fails_requests,
        frame_lines(finding, texts),
        finding.place.path in lone,
        display_path(finding.waits_for.path, directory) + f":{finding.waits_for.line}"
        if finding.waits_for is not None
        else "",
        finding.answers,
        finding.unless,
        tuple(one._replace(path=display_path(one.path, directory)) for one in finding.elsewhere),
        stays=finding.stays,
        was_error=finding.was_error,
    )


def relative_places(text: str, directory: str) -> str:
    """Return *text* with each ``FILE:LINE`` of a file below *directory* as the places of findings have it."""
    top = directory.rstrip("/") + "/"
    if top == "/" or top not in text:
        return text
    return re.sub(rf"(?<![\w./-]){re.escape(top)}(?=[^\s:`]+:[0-9])", "", text)


def _line_of(finding: Finding, texts: SourceTexts) -> int:
    """Return the line that a report names: of a finding about a whole .htaccess file the first that goes, or
    the first one about access."""
    line = finding.place.line
    is_section = texts.get((finding.place.path, line), "").lstrip().startswith("<")
    if not finding.in_htaccess or is_section or not finding.old:
        return finding.access_line or line
    directives = (number for number, text in finding.old if not text.lstrip().startswith("#"))
    return max(line, next(directives, line))


def as_report(result: CheckResult, directory: str) -> Report:
    """Return *result* as a report with paths relative to *directory*."""
    entries = [entry_of(finding, directory, result.texts, result.lone) for finding in result.findings]
    return Report(
        [display_path(path, directory) for path in result.files],
        entries,
        sum(count for path, count in result.files.items() if path not in result.lone),
        inputs=list(result.inputs),
        scope=result.scope,
        directory=directory,
        is_complete=result.is_complete,
        is_of_24=result.is_of_24,
        start_fault=result.fault,
        exempted=[  # no edit of a finding that a comment exempts is applied
            replace(entry_of(finding, directory), needs_review=False, is_fixable=False)
            for finding in result.exempted
        ],
        recorded=list(result.recorded),
        is_part=result.is_part,
        lone={display_path(path, directory): result.files[path] for path in result.lone},
    )
