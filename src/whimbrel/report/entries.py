"""Findings of the upgrade as entries of a report."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.report.model import ReportEntry
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
    )
