"""C22: A section's Require replaces the outer one.  Document: documents/C22-require-replaces.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.findings import findings_of_rule
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections whose Require lines replace outer ones in 2.4."""
    yield from findings_of_rule(tree, "C22")


RULE = Rule("C22", "require-replaces", "A section's Require replaces the outer one", check)
