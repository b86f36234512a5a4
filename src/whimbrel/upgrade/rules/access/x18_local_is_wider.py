"""X18: Allow from 127.0.0.1 is not Require local.  Document: documents/X18-local-is-wider.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.advisories import loopback
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each section that admits the loopback address."""
    yield from loopback(tree)


RULE = Rule("X18", "local-is-wider", "Allow from 127.0.0.1 is not Require local", check)
