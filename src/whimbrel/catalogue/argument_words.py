"""Fixed words among the arguments of directives: `argument_words.tsv`.

The fields are the name of a directive, words of both versions, words of 2.4 alone, and words of 2.2 alone.
Directives that take On or Off alone have no line: their row says so.
"""

from __future__ import annotations

import os.path
from functools import cache

from whimbrel.base.latin1 import to_text

VERSIONS_OF_FIELDS = ("", "2.4", "2.2")


@cache
def argument_words() -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the words of each directive (lower case), each with its only version, "" for both."""
    with open(os.path.join(os.path.dirname(__file__), "argument_words.tsv"), "rb") as file:
        rows = [line.split("\t") for line in to_text(file.read()).split("\n")[1:-1]]
    return {
        name.lower(): tuple(
            (word, version)
            for version, words in zip(VERSIONS_OF_FIELDS, fields, strict=True)
            for word in words.split()
        )
        for name, *fields in rows
    }
