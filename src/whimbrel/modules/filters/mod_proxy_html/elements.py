"""The document type HTML 4.01, as libxml2's parser has it (elements.tsv).

Columns of the table: element; ``e`` for empty, ``d`` for deprecated ones; its required, optional and
deprecated attributes.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Final, NamedTuple

from whimbrel.base.numbers import split

# elements without end tag
EMPTY: Final = frozenset("area base basefont br col frame hr img input isindex link meta param".split())


class HtmlElement(NamedTuple):
    """One element of the document type."""

    is_deprecated: bool
    required: frozenset[str]
    optional: frozenset[str]
    deprecated: frozenset[str]


@cache
def elements() -> dict[str, HtmlElement]:
    """Return the elements by name."""
    found = {}
    with open(os.path.join(os.path.dirname(__file__), "elements.tsv"), encoding="ascii") as file:
        for line in file:
            name, kind, *attributes = line.rstrip("\n").split("\t")
            found[name] = HtmlElement("d" in kind, *(frozenset(split(names)) for names in attributes))
    return found
