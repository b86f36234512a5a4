"""Transaction: write all files of an upgrade or none, with backups, recovery and undo.

The new contents go to the user's state directory, the old ones to backups (``FILE.whimbrel-2.2~``, created
once; `backup_paths` chooses the directory), then the files are replaced. A journal in the state directory
records the progress, so that any later run can complete or undo it:

    * ``preparing``: no file has changed; new contents and the backups of this run are leftovers.
    * ``renaming``: every new content is complete on disk; the missing files can be replaced.
    * ``done``: the journal names the backups for `undo`.
    * ``undoing``: a missing backup has been restored.

Nothing in the tree is obeyed: a file is replaced only if it holds the bytes that were read, and restored only
from a backup that holds the bytes that were saved.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain, count
from typing import Final

from whimbrel.base.counts import and_more
from whimbrel.base.file_reading import read_regular
from whimbrel.base.file_writing import Owner, Place, Tree
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.base.printable import file_problem
from whimbrel.base.real_paths import real_path
from whimbrel.upgrade.apply.backup_paths import BACKUP, DIRECTORY, IsRead, backup_path, nowhere
from whimbrel.upgrade.apply.file_digests import FileDigests, digest
from whimbrel.upgrade.apply.journal import Journal, JournalEntry, StepHook, WriteError
from whimbrel.upgrade.apply.left_decisions import LeftDecision
from whimbrel.upgrade.apply.state_directory import NoStateDirectory, StateDirectory
from whimbrel.upgrade.apply.written_edits import WrittenEdit

CHANGED: Final = ".whimbrel-2.4~"
"""The name of a file that was changed after the upgrade, when the upgrade is undone."""
OLD_JOURNAL: Final = ".whimbrel-upgrade.json"
"""The name of a journal in a tree. No journal is read there: anybody could have written it."""


def _no_hook(_step: str) -> None:
    """Do nothing before a step."""


def write(
    files: Mapping[str, bytes],
    directory: str,
    hook: StepHook = _no_hook,
    is_read: IsRead = nowhere,
    *,
    tops: Sequence[str] = (),
    is_open: bool = False,
    expected: Mapping[str, bytes] | None = None,
    read: Mapping[str, bytes] | None = None,
    left: Iterable[LeftDecision] = (),
    written: Iterable[WrittenEdit] = (),
) -> list[str]:
    """Write *files* (contents by path) of the tree *directory* and return the paths of the backups; *is_read*
    must be False for them.

    *tops* are further directories in which files may be; with *is_open* they may be anywhere. *expected*: the
    contents that were read; *read*: those of all files of the configuration, changed or not. *left*: what
    the upgrade leaves to a person. *written*: the lines that it writes.

    Raises WriteError if that is impossible; then nothing has changed, unless one of the last replacements
    fails. That, and any other exception or the end of the process, leaves a state that `recover` completes.
    """
    recover(directory, hook)
    journal = _load(directory)
    before = replace(journal, read=dict(journal.read))
    run = _Run(journal, directory, [directory, *tops], is_open, is_read, hook)
    try:
        run.prepare(files, expected or {}, read or {}, left, written)
    except (OSError, WriteError, NoStateDirectory) as problem:
        run.remove_leftovers()
        with suppress(OSError, NoStateDirectory):
            before.save("done", _no_hook) if before.entries else before.remove(_no_hook)
        raise WriteError(_described(problem)) from None
    try:
        run.finish()
    except (OSError, WriteError) as problem:
        raise WriteError(f"{_described(problem)}; interrupted: run the upgrade again, or --undo") from None
    return [entry.backup for entry in run.entries]


def recover(directory: str, hook: StepHook = _no_hook) -> str:
    """Complete an interrupted run; return its kind, "" for none. Raises WriteError."""
    journal = _load(directory)
    state = journal.state
    run = _Run(journal, directory, journal.tops, journal.is_open, nowhere, hook)
    try:
        if state == "preparing":
            _drop_preparation(journal, run, hook)
        elif state == "renaming":
            run.finish()
    except OSError as problem:
        raise WriteError(_described(problem)) from None
    if state == "undoing":
        undo(directory, hook)
    return "" if state == "done" else state


def _drop_preparation(journal: Journal, run: _Run, hook: StepHook) -> None:
    run.entries = [entry for entry in journal.entries if entry.new]
    run.remove_leftovers()
    journal.entries = [entry for entry in journal.entries if not entry.new or not entry.fresh]
    for entry in journal.entries:
        entry.new = ""
        entry.temporary = ""
    journal.save("done", hook) if journal.entries else journal.remove(hook)


def undo(directory: str, hook: StepHook = _no_hook) -> tuple[list[str], list[str]]:
    """Restore every backup byte for byte; return the restored files, and the names under which later changes
    were saved.

    Raises WriteError if nothing can be undone, or a backup is missing or has changed, and then changes
    nothing.
    """
    journal = _load(directory)
    if journal.state == "preparing":
        recover(directory, hook)
        journal = _load(directory)
    if not journal.entries:
        raise WriteError(f"{directory}: no upgrade to undo")
    restoring = _Undo(journal, hook)
    try:
        restoring.check(is_undo=True)
        journal.save("undoing", hook)
        saved_aside = [aside for entry in journal.entries if (aside := restoring.restore(entry))]
        journal.remove(hook)
    except (OSError, NoStateDirectory) as problem:
        raise WriteError(_described(problem)) from None
    return [entry.target for entry in journal.entries], saved_aside


def note_left(directory: str, left: Iterable[LeftDecision], written: Iterable[WrittenEdit] = ()) -> None:
    """Note what an upgrade leaves to a person in *directory*, a copy that it wrote, and what it wrote there;
    raises WriteError.
    """
    journal = _load(directory)
    had_any = bool(journal.left or journal.written)
    journal.left = tuple(left)
    journal.written = tuple(written)
    try:
        if journal.left or journal.written or journal.entries:
            journal.save(journal.state, _no_hook)
        elif had_any:
            journal.remove(_no_hook)
    except (OSError, NoStateDirectory) as problem:
        raise WriteError(_described(problem)) from None


def decisions_left(directory: str) -> tuple[LeftDecision, ...]:
    """Return what the upgrades of a tree have left to a person; nothing without a journal of the user's, and
    of files that have the text from before. If no file is what an upgrade made, the tree is another one.
    """
    try:
        journal = _load(directory)
    except WriteError:
        return ()
    states = {entry.target: is_upgraded(entry, journal) for entry in journal.entries}
    if states and not any(states.values()):
        return ()
    return tuple(one for one in journal.left if states.get(one.path) is not False)


def journal_fault(directory: str) -> str:
    """Return why the journal of a tree cannot be read, in one line; "" if it can, or if there is none."""
    try:
        Journal.load(StateDirectory(directory))
    except NoStateDirectory:
        return ""
    except WriteError as problem:
        return str(problem)
    return ""


def is_upgraded(entry: JournalEntry, journal: Journal) -> bool | None:
    """Return True if the file of *entry* is what an upgrade made of it, also with later changes, while its
    backup is there; False if it has the text from before, beside comments, or is missing; None if neither is
    known.
    """
    data = _present(entry.target)
    if data is None:
        return False
    found = FileDigests.of(data)
    if found.data == entry.digest or (entry.lines and found.lines == entry.lines):
        return True
    before = journal.read.get(entry.target)
    if found.data == entry.before or (before is not None and found.lines == before.lines):
        return False
    return True if _present(entry.backup) is not None else None


def joined_decisions(
    earlier: Iterable[LeftDecision], later: Iterable[LeftDecision]
) -> tuple[LeftDecision, ...]:
    """Return the decisions of all upgrades, those of the last one in the place of equal ones."""
    return tuple({one.key: one for one in (*earlier, *later)}.values())


def saved(directory: str) -> dict[str, bytes]:
    """Return the contents from before the upgrades of a tree, by path.

    Raises WriteError if there was none, or a backup is missing or has changed.
    """
    journal = _load(directory)
    if not journal.entries or journal.state == "preparing":
        raise WriteError(
            f"{directory}: no upgrade was written here: the journal of this path is missing, "
            f"{StateDirectory(directory).path}; a copied tree has none. "
            "In the place of --backups name the text of 2.2: verify OLD NEW, or replay --old OLD"
        )
    return _Undo(journal, _no_hook).contents()


def changed_later(directory: str, paths: Iterable[str]) -> list[tuple[str, str]]:
    """Return the files of a tree, and those of *paths*, whose text from before the first upgrade is not
    known, each with what happened to it: it was changed or removed afterwards, and no backup has that text.

    The journal has digests of what the upgrades have read; a change of comments alone is none. Of what they
    have not read, the time of the last change tells it. Raises WriteError.
    """
    journal = _load(directory)
    saved_texts = _Undo(journal, _no_hook).contents()
    found = {}
    for path, digests in journal.read.items():
        present = saved_texts.get(path)
        if present is None:
            present = _present(path)
        if present is None:
            found[path] = "was removed after the upgrade"
        elif digests.lines != FileDigests.of(present).lines:
            found[path] = "was changed after the upgrade, which made no backup of it"
            if path in saved_texts:
                found[path] = "was changed between two upgrades"
    known = journal.read.keys() | saved_texts.keys()
    first = min((_times(entry.backup)[1] for entry in journal.entries), default=0)
    for path in dict.fromkeys(paths):
        if real_path(path) not in known and first and _times(path)[0] > first:
            found[path] = "was written after the upgrade, which did not read it"
    return list(found.items())


def _present(path: str) -> bytes | None:
    """Return the contents of a file, None if it is missing or cannot be read."""
    try:
        return read_regular(to_bytes(path))
    except OSError:
        return None


def _times(path: str) -> tuple[int, int]:
    """Return the times of a file's contents and of its inode, in nanoseconds; 0 for a missing one."""
    try:
        info = os.stat(to_bytes(path))
    except (OSError, ValueError):
        return 0, 0
    return info.st_mtime_ns, info.st_ctime_ns


