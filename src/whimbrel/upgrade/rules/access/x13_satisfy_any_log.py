"""X13: Satisfy Any logs refusals of requests that are served.

Document: documents/X13-satisfy-any-log.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.advisories import satisfy_any_logs
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield a finding for each section that keeps Satisfy Any."""
    yield from satisfy_any_logs(tree)


RULE = Rule("X13", "satisfy-any-log", "Satisfy Any logs refusals of requests that are answered", check)
