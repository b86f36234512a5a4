"""R07: slashes are merged before <LocationMatch> is matched.  Document: documents/R07-merged-slashes.md"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from whimbrel.syntax.words import getword
from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

SINCE: Final = 39
"""The N of 2.4.N with MergeSlashes, which is On unless set."""
_ASIDE: Final = re.compile(r"\\.|\[\^?\]?[^\]]*\]|\(\?[!=<][^)]*\)")
"""Parts of a pattern whose slashes are not consecutive slashes of a URL."""
_TWO: Final = re.compile(r"//(?![?*{])|/\{[2-9]")
_ACCESS: Final = frozenset({"require", "order", "deny", "allow", "satisfy", "<limit", "<limitexcept"})


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield URL patterns that require two slashes in a row, which merged URLs never have."""
    if tree.options.target < SINCE or any(
        "off" in line.args.lower() for line in tree.named("mergeslashes", include_inactive=True)
    ):
        return
    for section in tree.named("<locationmatch", "<location"):
        pattern = _pattern(section)
        if _TWO.search(_ASIDE.sub("_", pattern)):
            guards = any(child.name in _ACCESS for child in section.children)
            yield Finding(
                "R07",
                section.place,
                (
                    f"{pattern} requires two slashes in a row; since 2.4.39 slashes are merged before the "
                    "match, so the section never applies"
                ),
                "write one slash; MergeSlashes Off restores the behaviour of 2.2 for the whole server",
                Risk.OPENS if guards else Risk.CHANGES,
            )


def _pattern(section: Statement) -> str:
    """Return the expression of a section, "" for a <Location> with a literal path, whose slashes 2.2 merged
    too."""
    word, at = getword(section.args)
    if word == "~":
        return getword(section.args, at)[0]
    return word if section.name == "<locationmatch" else ""


RULE = Rule("R07", "merged-slashes", "Slashes are merged before <LocationMatch>", check)
