"""C25: listings take titles and descriptions from .xhtml files too.

Document: documents/C25-xhtml-titles.md
"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the lines that enable titles in listings."""
    for line in tree.named("indexoptions"):
        if any(word.lower().lstrip("+") == "scanhtmltitles" for word in line.words()):
            yield Finding(
                "C25",
                line.place,
                "listings show the titles of .xhtml files as descriptions; 2.2 left them empty",
                ("do nothing, unless the column must stay empty: then give such files an AddDescription"),
                Risk.COSMETIC,
            )


RULE = Rule("C25", "xhtml-titles", "Listings show the titles of .xhtml files", check)
