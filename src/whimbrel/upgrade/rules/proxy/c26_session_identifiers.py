"""C26: CacheIgnoreURLSessionIdentifiers matches whole names.
Document: documents/C26-session-identifiers.md"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.syntax.words import quoted
from whimbrel.upgrade.edits.helpers import change_args
from whimbrel.upgrade.model import Finding, Risk, Safety
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree

FULL_NAMES: Final = (
    "jsessionid",
    "PHPSESSID",
    "SESSIONID",
    "osCsid",
    "zenid",
    "CFID",
    "CFTOKEN",
    "ASPSESSIONID",
)
"""Names that servers and frameworks use."""
MESSAGE: Final = "2.2 also ignored parameters that end with this name"


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield names that are the end of a usual one, which 2.4 does not match; the others get a note."""
    for line in tree.named("cacheignoreurlsessionidentifiers"):
        words = line.words()
        if not words or any(word.lower() == "none" for word in words):
            continue
        added = [
            name for name in FULL_NAMES if name not in words and any(_part(word, name) for word in words)
        ]
        if added:
            yield Finding(
                "C26",
                line.place,
                f"{MESSAGE}; 2.4 compares whole names",
                f"write the whole parameter: {', '.join(added)}",
                Risk.CHANGES,
                Safety.REVIEW,
                change_args(tree, line, " ".join(map(quoted, [*words, *added]))),
            )
        elif not any(_part(word, name) for word in words for name in FULL_NAMES):
            yield Finding(
                "C26",
                line.place,
                f"{MESSAGE}; 2.4 compares whole names",
                "add the whole names of other parameters that are meant",
                Risk.COSMETIC,
            )


def _part(word: str, name: str) -> bool:
    """Return True if *word* is the end of *name*, but not itself one of the usual names."""
    return word not in FULL_NAMES and len(word) < len(name) and name.endswith(word)


RULE = Rule("C26", "session-identifiers", "CacheIgnoreURLSessionIdentifiers takes whole names", check)
