"""Texts that an upgrade wrote, as its journal shows: they are for 2.4, whatever 2.2 does with them."""

from __future__ import annotations

import os

from whimbrel.base.real_paths import real_path
from whimbrel.upgrade.apply.journal import Journal, WriteError
from whimbrel.upgrade.apply.state_directory import NoStateDirectory, StateDirectory
from whimbrel.upgrade.apply.transaction import is_upgraded


def is_written_by_upgrade(path: str) -> bool:
    """Return True if the file at *path* is what an upgrade made of it, also with later changes.

    The journal is that of the directory of the file, or of one above it, which the upgrade was named.
    """
    real = real_path(path)
    directory = os.path.dirname(real)
    while directory != os.path.dirname(directory):
        if _is_of(directory, real):
            return True
        directory = os.path.dirname(directory)
    return False


def _is_of(directory: str, path: str) -> bool:
    """Return True if the journal of the tree *directory* shows that; False without one of this user."""
    try:
        journal = Journal.load(StateDirectory(directory))
    except (NoStateDirectory, WriteError):
        return False
    return any(entry.target == path and is_upgraded(entry, journal) for entry in journal.entries)
