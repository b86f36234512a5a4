"""X12: An outer Satisfy Any reaches inner sections.  Document: documents/X12-outer-satisfy-any.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.findings import findings_of_rule
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections to which an outer Satisfy Any applies."""
    yield from findings_of_rule(tree, "X12")


RULE = Rule("X12", "outer-satisfy-any", "An outer Satisfy Any reaches inner sections", check)
