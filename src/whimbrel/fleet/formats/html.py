"""HTML page of a fleet, self-contained but for its links."""

from __future__ import annotations

from whimbrel.fleet.model import FleetReport
from whimbrel.fleet.page import fleet_page
from whimbrel.report.page.writing import write


def render(report: FleetReport) -> str:
    """Return the page; servers with pages have links to servers/NAME.html beside it."""
    return write(fleet_page(report))
