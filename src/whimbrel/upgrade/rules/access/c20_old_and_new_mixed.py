"""C20: Order, Allow, Deny beside Require in one request.  Document: documents/C20-old-and-new-mixed.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.findings import findings_of_rule
from whimbrel.upgrade.access_control.half_migrated import half_migrated
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections that keep Order, Allow, Deny because no Require decides alike, and those that mix
    both."""
    yield from findings_of_rule(tree, "C20")
    yield from half_migrated(tree)


RULE = Rule("C20", "old-and-new-mixed", "Order, Allow, Deny beside Require in one request", check)
