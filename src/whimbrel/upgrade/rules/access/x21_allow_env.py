"""X21: Allow from env= is Require env.  Document: documents/X21-allow-env.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.advisories import by_environment
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each section with env= in Allow or Deny."""
    yield from by_environment(tree)


RULE = Rule("X21", "allow-env", "Allow from env= is Require env", check)
