"""X14: Require all granted overrides the Require lines beside it.

Document: documents/X14-all-granted-overrides.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.advisories import outvoted
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each section of 2.4 whose Require all granted leaves other lines without effect."""
    yield from outvoted(tree)


RULE = Rule("X14", "all-granted-overrides", "Require all granted beside Require outvotes it", check)
