"""X08: An unknown word after Require is an error.  Document: documents/X08-unknown-require-word.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.findings import findings_of_rule
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections with arguments of Require that no module knows."""
    yield from findings_of_rule(tree, "X08")


RULE = Rule("X08", "unknown-require-word", "An unknown word after Require is an error", check)
