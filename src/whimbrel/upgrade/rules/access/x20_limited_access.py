"""X20: <Limit> and <LimitExcept> around access control.  Document: documents/X20-limited-access.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.limited import limited
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each <Limit> or <LimitExcept> with access control."""
    yield from limited(tree)


RULE = Rule("X20", "limited-access", "<Limit> and <LimitExcept> around access control", check)
