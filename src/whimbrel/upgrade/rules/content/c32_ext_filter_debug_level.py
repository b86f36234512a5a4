"""C32: ExtFilterOptions DebugLevel=N is gone.  Document: documents/C32-ext-filter-debug-level.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.content.debug_level import findings
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every ExtFilterOptions line with a DebugLevel."""
    return findings(tree, "C32", "extfilteroptions", "ext_filter")


RULE = Rule("C32", "ext-filter-debug-level", "ExtFilterOptions has no DebugLevel", check)
