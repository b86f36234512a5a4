"""Unimplemented directives that can be ignored without changing a response: `ignorable.tsv`, with the
reasons.

A line has five fields: module; directives (names between blanks, ``SSL*`` for a prefix); arguments (a regular
expression for the whole text in any case, empty for any); module files; reason.  If one of the module files
is implemented, the line does not apply (``server``: it applies in .htaccess files alone).
The first line that matches counts; a line without a reason exempts its directives.
"""

from __future__ import annotations

import os.path
import re
from collections.abc import Collection
from functools import cache

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final

SERVER: Final = "server"


@dataclass(frozen=True, slots=True)
class IgnorableDirective:
    """One line: *names* in lower case, *args* compiled or None, *unless* base names of module files
    (``mod_proxy``).
    """

    names: tuple[str, ...]
    args: re.Pattern[str] | None
    unless: frozenset[str]
    reason: str


def ignorable_reason(
    source: str, name: str, args: str, implemented: Collection[str] = (), *, in_htaccess: bool = False
) -> str:
    """Return why the directive *name* of *source* (``mod_ssl.c``) with these arguments can be ignored; "" if
    it cannot.

    *implemented* are the base names of the implemented module files.
    """
    from fnmatch import fnmatchcase  # only for modules that are not implemented

    low = name.lower()
    for line in ignorable_table().get(source, ()):
        if any(fnmatchcase(low, pattern) for pattern in line.names) and (
            line.args is None or line.args.fullmatch(args.strip())
        ):
            return (
                ""
                if any(name in implemented or (name == SERVER and not in_htaccess) for name in line.unless)
                else line.reason
            )
    return ""


@cache
def ignorable_table() -> dict[str, tuple[IgnorableDirective, ...]]:
    """Return the lines by source file."""
    ignorable: dict[str, tuple[IgnorableDirective, ...]] = {}
    with open(os.path.join(os.path.dirname(__file__), "ignorable.tsv"), encoding="utf-8") as file:
        for text in file.read().split("\n")[1:-1]:
            source, names, args, unless, why = text.split("\t")
            line = IgnorableDirective(
                tuple(names.lower().split()),
                re.compile(args, re.IGNORECASE) if args else None,
                frozenset(unless.split()),
                why,
            )
            ignorable[source] = (*ignorable.get(source, ()), line)
    return ignorable