def _load(directory: str) -> Journal:
    try:
        return Journal.load(StateDirectory(directory))
    except NoStateDirectory as problem:
        raise WriteError(str(problem)) from None


class _Files:
    """The files that a journal names: of the tree, and of the state directory."""

    def __init__(self, journal: Journal, tree: Tree) -> None:
        self.journal = journal
        self.tree = tree

    def place(self, path: str, *, create: bool = False) -> Place:
        """Return the place of a real path, in which a link is an error."""
        own = self.journal.directory
        if path.startswith(own.path + "/"):
            return own.place(path[len(own.path) + 1 :], create=create)
        return self.tree.place(to_bytes(path), create=create, follow=False)

    def read(self, path: str) -> tuple[bytes, Owner] | None:
        """Return content and owner of a file, None if it or its directory is missing."""
        try:
            with self.place(path) as place:
                return place.read()
        except FileNotFoundError:
            return None

    def exists(self, path: str) -> bool:
        """Return True if something has the name *path*."""
        try:
            with self.place(path) as place:
                return place.status() is not None
        except FileNotFoundError:
            return False

    def remove(self, path: str) -> None:
        """Remove a file, and the directories of backups that are empty then."""
        with suppress(FileNotFoundError), self.place(path) as place:
            place.remove()
        parent = os.path.dirname(path)
        while DIRECTORY in parent.split("/"):
            try:
                with self.place(parent) as place:
                    place.remove_directory()
            except OSError:
                return
            parent = os.path.dirname(parent)


