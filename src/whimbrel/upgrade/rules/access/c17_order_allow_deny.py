"""C17: Order, Allow, Deny and Satisfy are Require.  Document: documents/C17-order-allow-deny.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.findings import of_rule
from whimbrel.upgrade.access_control.notes import untried
from whimbrel.upgrade.estate import Estate
from whimbrel.upgrade.model import Finding, Rule


def check(estate: Estate) -> Iterator[Finding]:
    """All sections with Order, Allow, Deny or Satisfy."""
    yield from of_rule(estate, "C17")
    yield from untried(estate)


RULE = Rule("C17", "order-allow-deny", "Order, Allow, Deny and Satisfy are Require", check)
