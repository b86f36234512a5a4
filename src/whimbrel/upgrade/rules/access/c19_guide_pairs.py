"""C19: The documented pairs of old and new text, and the one that does not hold.

Document: documents/C19-guide-pairs.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.findings import findings_of_rule
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections with the guide's pair of both criteria, which deny every client in 2.2."""
    yield from findings_of_rule(tree, "C19")


RULE = Rule(
    "C19", "guide-pairs", "The documented pairs of old and new text, and the one that does not hold", check
)
