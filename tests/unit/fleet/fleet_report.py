"""A report of five servers, with hostile names."""

from __future__ import annotations

from whimbrel.fleet.model import FleetReport, RuleCount, ServerResult
from whimbrel.upgrade.model import Risk

RULES = (
    RuleCount("C17", Risk.BREAKS, 1195),
    RuleCount("C17", Risk.BREAKS, 5, True),
    RuleCount("C20", Risk.CHANGES, 2),
)
HOSTILE = "<b>\x1b[31m\xe9"
"""A name with markup, an escape sequence and a byte that is no UTF-8."""


def fleet_report() -> FleetReport:
    """Return the report of a check."""
    return FleetReport(
        "check",
        [
            ServerResult(
                "alpha",
                "/f/alpha",
                "findings",
                1,
                RULES,
                3,
                50,
                900,
                seconds=1.25,
                has_page=True,
                review=7,
            ),
            ServerResult(
                "beta",
                "/f/beta",
                "findings",
                1,
                RULES,
                3,
                same_as="alpha",
                has_page=True,
                review=7,
            ),
            ServerResult("gamma", "/f/gamma", "nothing to do", 0, seconds=75),
            ServerResult("delta", "/f/delta", "not read", 2, undecided=1, fault="conf: Permission denied"),
            ServerResult(HOSTILE, f"/f/{HOSTILE}", "not decided", 3, undecided=1, fault=f"{HOSTILE}: odd"),
        ],
        6,
        {"C17": "order-allow-deny"},
        seconds=252.4,
        workers=2,
    )
