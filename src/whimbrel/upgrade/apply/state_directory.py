"""The user's directory for the state of upgrades: journals, new contents, backups without another place.

It is never in the tree: who may write the tree could put a journal there, and the next upgrade of root would
do what it says. Each tree has a directory below it, named by a digest of the tree's real path.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Final

from whimbrel.base.accounts import effective_user, user_numbered
from whimbrel.base.file_reading import read_regular
from whimbrel.base.file_writing import NotPrivate, Place, Tree
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.real_paths import without_links

JOURNAL: Final = "journal.json"
_SYSTEM: Final = b"/var/lib"


class NoStateDirectory(Exception):
    """Why the state of an upgrade cannot be kept; a sentence for the user."""


def state_home() -> bytes:
    """Return the directory that XDG_STATE_HOME names, else that of the user's home; raises NoStateDirectory.

    Root may run with the HOME of another user, who could write there: /var/lib is used then.
    """
    named = os.fsencode(os.environ.get("XDG_STATE_HOME", ""))
    if named.startswith(b"/"):
        return named
    home = os.fsencode(os.environ.get("HOME", "")) or _home_of_user()
    with suppress(OSError):
        if home.startswith(b"/") and os.stat(home).st_uid == effective_user():
            return os.path.join(home, b".local/state")
    if effective_user() == 0:
        return _SYSTEM
    raise NoStateDirectory("no directory for the journal of the upgrade: set XDG_STATE_HOME")


def _home_of_user() -> bytes:
    try:
        return os.fsencode(user_numbered(effective_user()).pw_dir)
    except KeyError:
        return b""


def _key(real: bytes) -> bytes:
    """Return the name of the directory of the tree with a real path."""
    return hashlib.sha256(real).hexdigest()[:32].encode()


def _changed(directory: bytes) -> int:
    """Return the time at which the journal of a directory was written, in nanoseconds; 0 without one."""
    try:
        return os.stat(os.path.join(directory, JOURNAL.encode())).st_mtime_ns
    except OSError:
        return 0


class StateDirectory:
    """The directory of one tree.

    Attributes:
        path: of this directory; it is made by the first `create`.
        tree: the real path of the tree.
    """

    def __init__(self, directory: str) -> None:
        real = without_links(to_bytes(directory))
        self.tree = to_text(real)
        home = state_home()
        self._home = home
        self.path = to_text(os.path.join(home, b"whimbrel/upgrades", _key(real)))

    @classmethod
    def newest(cls, count: int) -> Iterator[StateDirectory]:
        """Yield the directories of the *count* trees that were upgraded last, of each the tree that stood at
        its path; nothing if the state of upgrades is kept nowhere.
        """
        try:
            top = os.path.join(state_home(), b"whimbrel/upgrades")
            with os.scandir(top) as entries:
                found = [(_changed(entry.path), entry.path) for entry in entries]
        except (OSError, NoStateDirectory):
            return
        for _, path in sorted(found, reverse=True)[:count]:
            try:
                tree = json.loads(read_regular(os.path.join(path, JOURNAL.encode())))["tree"]
                real = to_bytes(tree)
            except (OSError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
                continue
            if os.path.basename(path) == _key(real):
                directory = cls.__new__(cls)  # a tree that is gone may have a link in its place
                directory.tree = tree
                directory.path = to_text(path)
                directory._home = state_home()
                yield directory

    def place(self, name: str, *, create: bool = False) -> Place:
        """Return the place of a file of this directory; raises OSError and NoStateDirectory.

        The directory and those above it up to ``whimbrel`` must be the user's alone.
        """
        try:
            tree = Tree.create(self._home, 0o700, is_private=True) if create else self._tree()
            return tree.place(os.path.join(to_bytes(self.path), to_bytes(name)), create=create, follow=False)
        except NotPrivate as problem:
            raise NoStateDirectory(
                f"{to_text(problem.directory)}: not used for the journal of the upgrade: {problem.strerror}"
            ) from None
        except FileNotFoundError:
            if create:
                raise self._refused("No such file or directory") from None
            raise
        except OSError as problem:
            raise self._refused(problem.strerror or "") from None

    def _tree(self) -> Tree:
        return Tree(self._home, is_private=True)

    def _refused(self, reason: str) -> NoStateDirectory:
        return NoStateDirectory(
            f"{self.path}: {reason}: the journal of the upgrade cannot be kept there; "
            "set XDG_STATE_HOME to a directory of yours"
        )

    def remove(self) -> None:
        """Remove this directory if it is empty."""
        with suppress(OSError), self._tree().place(to_bytes(self.path), follow=False) as place:
            place.remove_directory()
