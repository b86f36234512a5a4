"""Directives whose first argument names what the server writes: logs, locks, sockets, stores.

A copy of a server needs places of its own for them: a test looks for new ones in the tables of directives.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import Enum
from typing import Final


class WrittenKind(Enum):
    """The form of the argument."""

    LOG = "a file, |program or syslog"
    FILE = "a file"
    DIRECTORY = "a directory"
    MECHANISM_FILE = "mechanism:file, with (size) behind it"
    MECHANISM_DIRECTORY = "mechanism:directory"


_NAMES: Final = {
    WrittenKind.LOG: "errorlog customlog transferlog globallog cookielog forensiclog rewritelog jklogfile",
    WrittenKind.FILE: (
        "pidfile scoreboardfile lockfile rewritelock scriptlog scriptsock davlockdb davgenericlockdb "
        "heartbeatstorage ldapsharedcachefile fcgidprocesstablepath sharemempath jkshmfile"
    ),
    WrittenKind.DIRECTORY: (
        "defaultruntimedir coredumpdirectory cacheroot cachelockpath mdstoredir "
        "fcgidipcdir socketpath fastcgiipcdir"
    ),
    WrittenKind.MECHANISM_FILE: "sslmutex sslsessioncache sslstaplingcache cachesocache authncachesocache",
    WrittenKind.MECHANISM_DIRECTORY: "mutex",
}
WRITTEN: Final[Mapping[str, WrittenKind]] = {
    name: kind for kind, names in _NAMES.items() for name in names.split()
}
"""The form of the first argument by the directive's name in lower case."""


def written_path(name: str, word: str) -> str:
    """Return the path in the first argument *word* of a directive in `WRITTEN`, "" if there is none."""
    kind = WRITTEN[name]
    if kind in (WrittenKind.MECHANISM_FILE, WrittenKind.MECHANISM_DIRECTORY):
        path = word.partition(":")[2]
        return path.partition("(")[0] if kind is WrittenKind.MECHANISM_FILE else path
    if kind is WrittenKind.LOG and (word.startswith("|") or word.lower().partition(":")[0] == "syslog"):
        return ""
    return word


def written_directory(name: str, path: str) -> str:
    """Return the directory that the server needs to write *path*, the `written_path` of a directive."""
    is_directory = WRITTEN[name] in (WrittenKind.DIRECTORY, WrittenKind.MECHANISM_DIRECTORY)
    return path if is_directory else os.path.dirname(path)