def _is_alive(entry: JournalEntry, files: _Files) -> bool:
    """Return True if the backup of *entry* is there, or what was written: a tree that was made anew at the
    same path has neither.
    """
    if files.exists(entry.backup):
        return True
    present = files.read(entry.target)
    return present is not None and digest(present[0]) == entry.digest


class _Run(_Files):
    """One run of `write`, or what is left of one.

    Attributes:
        entries: those of this run.
    """

    def __init__(
        self,
        journal: Journal,
        directory: str,
        tops: Sequence[str],
        is_open: bool,
        is_read: IsRead,
        hook: StepHook,
    ) -> None:
        super().__init__(journal, Tree(*map(to_bytes, tops), is_open=is_open))
        self.directory = directory
        self.tops = list(tops)
        self.is_open = is_open
        self.is_read = is_read
        self.hook = hook
        self.entries = list[JournalEntry]()

    def prepare(
        self,
        files: Mapping[str, bytes],
        expected: Mapping[str, bytes],
        read: Mapping[str, bytes],
        left: Iterable[LeftDecision] = (),
        written_edits: Iterable[WrittenEdit] = (),
    ) -> None:
        """Make every step before the replacements; raises OSError, WriteError and NoStateDirectory."""
        earlier = _Files(self.journal, self.journal.tree())  # where the earlier upgrades were let write
        previous = {entry.target: entry for entry in self.journal.entries if _is_alive(entry, earlier)}
        old = dict[str, tuple[bytes, Owner]]()
        for path, data in files.items():
            entry, found = self._entry(path, data, previous, expected.get(path))
            old[entry.target] = found
            self.entries.append(entry)
        written = {entry.target for entry in self.entries}
        journal = self.journal
        journal.tops = list(dict.fromkeys([*journal.tops, *self.tops]))
        journal.is_open = journal.is_open or self.is_open
        journal.entries = [
            *(entry for target, entry in previous.items() if target not in written),
            *self.entries,
        ]
        self._note_read(read, is_first=not previous)
        journal.left = joined_decisions(journal.left if previous else (), left)
        journal.written = (*(journal.written if previous else ()), *written_edits)
        journal.save("preparing", self.hook)
        for entry, data in zip(self.entries, files.values(), strict=True):
            self.hook(f"temporary {entry.target}")
            with journal.directory.place(entry.new, create=True) as place:
                place.create(data, None, 0o600)
            if entry.fresh:
                self.hook(f"backup {entry.target}")
                content, owner = old[entry.target]
                with self.place(entry.backup, create=True) as place:
                    place.create(content, owner, with_times=True)
                    place.sync()
        journal.save("renaming", self.hook)

    def _note_read(self, read: Mapping[str, bytes], *, is_first: bool) -> None:
        """Note the digests of the files *read*: those of an earlier upgrade stay, as 2.2 had these texts."""
        journal = self.journal
        if is_first:
            journal.read = {}
        elif not journal.read:
            return  # a journal of an older version: what the first upgrade has read is not known
        for path, data in read.items():
            target = real_path(path)
            if target not in journal.read:
                journal.read[target] = FileDigests.of(data)

    def _entry(
        self, path: str, data: bytes, previous: Mapping[str, JournalEntry], expected: bytes | None
    ) -> tuple[JournalEntry, tuple[bytes, Owner]]:
        """Return the entry of a file, with its present content; raises OSError and WriteError."""
        with self.tree.place(to_bytes(path)) as place:
            target = to_text(place.path)
            found = place.read()
            _check_access(place)
        if expected is not None and found[0] != expected:
            raise WriteError(f"{path}: changed since it was read: nothing was written")
        written = FileDigests.of(data)
        entry = JournalEntry(target, "", digest(found[0]), written.data, lines=written.lines)
        entry.present = entry.before
        entry.temporary = f".whimbrel-{os.urandom(12).hex()}"
        entry.new = f"new-{os.urandom(12).hex()}"
        earlier = previous.get(target)
        if earlier is not None:
            entry.fresh = False
            entry.backup = earlier.backup
            entry.before = earlier.before
        else:
            tree = real_path(self.directory)
            entry.backup = self._free_name(
                backup_path(target, BACKUP, tree, self.journal.directory.path, self.is_read)
            )
        return entry, found

    def _free_name(self, name: str) -> str:
        """Return *name*, with a number if another file has it."""
        numbers = (f"{name[:-1]}.{number}~" for number in count(1))
        return next(candidate for candidate in chain((name,), numbers) if not self.exists(candidate))

    def finish(self) -> None:
        """Replace the files that are not replaced; raises OSError and WriteError."""
        waiting = [entry for entry in self.journal.entries if entry.new]
        for entry in waiting:
            self._replace(entry)
        for entry in waiting:
            self.remove(f"{self.journal.directory.path}/{entry.new}")
            entry.new = ""
            entry.temporary = ""
        self.journal.save("done", self.hook)

    def _replace(self, entry: JournalEntry) -> None:
        with self.place(entry.target) as place:
            temporary = place.beside(to_bytes(entry.temporary))
            temporary.remove()
            present, owner = place.read()
            if digest(present) == entry.digest:
                return
            new = self.read(f"{self.journal.directory.path}/{entry.new}")
            if new is None or digest(new[0]) != entry.digest:
                raise WriteError(f"{self.journal.directory.path}/{entry.new} is not what was to be written")
            if digest(present) != entry.present:
                raise WriteError(f"{entry.target}: changed since it was read")
            self.hook(f"rename {entry.target}")
            place.replace(new[0], mode=owner.mode, temporary=temporary)

    def remove_leftovers(self) -> None:
        """Remove the files of a run that changed nothing."""
        for entry in self.entries:
            with suppress(OSError, NoStateDirectory):
                self.remove(f"{self.journal.directory.path}/{entry.new}")
            with suppress(OSError, NoStateDirectory):  # a link, which was put there meanwhile, stays
                found = self.read(entry.backup) if entry.fresh else None
                if found is not None and digest(found[0]) == entry.before:
                    self.remove(entry.backup)


