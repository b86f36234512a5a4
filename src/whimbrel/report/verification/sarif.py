"""SARIF of a verification: one result for each cause."""

from __future__ import annotations

from whimbrel.report.formats import sarif
from whimbrel.report.verification.entries import report_of
from whimbrel.verify.verification import VerifyResult


def render(verification: VerifyResult) -> str:
    """Return one run."""
    return sarif.render(report_of(verification))
