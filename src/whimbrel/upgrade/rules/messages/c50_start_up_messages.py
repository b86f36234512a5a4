"""C50: messages of 2.4 when it refuses to start with a configuration of 2.2.

Document: documents/C50-start-up-messages.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.edits.load_module import load_module_lines
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree
from whimbrel.upgrade.source.queries import is_module_missing

INVALID: Final = (
    "Invalid command '{}', perhaps misspelled or defined by a module not included in the server configuration"
)
HOMES: Final = (
    ("user", "unixd_module", "load mod_unixd (row C45)"),
    (
        "require",
        "authz_core_module",
        "load mod_authz_core and the modules of the conditions (row C05)",
    ),
    ("order", "access_compat_module", "write Require in its place (row C17)"),
    ("addoutputfilterbytype", "filter_module", "load mod_filter (row C34)"),
)
"""Directives in modules that 2.2 did not have or did not need; Debian compiles mod_unixd in."""


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first line of each directive that 2.4 would not know, with its message."""
    for name, module, advice in HOMES:
        if not is_module_missing(tree, module) or load_module_lines(tree).is_built_in(module):
            continue
        for line in tree.named(name):
            yield Finding(
                "C50",
                line.place,
                f"without an upgrade 2.4 logs: {INVALID.format(line.node.name)}",
                advice,
                Risk.COSMETIC,
            )
            break


RULE = Rule("C50", "start-up-messages", "What 2.4 logs when it cannot start", check)
