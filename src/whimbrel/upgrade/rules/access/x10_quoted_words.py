"""X10: Order with a blank, Require with quotes.  Document: documents/X10-quoted-words.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.findings import findings_of_rule
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the sections with a quoted argument of Require, or a blank in Order."""
    yield from findings_of_rule(tree, "X10")


RULE = Rule("X10", "quoted-words", "Order with a blank, Require with quotes", check)
