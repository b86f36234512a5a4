"""Handler names and the modules that implement them: `handlers.tsv`, httpd's own modules and widespread
others.

A line has a version of httpd (empty for both), a name in lower case in which ``*`` matches any text, and base
names of module files.  A name with a slash is a media type as well: httpd uses the type of a file as its
handler if no handler is set.
"""

from __future__ import annotations

import os.path
from functools import cache

from whimbrel.base.latin1 import to_text


@cache
def handler_table(version: str) -> dict[str, tuple[str, ...]]:
    """Return the module files by pattern, for *version* "2.2" or "2.4"."""
    with open(os.path.join(os.path.dirname(__file__), "handlers.tsv"), "rb") as file:
        rows = [line.split("\t") for line in to_text(file.read()).split("\n")[1:-1]]
    return {name: tuple(modules.split()) for only, name, modules in rows if only in ("", version)}


def modules_of(name: str, version: str) -> tuple[str, ...]:
    """Return the files of the modules that implement the handler *name* (lower case); () if none is known."""
    table = handler_table(version)
    files = table.get(name)
    if files is None:
        from fnmatch import fnmatchcase  # few configurations name an unknown handler

        files = next(
            (modules for pattern, modules in table.items() if "*" in pattern and fnmatchcase(name, pattern)),
            (),
        )
    return files
