"""C35: `#if expr` has another language; SSILegacyExprParser selects that of 2.2.

Document: documents/C35-ssi-expressions.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.content.ssi import findings_of_conditions
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each place with SSI that holds no error documents."""
    yield from findings_of_conditions(tree, "C35")


RULE = Rule("C35", "ssi-expressions", "SSI conditions have another language", check)
