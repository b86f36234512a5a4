"""R03: RewriteCond comparisons with < and > apply NC. Document: documents/R03-compared-case.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.modules.mappers.mod_rewrite.args import split_flags, split_line
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.rules.rewriting.lines import without_flags
from whimbrel.upgrade.source.config_tree import ConfigTree

NAMES: Final = frozenset({"nc", "nocase"})


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield RewriteCond comparisons with NC: 2.2 ignores the flag, so both versions agree without it."""
    for line in tree.named("rewritecond"):
        parts = split_line(line.args)
        if parts is None or parts.second.removeprefix("!")[:1] not in ("<", ">"):
            continue
        if any(name.lower() in NAMES for name, _ in split_flags(parts.flags) or ()):
            wanted = without_flags(line, NAMES)
            edits = (line.replace_args(wanted),) if wanted is not None else ()
            yield Finding(
                "R03",
                line.place,
                "2.4 applies NC here and ignores case; 2.2 ignored NC with < and >",
                "remove NC",
                Risk.CHANGES,
                Safety.SAFE if edits else Safety.MANUAL,
                edits,
            )


RULE = Rule("R03", "compared-case", "Comparisons of RewriteCond heed NC", check)
