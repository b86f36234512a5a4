"""HTML page of a verification, self-contained."""

from __future__ import annotations

from whimbrel.report.page.verify_page import verify_page
from whimbrel.report.page.writing import write
from whimbrel.verify.verification import VerifyResult


def render(verification: VerifyResult, next_command: str = "", first: str = "") -> str:
    """Return the page: verdict, the next command and access, then the differences by cause; *first* is what
    comes before the command.
    """
    return write(verify_page(verification, next_command, first))
