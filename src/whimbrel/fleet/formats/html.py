"""HTML page of a fleet, self-contained but for its links."""

from __future__ import annotations

from whimbrel.fleet.model import FleetReport
from whimbrel.fleet.page import fleet_page
from whimbrel.report.page.writing import write


def render(report: FleetReport, following: str = "") -> str:
    """Return the page with the command *following*; servers with pages have links to servers/NAME.html."""
    return write(fleet_page(report, following))
