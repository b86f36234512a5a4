"""Directives without behaviour that can be left out, since no answer changes: `harmless.tsv`, with the reasons.

A line has a module, its directives (names between blanks, ``SSL*`` for all that begin so), the arguments that are meant (a regular expression for the
whole text in any case, empty for any) and the reason.  The first line that fits counts; a line without a reason takes directives out again.
"""

from __future__ import annotations

import os.path
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache


@dataclass(frozen=True, slots=True)
class Harmless:
    """One line: *names* in lower case, *args* compiled or None."""

    names: tuple[str, ...]
    args: re.Pattern[str] | None
    reason: str


def reason(source: str, name: str, args: str) -> str:
    """Why the directive *name* of *source* (``mod_ssl.c``) with these arguments can be left out; "" when it can't."""
    low = name.lower()
    for line in table().get(source, ()):
        if any(fnmatchcase(low, pattern) for pattern in line.names) and (line.args is None or line.args.fullmatch(args.strip())):
            return line.reason
    return ""


@cache
def table() -> dict[str, tuple[Harmless, ...]]:
    """The lines by source file."""
    found: dict[str, tuple[Harmless, ...]] = {}
    with open(os.path.join(os.path.dirname(__file__), "harmless.tsv"), encoding="utf-8") as file:
        for text in file.read().split("\n")[1:-1]:
            source, names, args, why = text.split("\t")
            line = Harmless(tuple(names.lower().split()), re.compile(args, re.IGNORECASE) if args else None, why)
            found[source] = (*found.get(source, ()), line)
    return found
