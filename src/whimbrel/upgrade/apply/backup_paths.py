"""Where backups and the journal of an upgrade may lie: never where an Include reads them.

An Include of a directory reads every file below it, those whose names begin with a dot too; wildcards match
the name of a backup as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Final

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.includes import has_wildcards
from whimbrel.upgrade.source.config_tree import ConfigTree, Role

DIRECTORY: Final = ".whimbrel-2.2"
"""Holds the backups that may not lie beside their files."""
INCLUDED: Final = re.compile(
    r"\.d\Z|-(?:enabled|available)\Z|\A(?:sites|vhosts?|virtual|includes?)\Z", re.IGNORECASE
)
"""Names of directories that an Include of a main file outside of the input is likely to read."""

IsRead = Callable[[str], bool]


def nowhere(_path: str) -> bool:
    """Return False: no Include is known."""
    return False


def read_by_includes(tree: ConfigTree) -> IsRead:
    """A test of whether some Include of *tree*, or one that is likely in its surroundings, reads a path."""
    patterns = [(_real(path), has_wildcards(path)) for path in dict.fromkeys(tree.include_patterns)]
    directories = {
        os.path.dirname(_real(path)) for path, file in tree.files.items() if file.role is Role.FRAGMENT
    }
    likely = {directory for directory in directories if INCLUDED.search(os.path.basename(directory))}

    def is_read(path: str) -> bool:
        own = _real(path)
        if any(own.startswith(f"{directory}/") for directory in likely):
            return True
        return any(
            _matches(pattern, own) if wild else own.startswith(f"{pattern}/") for pattern, wild in patterns
        )

    return is_read


def _real(path: str) -> str:
    """*path* without symbolic links in front of its first wildcard."""
    parts = path.split("/")
    at = next((at for at, part in enumerate(parts) if has_wildcards(part)), len(parts))
    plain = to_text(os.path.realpath(to_bytes("/".join(parts[:at]) or "/"))).rstrip("/")
    return "/".join([plain, *parts[at:]])


def _matches(pattern: str, path: str) -> bool:
    """Return True if *path* or a directory above it matches the pattern of an Include; no wildcard matches a
    dot at the beginning.
    """
    parts, names = pattern.split("/"), path.split("/")
    return len(parts) <= len(names) and all(map(_same, parts, names))


def _same(part: str, name: str) -> bool:
    if not has_wildcards(part):
        return part == name
    return name[:1] != "." and compile_fnmatch(part).search(name) is not None


def journal_directory(directory: str) -> str:
    """The directory of the journal for an upgrade of *directory*: the one above it where an Include is likely
    to read everything in it.
    """
    return (
        os.path.dirname(directory) if INCLUDED.search(os.path.basename(directory.rstrip("/"))) else directory
    )


def backup_path(target: str, suffix: str, directory: str, is_read: IsRead) -> str:
    """The path of the backup of *target*: beside it, or below *directory* or the nearest directory above that
    no Include reads.
    """
    beside = target + suffix
    if not is_read(beside):
        return beside
    return next((path for path in _elsewhere(target, suffix, directory) if not is_read(path)), beside)


def _elsewhere(target: str, suffix: str, directory: str) -> Iterator[str]:
    top = directory.rstrip("/") or "/"
    while True:
        inside = (
            target[len(top.rstrip("/")) + 1 :]
            if target.startswith(top.rstrip("/") + "/")
            else target.lstrip("/")
        )
        yield f"{top.rstrip('/')}/{DIRECTORY}/{inside}{suffix}"
        if top == "/":
            return
        top = os.path.dirname(top)
