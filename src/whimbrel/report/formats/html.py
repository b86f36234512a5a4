"""HTML page of a report, self-contained."""

from __future__ import annotations

from whimbrel.report.model import Report
from whimbrel.report.page.check_page import check_page
from whimbrel.report.page.writing import write


def render(report: Report) -> str:
    """Return the page: verdict and counts, then the findings by file."""
    return write(check_page(report))
