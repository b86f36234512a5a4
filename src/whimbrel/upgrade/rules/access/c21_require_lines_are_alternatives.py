"""C21: Several Require lines are alternatives.  Document: documents/C21-require-lines-are-alternatives.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.findings import findings_of_rule
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections whose Require lines belong to several modules."""
    yield from findings_of_rule(tree, "C21")


RULE = Rule("C21", "require-lines-are-alternatives", "Several Require lines are alternatives", check)
