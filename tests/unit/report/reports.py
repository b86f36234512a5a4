"""A report for tests."""

from __future__ import annotations

from whimbrel.base.errors import SourceLocation
from whimbrel.report.model import Report, ReportEntry
from whimbrel.upgrade.knowledge.scope import KnowledgeScope, UnknownItem, UnknownKind
from whimbrel.upgrade.model import READ_ERROR, Risk


def report() -> Report:
    """Return a report on three files: one with a finding and a note, one partly unreadable, one without
    findings.
    """
    return Report(
        ["conf/httpd.conf", "conf/a,b.conf", "clean.conf"],
        [
            ReportEntry(
                "C42",
                "conf/httpd.conf",
                3,
                "SSLv2 is gone & <over>",
                "take it away",
                Risk.BREAKS,
                is_fixable=True,
                text="SSLProtocol SSLv2",
            ),
            ReportEntry(
                "C52", "conf/httpd.conf", 9, "lines look different", "", Risk.COSMETIC, text="ErrorLog logs/e"
            ),
            ReportEntry(
                READ_ERROR,
                "conf/a,b.conf",
                0,
                "a NUL byte: 100%\nof it",
                "look",
                Risk.CHANGES,
                needs_review=True,
                via="conf/httpd.conf:7",
            ),
        ],
        lines=40,
        titles={"C42": "SSLv2 is gone", "C52": "Log lines"},
        scope=KnowledgeScope(
            items=(
                UnknownItem(
                    UnknownKind.NOT_READ, SourceLocation("conf/a,b.conf", 0), "a NUL byte: 100%\nof it"
                ),
            )
        ),
    )
