"""C28: CharsetOptions DebugLevel=N is gone.  Document: documents/C28-charset-debug-level.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.content.debug_level import findings
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield every CharsetOptions line with a DebugLevel."""
    return findings(tree, "C28", "charsetoptions", "charset_lite")


RULE = Rule("C28", "charset-debug-level", "CharsetOptions has no DebugLevel", check)
