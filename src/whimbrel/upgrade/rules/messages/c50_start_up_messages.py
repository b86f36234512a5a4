"""C50: directives with which 2.4 does not start, and its message, where no other rule has an edit for them.

Document: documents/C50-start-up-messages.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.files.needed_modules import needed_modules
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import is_module_missing

INVALID: Final = (
    "Invalid command '{}', perhaps misspelled or defined by a module not included in the server configuration"
)
HOMES: Final = (
    ("user", "unixd_module", "load mod_unixd (C45)"),
    (
        "require",
        "authz_core_module",
        "load mod_authz_core and the modules of the conditions (C05)",
    ),
    ("order", "access_compat_module", "write Require in its place (C17)"),
    ("addoutputfilterbytype", "filter_module", "load mod_filter (C34)"),
)
"""Directives in modules that 2.2 did not have or did not need, with the modules and what to do."""


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first line of each directive that 2.4 would not know, with its message."""
    needed = {need.identifier for need in needed_modules(tree)}
    for name, module, advice in HOMES:
        if module not in needed or not is_module_missing(tree, module):
            continue
        for line in tree.named(name):
            yield Finding(
                "C50",
                line.place,
                f"2.4 does not start: {INVALID.format(line.node.name)}",
                advice,
                Risk.BREAKS,
            )
            break


RULE = Rule("C50", "start-up-messages", "What 2.4 logs when it cannot start", check)
