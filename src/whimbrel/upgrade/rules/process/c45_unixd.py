"""C45: User and Group are directives of mod_unixd. Document: documents/C45-unixd.md"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.files.needed_modules import missing_module_findings
from whimbrel.upgrade.model import Finding
from whimbrel.upgrade.rule import LOAD_MODULE, Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield mod_unixd if no line loads it and the binary is not known to contain it."""
    yield from missing_module_findings(tree, "C45")


RULE = Rule("C45", "unixd", "User and Group need mod_unixd", check, order=LOAD_MODULE)
