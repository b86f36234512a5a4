"""Findings of the upgrade as entries of a report."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.report.model import Report, ReportEntry
from whimbrel.upgrade.check.check import CheckResult
from whimbrel.upgrade.edits.diff import display_path
from whimbrel.upgrade.model import Finding


def entry_of(finding: Finding, directory: str = "", text: str = "") -> ReportEntry:
    """Return *finding* as an entry with paths relative to *directory*; *text* is its source line."""
    via = finding.place.included_from
    return ReportEntry(
        finding.rule,
        display_path(finding.place.path, directory),
        finding.place.line,
        finding.message,
        finding.advice,
        finding.risk,
        finding.needs_review,
        bool(finding.edits),
        f"{display_path(via.path, directory)}:{via.line}" if via is not None else "",
        finding.evidence,
        text,
        finding.new,
        finding.decision,
        finding.old,
        tuple(replace(fix, path=display_path(fix.path, directory)) for fix in finding.fixes),
        finding.in_htaccess,
    )


def as_report(result: CheckResult, directory: str) -> Report:
    """Return *result* as a report with paths relative to *directory*."""
    entries = [
        entry_of(finding, directory, result.texts.get((finding.place.path, finding.place.line), ""))
        for finding in result.findings
    ]
    return Report(
        [display_path(path, directory) for path in result.files],
        entries,
        sum(result.files.values()),
        inputs=list(result.inputs),
        scope=result.scope,
        directory=directory,
    )
