"""Findings of the upgrade as entries of a report."""

from __future__ import annotations

from whimbrel.report.model import Entry
from whimbrel.upgrade.difference import shown_path
from whimbrel.upgrade.model import Finding


def entry_of(finding: Finding, directory: str = "", text: str = "") -> Entry:
    """*finding* with its paths as seen from *directory*; *text* is its source line."""
    via = finding.place.included_from
    return Entry(
        finding.rule,
        shown_path(finding.place.path, directory),
        finding.place.line,
        finding.message,
        finding.remedy,
        finding.risk,
        finding.needs_review,
        bool(finding.edits),
        f"{shown_path(via.path, directory)}:{via.line}" if via is not None else "",
        finding.evidence,
        text,
        finding.new,
        finding.decision,
    )
