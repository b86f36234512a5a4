"""X17: header fields with an underscore are not passed to programs.

Document: documents/X17-underscores.md
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree

ACTIONS: Final = frozenset({"set", "append", "add", "merge", "setifempty"})


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield RequestHeader lines that set such a field: CGI, SSI and expressions of 2.2 read it
    as HTTP_NAME."""
    for line in tree.named("requestheader"):
        words = line.words()
        if len(words) > 1 and words[0].lower() in ACTIONS and "_" in words[1].rstrip(":"):
            name = words[1].rstrip(":")
            yield Finding(
                "X17",
                line.place,
                (
                    f"2.4 does not pass {name} to programs: it omits header fields with an underscore from "
                    "their environment"
                ),
                (
                    f"rename it to {name.replace('_', '-')}, which programs read under the same name; "
                    "servers behind a proxy get the new name"
                ),
                Risk.CHANGES,
            )


RULE = Rule("X17", "underscores", "Header fields with an underscore reach no program", check)
