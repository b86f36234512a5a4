"""X14: Require all granted beside Require outvotes it.  Document: documents/X14-all-granted-outvotes.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.access_control.notes import outvoted
from whimbrel.upgrade.estate import ConfigTree
from whimbrel.upgrade.model import Finding, Rule


def check(tree: ConfigTree) -> Iterator[Finding]:
    """A finding for each section of 2.4 whose Require all granted makes other lines idle."""
    yield from outvoted(tree)


RULE = Rule("X14", "all-granted-outvotes", "Require all granted beside Require outvotes it", check)