class _Undo(_Files):
    """The way back of all entries of a journal."""

    def __init__(self, journal: Journal, hook: StepHook) -> None:
        super().__init__(journal, journal.tree())
        self.hook = hook

    def check(self, *, is_undo: bool = False) -> None:
        """Raise WriteError if a backup is missing or has other content than was saved; *is_undo*: also if
        the files are those from before, whose backups are missing.
        """
        entries = self.journal.entries
        if is_undo and self.journal.state != "undoing" and all(map(self._is_put_back, entries)):
            names = f"{entries[0].target}{and_more(len(entries) - 1)}"
            raise WriteError(f"no upgrade to undo: {names}: the text from before, without its backup")
        for entry in entries:
            found = self.read(entry.backup)
            if found is None and self.journal.state != "undoing":
                raise WriteError(f"{entry.backup} is missing: nothing was undone")
            if found is not None and digest(found[0]) != entry.before:
                raise WriteError(f"{entry.backup} has changed since it was saved: nothing was undone")

    def _is_put_back(self, entry: JournalEntry) -> bool:
        """Return True if the file of *entry* has the text from before, and the backup is missing."""
        present = self.read(entry.target)
        is_same = present is not None and digest(present[0]) == entry.before
        return is_same and self.read(entry.backup) is None

    def contents(self) -> dict[str, bytes]:
        """Return what `restore` writes, by path; raises WriteError as `check` does."""
        self.check()
        found = ((entry.target, self.read(entry.backup)) for entry in self.journal.entries)
        return {target: copy[0] for target, copy in found if copy is not None}

    def restore(self, entry: JournalEntry) -> str:
        """Restore one file; return the name under which later changes were saved, or ""."""
        saved = self.read(entry.backup)
        if saved is None or digest(saved[0]) != entry.before:
            return ""
        content, owner = saved
        aside = ""
        with self.place(entry.target) as place:
            present = self.read(entry.target)
            if present is not None and digest(present[0]) not in (entry.digest, entry.before):
                aside = os.path.join(os.path.dirname(entry.backup), os.path.basename(entry.target) + CHANGED)
                self.hook(f"keep {aside}")
                with self.place(aside) as preserved:
                    preserved.replace(*present)
            self.hook(f"restore {entry.target}")
            if entry.temporary:
                place.beside(to_bytes(entry.temporary)).remove()
            place.replace(content, owner)
        self.remove(entry.backup)
        if entry.new:
            self.remove(f"{self.journal.directory.path}/{entry.new}")
        return aside


def _check_access(place: Place) -> None:
    """Raise PermissionError early for a file or directory that cannot be written."""
    for name, mode, path in (
        (place.name, os.W_OK, place.path),
        (b".", os.W_OK | os.X_OK, os.path.dirname(place.path)),
    ):
        if not os.access(name, mode, dir_fd=place.directory):
            raise PermissionError(13, "Permission denied", path)


def _described(problem: Exception) -> str:
    return file_problem(problem) if isinstance(problem, OSError) else str(problem)
