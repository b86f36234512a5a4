"""The journal of the upgrades of a tree, in the user's state directory.

It names files that an undo replaces, so it is read only if the user alone can have written it, and if it is
of this tree.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from typing import Any, Final

from whimbrel.base.accounts import effective_user
from whimbrel.base.file_writing import Tree
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.printable import printable_line
from whimbrel.upgrade.apply.file_digests import FileDigests
from whimbrel.upgrade.apply.left_decisions import LeftDecision, require_texts
from whimbrel.upgrade.apply.state_directory import JOURNAL, StateDirectory
from whimbrel.upgrade.apply.written_edits import WrittenEdit

StepHook = Callable[[str], None]
"""Called before each step that changes the disk, with its name."""
_VERSION: Final = 2
_STATES: Final = ("preparing", "renaming", "done", "undoing")


class WriteError(Exception):
    """The reason why nothing was written or undone, in one line; the text names the file."""

    def __init__(self, text: str) -> None:
        super().__init__(printable_line(text))


@dataclass(slots=True)
class JournalEntry:
    """One file.

    Attributes:
        target: the path with all links resolved.
        backup: the path of the backup.
        before: the digest of the bytes of the backup.
        digest: the digest of the bytes that the upgrade wrote.
        new: the file of the state directory with the new contents, until they are in place.
        temporary: the name that the new file has beside the target before it is renamed.
        fresh: this run creates the backup.
        present: the digest of the bytes that the run replaces.
        lines: the digest of the written lines without comments; "" in journals of older versions.
    """

    target: str
    backup: str
    before: str
    digest: str
    new: str = ""
    temporary: str = ""
    fresh: bool = True
    present: str = ""
    lines: str = ""


_TEXTS: Final = ("target", "backup", "before", "digest", "new", "temporary", "present", "lines")
_FIELDS: Final = (*_TEXTS, "fresh")


@dataclass(slots=True)
class Journal:
    """The record of the upgrades of a tree.

    Attributes:
        state: that of the last run.
        tops: the directories below which the user let files be written.
        is_open: the user let files be written everywhere.
        read: the digests of the files that the upgrades have read, changed or not, from before the first one
            that read them, by real path; empty in journals of older versions.
        left: what the upgrades leave to a person.
        written: the lines that the upgrades wrote; empty in journals of older versions.
    """

    directory: StateDirectory
    state: str = "done"
    entries: list[JournalEntry] = field(default_factory=list)
    tops: list[str] = field(default_factory=list)
    is_open: bool = False
    read: dict[str, FileDigests] = field(default_factory=dict)
    left: tuple[LeftDecision, ...] = ()
    written: tuple[WrittenEdit, ...] = ()

    @classmethod
    def load(cls, directory: StateDirectory) -> Journal:
        """Read the journal, empty if there is none; raises WriteError if it is not the user's, of another
        tree or malformed.
        """
        path = f"{directory.path}/{JOURNAL}"
        try:
            with directory.place(JOURNAL) as place:
                status = place.status()
                if status is None:
                    return cls(directory)
                if status.st_uid != effective_user() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                    raise WriteError(f"{path}: not obeyed: another user can have written it")
                document: dict[str, Any] = json.loads(place.read()[0])
        except FileNotFoundError:
            return cls(directory)
        except OSError as problem:
            raise WriteError(f"{path}: {problem.strerror}") from None
        except (ValueError, RecursionError):
            raise WriteError(f"{path} is no journal of an upgrade") from None
        return cls._of(document, directory, path)

    @classmethod
    def _of(cls, document: dict[str, Any], directory: StateDirectory, path: str) -> Journal:
        try:
            if document["version"] != _VERSION or document["state"] not in _STATES:
                raise WriteError(f"{path} is no journal of this version of whimbrel")
            if document["tree"] != directory.tree:
                raise WriteError(f"{path}: not obeyed: it is of {document['tree']}")
            entries = [JournalEntry(**entry) for entry in document["entries"]]
            read = {path: FileDigests(*pair) for path, pair in document.get("read", {}).items()}
            left = tuple(map(LeftDecision.load, document.get("left", [])))
            written = tuple(map(WrittenEdit.load, document.get("written", [])))
            tops = document["tops"]
            is_open = document["is_open"]
            require_texts(*tops, *read, *(text for pair in read.values() for text in pair))
            require_texts(*(getattr(entry, name) for entry in entries for name in _TEXTS))
            if not isinstance(tops, list) or not all(
                isinstance(flag, bool) for flag in (is_open, *(entry.fresh for entry in entries))
            ):
                raise TypeError("a list or flag of another type")
            return cls(directory, document["state"], entries, tops, is_open, read, left, written)
        except (AttributeError, KeyError, TypeError, ValueError):
            raise WriteError(f"{path} is no journal of an upgrade") from None

    def tree(self) -> Tree:
        """Return the tree in which the files of the journal may be."""
        return Tree(*map(to_bytes, self.tops), is_open=self.is_open)

    def save(self, state: str, hook: StepHook) -> None:
        """Write the journal in one step; it is on disk on return."""
        hook(f"journal {state}")
        self.state = state
        document = {
            "version": _VERSION,
            "tree": self.directory.tree,
            "state": state,
            "tops": self.tops,
            "is_open": self.is_open,
            "read": self.read,
            "left": self.left,
            "written": self.written,
            "entries": [{name: getattr(entry, name) for name in _FIELDS} for entry in self.entries],
        }
        with self.directory.place(JOURNAL, create=True) as place:
            place.replace(json.dumps(document, indent=1).encode("ascii"), mode=0o600)

    def remove(self, hook: StepHook) -> None:
        """Remove the journal: nothing remains to complete or to undo."""
        hook("journal gone")
        try:
            with self.directory.place(JOURNAL) as place:
                place.remove()
                place.sync()
        except FileNotFoundError:
            return
        self.directory.remove()
