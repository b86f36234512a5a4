"""Paths of the backups of an upgrade: no Include may read them.

An Include of a directory reads every file below it, those whose names begin with a dot too; wildcards match
the names of backups as well.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from whimbrel.base.fnmatch import compile_fnmatch
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.real_paths import real_path
from whimbrel.config.includes import has_wildcards
from whimbrel.upgrade.source.config_tree import ConfigTree, Role

BACKUP: Final = ".whimbrel-2.2~"
DIRECTORY: Final = ".whimbrel-2.2"
"""The directory of backups that cannot be beside their files."""
INCLUDED: Final = re.compile(
    r"\.d\Z|-(?:enabled|available)\Z|\A(?:sites|vhosts?|virtual|includes?)\Z", re.IGNORECASE
)
"""Names of directories that an Include of a main file outside of the input probably reads."""

IsRead = Callable[[str], bool]


def nowhere(_path: str) -> bool:
    """Return False: no Include is known."""
    return False


def present_backup(path: str, root: str) -> str:
    """Return the path of the backup that an upgrade of the tree *root* keeps of *path*, "" for none."""
    target = real_path(path)
    top = real_path(root).rstrip("/")
    inside = target[len(top) + 1 :] if target.startswith(f"{top}/") else target.lstrip("/")
    backups = target + BACKUP, f"{top}/{DIRECTORY}/{inside}{BACKUP}"
    return next((backup for backup in backups if os.path.isfile(to_bytes(backup))), "")


def read_by_includes(tree: ConfigTree) -> IsRead:
    """Return a test that is True for paths that an Include of *tree*, or a probable one around it, reads."""
    patterns = [(_real(path), has_wildcards(path)) for path in dict.fromkeys(tree.include_patterns)]
    directories = {
        os.path.dirname(_real(path)) for path, file in tree.files.items() if file.role is Role.FRAGMENT
    }
    likely = {directory for directory in directories if INCLUDED.search(os.path.basename(directory))}

    def is_read(path: str) -> bool:
        real = _real(path)
        if any(real.startswith(f"{directory}/") for directory in likely):
            return True
        return any(
            _matches(pattern, real) if wild else real.startswith(f"{pattern}/") for pattern, wild in patterns
        )

    return is_read


def _real(path: str) -> str:
    """Return *path* with the symbolic links before its first wildcard resolved."""
    parts = path.split("/")
    at = next((at for at, part in enumerate(parts) if has_wildcards(part)), len(parts))
    plain = real_path("/".join(parts[:at]) or "/").rstrip("/")
    return "/".join([plain, *parts[at:]])


def _matches(pattern: str, path: str) -> bool:
    """Return True if *path* or a parent directory matches the pattern of an Include; no wildcard matches a
    leading dot."""
    parts = pattern.split("/")
    names = path.split("/")
    return len(parts) <= len(names) and all(map(_same, parts, names))


def _same(part: str, name: str) -> bool:
    if not has_wildcards(part):
        return part == name
    return name[:1] != "." and compile_fnmatch(part).search(name) is not None


def places_of(backups: Iterable[str], directory: str) -> str:
    """Return the sentence about the places of *backups*, relative to the tree *directory*; "" for none."""
    top = real_path(directory)
    counts = Counter(_place(path, top) for path in backups)
    words = [f"{count} {place}" for place, count in counts.items()]
    return f"backups, which no Include reads: {', '.join(words)}" if words else ""


def _place(backup: str, top: str) -> str:
    above, found, _below = backup.partition(f"/{DIRECTORY}/")
    if not found:
        return f"beside the files, as FILE{BACKUP}"
    inside = above == top or above.startswith(f"{top}/")
    return f"in {f'{above}/{DIRECTORY}'[len(top) + 1 :] if inside else f'{above}/{DIRECTORY}'}/"


def backup_path(target: str, suffix: str, directory: str, state: str, is_read: IsRead) -> str:
    """Return the path of the backup of *target*.

    It is beside *target*, or below *directory*, the tree, or else below the user's *state* directory: no
    Include reads it there.
    """
    beside = target + suffix
    if not is_read(beside):
        return beside
    top = directory.rstrip("/")
    inside = target[len(top) + 1 :] if target.startswith(top + "/") else target.lstrip("/")
    within = f"{top}/{DIRECTORY}/{inside}{suffix}"
    return within if not is_read(within) else f"{state}/{DIRECTORY}/{inside}{suffix}"
