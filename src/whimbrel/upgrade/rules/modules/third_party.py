"""Third-party modules in configurations of 2.2, and their successors in 2.4.

`third_party.tsv` has one row for each: a regular expression of the module's name, the product, its successor.
"""

from __future__ import annotations

import os
import re
from functools import cache


@cache
def _table() -> tuple[tuple[re.Pattern[str], str, str], ...]:
    with open(os.path.join(os.path.dirname(__file__), "third_party.tsv"), encoding="ascii") as file:
        rows = [line.split("\t") for line in file.read().splitlines()[1:]]
    return tuple((re.compile(row[0], re.IGNORECASE), row[1], row[2]) for row in rows)


def fate(name: str) -> tuple[str, str] | None:
    """Return the product and its successor in 2.4, by identifier, source file or shared object of a module.

    The result is None for an unknown module.
    """
    base = name.strip().rpartition("/")[2].removesuffix(".so").removesuffix(".c").removesuffix("_module")
    return next(((product, text) for pattern, product, text in _table() if pattern.fullmatch(base)), None)
