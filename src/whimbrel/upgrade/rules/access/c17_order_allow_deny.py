"""C17: Order, Allow, Deny and Satisfy are Require.  Document: documents/C17-order-allow-deny.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.advisories import bounds_exceeded
from whimbrel.upgrade.access_control.findings import findings_of_rule
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections with Order, Allow, Deny or Satisfy."""
    yield from findings_of_rule(tree, "C17")
    yield from bounds_exceeded(tree)


RULE = Rule("C17", "order-allow-deny", "Order, Allow, Deny and Satisfy are Require", check)
