"""C30: mod_deflate does not compress small bodies. Document: documents/C30-deflate-small.md"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from whimbrel.upgrade.model import Finding, Risk
from whimbrel.upgrade.rule import Rule
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

FILTERS = ("setoutputfilter", "addoutputfilter", "addoutputfilterbytype", "filterprovider")


def compresses(line: Statement) -> bool:
    """Return True if a filter line names DEFLATE."""
    words = line.words()[1:2] if line.name == "filterprovider" else line.words()[:1]
    return any("DEFLATE" in word.upper().split(";") for word in words)


def check(tree: ConfigTree) -> Iterator[Finding]:
    """Yield the first line that compresses; no text restores the behaviour of 2.2."""
    lines = sorted(
        (line for line in tree.named(*FILTERS) if compresses(line)),
        key=lambda line: (line.place.path, line.place.line),
    )
    for line in islice(lines, 1):
        yield Finding(
            "C30",
            line.place,
            "2.4 sends bodies of 68 bytes or less uncompressed and without Vary",
            "do nothing: clients that accept gzip accept the uncompressed body too",
            Risk.COSMETIC,
        )


RULE = Rule("C30", "deflate-small", "Small bodies are not compressed", check)
