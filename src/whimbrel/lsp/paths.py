"""Paths that lines name, on this machine."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from itertools import islice
from typing import Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.copied_paths import CopiedPaths
from whimbrel.config.execute import root_relative
from whimbrel.config.includes import Finder
from whimbrel.lsp.analysis import FileAnalysis
from whimbrel.lsp.documents import TextDocument
from whimbrel.syntax.words import getword

MAX_FILES: Final = 200
"""Files of one line that are shown."""
VARIABLE: Final = re.compile(r"\$\{([^}$\s]*)\}")

OF_FILES: Final = frozenset(
    "include includeoptional loadfile loadmodule authuserfile authgroupfile authdbmuserfile "
    "authdbmgroupfile sslcertificatefile sslcertificatekeyfile sslcertificatechainfile "
    "sslcacertificatefile sslcarevocationfile sslproxycacertificatefile sslproxymachinecertificatefile "
    "typesconfig mimemagicfile errorlog customlog transferlog pidfile scriptlog documentroot "
    "serverroot alias scriptalias wsgiscriptalias <directory sslcacertificatepath sslcarevocationpath "
    "virtualdocumentroot virtualscriptalias coredumpdirectory davlockdb cacheroot sslopensslconfcmd "
    "wsgipythonpath luapackagepath".split()
)
"""Directives with a path among their arguments, in lower case."""
SECOND: Final = frozenset(("alias", "scriptalias", "wsgiscriptalias", "loadmodule"))
"""Directives whose second argument is the path."""

Values = Callable[[str], "str | None"]
"""The value of a variable."""


def expanded(text: str, values: Values) -> str:
    """Return *text* with the variables that have a value."""
    return VARIABLE.sub(lambda match: values(match[1]) or match[0], text)


def absolute(path: str, document: TextDocument, analysis: FileAnalysis | None) -> str:
    """Return the place of a path of a line: below the server root, of a copy where there is one.

    In a file alone it is looked for below the directory of the file and those around it.
    """
    if analysis is not None and analysis.options is not None:
        root = analysis.tree.root if analysis.tree is not None else analysis.options.server_root
        place = root_relative(root, path)
        if not analysis.options.is_copy:
            return place
        copied = CopiedPaths(analysis.options.server_root, analysis.options.copied)
        for line in analysis.tree.named("serverroot") if analysis.tree is not None else ():
            copied.declare_root(getword(line.args)[0].rstrip("/"))
        return copied.place(place) or place
    if path.startswith("/"):
        return path
    directory = os.path.dirname(document.path)
    first = path.partition("/")[0]
    while directory != os.path.dirname(directory):
        if os.path.lexists(to_bytes(f"{directory}/{first}")):
            return f"{directory}/{path}"
        directory = os.path.dirname(directory)
    return os.path.join(os.path.dirname(document.path), path)


def included_files(pattern: str) -> list[str]:
    """Return the files that the argument of an Include stands for, at most MAX_FILES."""
    try:
        return list(islice(Finder(old=False, optional=True).files(pattern), MAX_FILES))
    except (ConfigError, OSError, ValueError):
        return []


def entries(directory: str, beginning: str) -> list[tuple[str, bool]]:
    """Return the names in a directory that begin so, with True for a directory; at most MAX_FILES."""
    found = []
    try:
        with os.scandir(to_bytes(directory)) as listing:
            for entry in listing:
                name = to_text(entry.name)
                if name.startswith(beginning) and (beginning or not name.startswith(".")):
                    found.append((name, entry.is_dir()))
    except (OSError, ValueError):
        return []
    return sorted(found)[:MAX_FILES]
