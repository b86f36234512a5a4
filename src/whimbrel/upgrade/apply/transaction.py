"""Transaction: write all files of an upgrade or none, with backups, recovery and undo.

The new contents go to temporary files, the old files get a second name (``FILE.whimbrel-2.2~``, created once;
`backup_paths` chooses its directory), then the temporary files are renamed. A journal in the server root
records the state, so that any later run can complete or undo it:

    * ``preparing``: no file has changed; temporary files and the backups of this run are leftovers.
    * ``renaming``: every new file is complete on disk; the missing renames can be made.
    * ``done``: the journal names the backups for `undo`.
    * ``undoing``: a missing backup has been restored.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, count
from typing import Any, Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.upgrade.apply.backup_paths import DIRECTORY, IsRead, backup_path, journal_directory, nowhere

BACKUP: Final = ".whimbrel-2.2~"
CHANGED: Final = ".whimbrel-2.4~"
"""The name of a file that was changed after the upgrade, when the upgrade is undone."""
JOURNAL: Final = ".whimbrel-upgrade.json"

StepHook = Callable[[str], None]
"""Called before each step that changes the disk, with its name."""


class WriteError(Exception):
    """The reason why nothing was written or undone; the text names the file."""


@dataclass(slots=True)
class JournalEntry:
    """One file.

    Attributes:
        target: the path with all links resolved.
        backup: the path of the backup.
        digest: the digest of the bytes that the upgrade wrote.
        temporary: the path of the new contents before the rename.
    """

    target: str
    backup: str
    digest: str
    temporary: str = ""
    fresh: bool = True  # this run creates the backup


@dataclass(slots=True)
class Journal:
    """The record of the upgrades of a directory; *state* is that of the last run."""

    path: str
    state: str = "done"
    entries: list[JournalEntry] = field(default_factory=list)

    @classmethod
    def load(cls, directory: str) -> Journal:
        """Read the journal of *directory*, empty if there is none; raises WriteError if it is malformed."""
        path = os.path.join(journal_directory(directory), JOURNAL)
        try:
            with open(to_bytes(path), encoding="ascii") as file:
                document: dict[str, Any] = json.load(file)
            return cls(path, document["state"], [JournalEntry(**entry) for entry in document["entries"]])
        except FileNotFoundError:
            return cls(path)
        except OSError as problem:
            raise WriteError(f"{path}: {problem.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise WriteError(f"{path} is no journal of an upgrade") from None

    def save(self, state: str, hook: StepHook) -> None:
        """Write the journal atomically; it is on disk on return."""
        hook(f"journal {state}")
        self.state = state
        fields = ("target", "backup", "digest", "temporary", "fresh")
        entries = [{name: getattr(entry, name) for name in fields} for entry in self.entries]
        data = json.dumps({"state": state, "entries": entries}, indent=1).encode("ascii")
        temporary = _write_temporary(self.path, data, None)
        os.replace(to_bytes(temporary), to_bytes(self.path))
        _sync_directory(self.path)

    def remove(self, hook: StepHook) -> None:
        """Remove the journal: nothing remains to complete or to undo."""
        hook("journal gone")
        if os.path.exists(to_bytes(self.path)):
            os.unlink(to_bytes(self.path))
            _sync_directory(self.path)


def write(
    files: Mapping[str, bytes], directory: str, hook: StepHook = lambda _step: None, is_read: IsRead = nowhere
) -> list[str]:
    """Write *files* (contents by path), with the journal in *directory*, and return the paths of the backups;
    *is_read* must be False for them.

    Raises WriteError if that is impossible; then nothing has changed, unless one of the last renames fails.
    That, and any other exception or the end of the process, leaves a state that `recover` completes.
    """
    recover(directory, hook)
    journal = Journal.load(directory)
    previous = {entry.target: entry for entry in journal.entries}
    entries = [_entry(path, data, directory, is_read) for path, data in files.items()]
    before = (journal.state, journal.entries)
    try:
        _prepare(journal, entries, list(files.values()), previous, hook)
    except OSError as problem:
        _remove_leftovers(entries)
        journal.state, journal.entries = before
        with suppress(OSError):
            journal.save("done", _silent) if journal.entries else journal.remove(_silent)
        raise WriteError(f"{_filename_of(problem)}: {problem.strerror}") from None
    try:
        _finish(journal, hook)
    except OSError as problem:
        raise WriteError(
            f"{_filename_of(problem)}: {problem.strerror}; interrupted: run the upgrade again, or --undo"
        ) from None
    return [entry.backup for entry in entries]


def recover(directory: str, hook: StepHook = lambda _step: None) -> str:
    """Complete an interrupted run; return its kind, "" for none."""
    journal = Journal.load(directory)
    state = journal.state
    if state == "preparing":
        waiting = [entry for entry in journal.entries if entry.temporary]
        _remove_leftovers(waiting)
        journal.entries = [entry for entry in journal.entries if not entry.temporary or not entry.fresh]
        for entry in journal.entries:
            entry.temporary = ""
        journal.save("done", hook) if journal.entries else journal.remove(hook)
    elif state == "renaming":
        _finish(journal, hook)
    elif state == "undoing":
        undo(directory, hook)
    return "" if state == "done" else state


def undo(directory: str, hook: StepHook = lambda _step: None) -> tuple[list[str], list[str]]:
    """Restore every backup byte for byte; return the restored files, and the names under which later changes
    were saved.

    Raises WriteError if nothing can be undone or a backup is missing, and then changes nothing.
    """
    journal = Journal.load(directory)
    if journal.state in ("preparing", "renaming"):
        recover(directory, hook)
        journal = Journal.load(directory)
    if not journal.entries:
        raise WriteError(f"{directory}: no upgrade to undo")
    missing = [entry.backup for entry in journal.entries if not os.path.lexists(to_bytes(entry.backup))]
    if missing and journal.state != "undoing":
        raise WriteError(f"{missing[0]} is missing: nothing was undone")
    try:
        journal.save("undoing", hook)
        saved_aside = [aside for entry in journal.entries if (aside := _restore(entry, hook))]
        journal.remove(hook)
    except OSError as problem:
        raise WriteError(f"{_filename_of(problem)}: {problem.strerror}") from None
    return [entry.target for entry in journal.entries], saved_aside


def _restore(entry: JournalEntry, hook: StepHook) -> str:
    """Restore one file; return the name under which later changes were saved, or ""."""
    if not os.path.lexists(to_bytes(entry.backup)):
        return ""
    aside = ""
    if os.path.exists(to_bytes(entry.target)) and _digest(_content(entry.target)) not in (
        entry.digest,
        _digest(_content(entry.backup)),
    ):
        aside = _beside_backup(entry, CHANGED)
        hook(f"keep {aside}")
        shutil.copy2(to_bytes(entry.target), to_bytes(aside))
    hook(f"restore {entry.target}")
    if os.path.exists(to_bytes(entry.target)) and os.path.samefile(
        to_bytes(entry.target), to_bytes(entry.backup)
    ):
        os.unlink(to_bytes(entry.backup))
    else:
        os.replace(to_bytes(entry.backup), to_bytes(entry.target))
    _sync_directory(entry.target)
    _tidy(entry.backup)
    return aside


def _tidy(backup: str) -> None:
    """Remove the directories of backups that are empty now."""
    directory = os.path.dirname(backup)
    while DIRECTORY in directory.split("/"):
        try:
            os.rmdir(to_bytes(directory))
        except OSError:
            return
        directory = os.path.dirname(directory)


# steps -------------------------------------------------------------------------------------------
def _entry(path: str, data: bytes, directory: str, is_read: IsRead) -> JournalEntry:
    target = to_text(os.path.realpath(to_bytes(path)))
    return JournalEntry(
        target,
        backup_path(
            target, BACKUP, to_text(os.path.realpath(to_bytes(journal_directory(directory)))), is_read
        ),
        _digest(data),
    )


def _beside_backup(entry: JournalEntry, suffix: str) -> str:
    """Return a name for a further file: beside the backup, unless that is on another file system, where
    renames fail."""
    wanted = os.path.join(os.path.dirname(entry.backup), os.path.basename(entry.target) + suffix)
    try:
        same = (
            os.stat(to_bytes(os.path.dirname(wanted))).st_dev
            == os.stat(to_bytes(os.path.dirname(entry.target))).st_dev
        )
    except OSError:
        same = False
    return wanted if same else entry.target + suffix


def _prepare(
    journal: Journal,
    entries: list[JournalEntry],
    contents: list[bytes],
    previous: dict[str, JournalEntry],
    hook: StepHook,
) -> None:
    """Make every step before the renames; raises OSError."""
    for entry in entries:
        _check(entry.target)
        entry.fresh = entry.target not in previous
        entry.backup = _free_name(entry.backup) if entry.fresh else previous[entry.target].backup
        os.makedirs(to_bytes(os.path.dirname(entry.backup)), exist_ok=True)
        entry.temporary = _beside_backup(entry, f".whimbrel-{os.getpid()}.new~")
    journal.entries = [
        *(entry for target, entry in previous.items() if target not in {e.target for e in entries}),
        *entries,
    ]
    journal.save("preparing", hook)
    for entry, data in zip(entries, contents, strict=True):
        hook(f"temporary {entry.target}")
        _write_temporary(entry.target, data, entry.temporary)
        if entry.fresh:
            hook(f"backup {entry.target}")
            _back_up(entry)
    for entry in entries:
        _sync_directory(entry.target)
    journal.save("renaming", hook)


def _finish(journal: Journal, hook: StepHook) -> None:
    """Make the missing renames."""
    for entry in journal.entries:
        if entry.temporary and os.path.lexists(to_bytes(entry.temporary)):
            hook(f"rename {entry.target}")
            os.replace(to_bytes(entry.temporary), to_bytes(entry.target))
            _sync_directory(entry.target)
    for entry in journal.entries:
        entry.temporary = ""
    journal.save("done", hook)


def _check(target: str) -> None:
    """Raise WriteError early for a file or directory that cannot be written."""
    for path, mode in ((target, os.W_OK), (os.path.dirname(target) or ".", os.W_OK | os.X_OK)):
        if not os.access(to_bytes(path), mode):
            raise PermissionError(
                13,
                "Permission denied" if os.path.exists(to_bytes(path)) else "No such file or directory",
                path,
            )


def _free_name(name: str) -> str:
    """Return *name*, with a number if another file has it."""
    numbers = (f"{name[:-1]}.{number}~" for number in count(1))
    return next(
        candidate for candidate in chain((name,), numbers) if not os.path.lexists(to_bytes(candidate))
    )


def _back_up(entry: JournalEntry) -> None:
    """Give the old file a second name; copy it if links are impossible."""
    try:
        os.link(to_bytes(entry.target), to_bytes(entry.backup))
    except OSError:
        copy = _write_temporary(entry.backup, _content(entry.target), None, like=entry.target)
        os.replace(to_bytes(copy), to_bytes(entry.backup))


def _write_temporary(target: str, data: bytes, name: str | None, like: str | None = None) -> str:
    """Write a complete file beside *target*, with the mode and owner of *like*; return its path."""
    if name is None:
        handle, temporary = tempfile.mkstemp(
            dir=os.path.dirname(to_bytes(target)) or b".", prefix=b".whimbrel-"
        )
        name = to_text(temporary)
    else:
        handle = os.open(to_bytes(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            _copy_owner_and_mode(file.fileno(), like or target)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        os.unlink(to_bytes(name))
        raise
    return name


def _copy_owner_and_mode(handle: int, path: str) -> None:
    """Copy the mode and owner of *path*, if it exists."""
    try:
        status = os.stat(to_bytes(path))
    except FileNotFoundError:
        return
    if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        os.fchown(handle, status.st_uid, status.st_gid)
    os.fchmod(handle, status.st_mode & 0o7777)


def _remove_leftovers(entries: list[JournalEntry]) -> None:
    """Remove the files of a run that changed nothing."""
    for path in _leftovers(entries):
        if os.path.lexists(to_bytes(path)):
            os.unlink(to_bytes(path))
        _tidy(path)


def _leftovers(entries: list[JournalEntry]) -> Iterator[str]:
    for entry in entries:
        if entry.temporary:
            yield entry.temporary
            if entry.fresh:
                yield entry.backup


def _content(path: str) -> bytes:
    with open(to_bytes(path), "rb") as file:
        return file.read()


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _sync_directory(path: str) -> None:
    handle = os.open(os.path.dirname(to_bytes(path)) or b".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _filename_of(problem: OSError) -> str:
    name = problem.filename
    return to_text(name) if isinstance(name, bytes) else str(name)


def _silent(_step: str) -> None:
    return None
