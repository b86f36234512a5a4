"""X17: header fields with an underscore do not reach programs. Document: documents/X17-underscores.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree

ACTIONS: Final = frozenset({"set", "append", "add", "merge", "setifempty"})


def check(tree: ConfigTree) -> Iterator[Finding]:
    """RequestHeader lines that make such a field: CGI, SSI and expressions saw it as HTTP_NAME."""
    for line in tree.named("requestheader"):
        words = line.words()
        if len(words) > 1 and words[0].lower() in ACTIONS and "_" in words[1].rstrip(":"):
            name = words[1].rstrip(":")
            yield Finding(
                "X17",
                line.place,
                f"2.4 hands no {name} to programs: header fields with an underscore are left out of their environment",
                f"call it {name.replace('_', '-')}, which programs see under the same name; servers behind a proxy see the other one",
                Risk.CHANGES,
            )


RULE = Rule("X17", "underscores", "Header fields with an underscore reach no program", check)
