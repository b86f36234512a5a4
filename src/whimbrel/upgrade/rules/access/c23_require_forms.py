"""C23: The words of Require are exact.  Document: documents/C23-require-forms.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.findings import findings_of_rule
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections whose Require lines change in spelling only."""
    yield from findings_of_rule(tree, "C23")


RULE = Rule("C23", "require-forms", "The words of Require are exact", check)
