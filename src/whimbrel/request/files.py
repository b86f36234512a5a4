"""Files as one request sees them, and the notes that let a finished answer be kept.

Everything that an answer depends on in the file system is asked through `FileView`, which notes the question and its answer: a
kept answer is good as long as each note still holds.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Container, Mapping
from errno import EINVAL, ENOENT, ENOTDIR
from stat import S_IFDIR, S_IFLNK, S_IFREG
from typing import Any, Final

from whimbrel.octets import raw
from whimbrel.records import dataclass

Mark = tuple[int, int, int, int, int, int] | None
Stamp = tuple[int, int, int, int, int]  # of a file: time of change, size, inode, time of the inode's change, device
Moving = tuple[str, Callable[[int], str]]


# What of a mode tells the kind of a file; the functions of the module stat cost a call each.
KIND: Final = 0o170000
_FOLDER, _REGULAR, _LINK = S_IFDIR, S_IFREG, S_IFLNK
LARGEST_CONTENT: Final = 16 * 1024      # bytes of a file that is kept; of what belongs to it; of all of them
CONTENT_COST: Final = 1024
ALL_CONTENTS: Final = 2 * 1024 * 1024
SETTLED: Final = 1_000_000_000  # nanoseconds for which a file must have been left alone
ANY_ENTRIES: Final = -1  # in the place of a folder's time: whatever happens in it, it is the same folder
MOST_NOTES: Final = 8192  # that answers have in common, about paths of at most LONGEST_NOTE bytes
LONGEST_NOTE: Final = 512
FAILED: Final = -2  # in the place of a time: there is an answer of another kind, the error


def mark(info: os.stat_result) -> Mark:
    """What must stay the same for an answer to stay the same.  Of a folder that is its identity, not what lies in it (see `FileView.exact`).

    A file's owner and group, and a content whose time was put back, are told by the time of the inode's change.
    """
    mode = info.st_mode
    if mode & KIND == _FOLDER:
        return (ANY_ENTRIES, info.st_dev, info.st_ino, mode, info.st_uid, info.st_gid)
    return (info.st_mtime_ns, info.st_size, info.st_ino, mode, info.st_ctime_ns, info.st_dev)


def stamp_of(info: os.stat_result) -> Stamp:
    """What stays the same as long as a file's content does."""
    return (info.st_mtime_ns, info.st_size, info.st_ino, info.st_ctime_ns, info.st_dev)


_COARSE: Final = getattr(time, "CLOCK_REALTIME_COARSE", 5 if sys.platform == "linux" else time.CLOCK_REALTIME)  # of which kernels stamp files


_clock = time.clock_gettime_ns


def file_clock() -> int:
    """The time in nanoseconds that the kernel would stamp on a file that is changed now; it moves in ticks of up to 10 ms."""
    return _clock(_COARSE)


def is_settled(changed: int, clock: int) -> bool:
    """Return True if every change after *clock* (of `file_clock`) gets another time than *changed*, the inode's last (st_ctime_ns).

    Two changes within one tick have the same time, on file systems that keep whole seconds (or pairs of them) two within one second.
    """
    return changed < clock and (changed % 1_000_000 != 0 or changed + 2 * SETTLED < clock)


def is_settled_file(info: os.stat_result) -> bool:
    """Return True if what is read from now on can be told from later contents by the file's mark; ask before reading."""
    return is_settled(info.st_ctime_ns, file_clock())


def failure(why: int) -> Mark:
    """The mark of a question that failed: None where nothing is there, else the error, which makes another answer than that."""
    return None if why in (ENOENT, ENOTDIR) else (FAILED, why, 0, 0, 0, 0)


Look = tuple[os.stat_result | None, Mark, int]  # what a question was answered, its mark, and the error where there is none


class Note:
    """A question and its answer: *path*, whether links are followed, what stat said.  *turn*: the last of a server's loop in which it was so."""

    __slots__ = ("follow", "known", "path", "turn")

    def __init__(self, path: bytes, follow: bool, known: Mark) -> None:
        self.path, self.follow, self.known = path, follow, known
        self.turn = -2  # none: the turn of those who have no loop is -1


class Looks:
    """What was asked in this turn of a server's loop, while it is *open*: requests that come together look at each file once.

    What changes on disk meanwhile is seen by the next turn.  Whoever asks a server, then changes a file and asks again is always answered in a later
    turn, and so is what has waited for a program or a thread.  *notes* are those that kept answers have in common.
    """

    __slots__ = ("known", "notes", "open")

    def __init__(self) -> None:
        self.open = False
        self.known: dict[tuple[bytes, bool], Look] = {}
        self.notes: dict[tuple[bytes, bool, Mark], Note] = {}

    def note(self, path: bytes, follow: bool, known: Mark) -> Note:
        """The note of a question and its answer, the same object for all answers that depend on it."""
        key = (path, follow, known)
        found = self.notes.get(key)
        if found is None:
            found = Note(path, follow, known)
            if len(path) <= LONGEST_NOTE:
                if len(self.notes) >= MOST_NOTES:
                    self.notes.clear()
                self.notes[key] = found
        return found


def _question(*, follow: bool) -> Callable[[FileView, str], os.stat_result | None]:
    """`FileView.stat` or `lstat`: a function for each, with `mark` written out in it, since they make up much of what a request costs."""

    def question(self: FileView, path: str) -> os.stat_result | None:
        name = path.encode("latin-1")
        key, looks = (name, follow), self._looks
        if looks is not None and looks.open:
            found = looks.known.get(key)
            if found is not None:
                return self._take(key, found)
        try:
            info = os.stat(name) if follow else os.lstat(name)
        except OSError as problem:
            self._missing(key, problem.errno or EINVAL)
            return None
        except ValueError:
            self._missing(key, EINVAL)
            return None
        mode, newest = info.st_mode, info.st_mtime_ns
        if mode & KIND == _FOLDER:
            known = self.notes[key] = (ANY_ENTRIES, info.st_dev, info.st_ino, mode, info.st_uid, info.st_gid)
        else:
            changed = info.st_ctime_ns
            known = self.notes[key] = (newest, info.st_size, info.st_ino, mode, changed, info.st_dev)
            if newest > self.newest:
                self.newest = newest
            if changed > self.changed:
                self.changed = changed
        if looks is not None and looks.open:
            looks.known[key] = (info, known, 0)
        return info

    return question


class FileView:
    """What one answer depends on: the file questions of a request, its redirects and sub-requests included.

    *client* says that it depended on the client's address, *lists* on which of these hold that, *query* on the query of the request's target,
    *own* on what no other request has, *outside* on something that can't be noted: these two are not kept.  *moving* are texts in the answer's
    fields that go with the clock: each as it stands there, and what makes it anew for a second.
    One view is shared by all requests that take part in an answer.  *nested* counts the documents included by others.
    """

    __slots__ = ("_begun", "_listings", "_looks", "changed", "client", "errno", "lists", "moving", "nested", "newest", "notes",
                 "outside", "own", "query")

    def __init__(self, looks: Looks | None = None) -> None:
        self._looks = looks
        self.client = self.outside = self.own = self.query = False
        self.lists: tuple[Container[str], ...] = ()
        self.notes: dict[tuple[bytes, bool], Mark] = {}
        self.moving: list[Moving] = []
        self.newest = self.changed = self.nested = 0
        self._begun = _clock(_COARSE)
        self._listings: dict[tuple[bytes, bool], Mark] = {}
        self.errno = 0  # why the last question that got None got it

    stat = _question(follow=True)
    """stat(2), links followed; None where it fails, with the reason in `errno`."""
    lstat = _question(follow=False)
    """lstat(2); None where it fails, with the reason in `errno`."""

    def _take(self, key: tuple[bytes, bool], found: Look) -> os.stat_result | None:
        """Note what was found before in this turn of the loop."""
        info, known, why = found
        self.notes[key] = known
        if info is None:
            self.errno = why
        elif known is not None and known[0] >= 0:
            self.newest, self.changed = max(self.newest, known[0]), max(self.changed, known[4])
        return info

    def _missing(self, key: tuple[bytes, bool], why: int) -> None:
        known = self.notes[key] = None if why == ENOENT else failure(why)
        self.errno, looks = why, self._looks
        if looks is not None and looks.open:
            looks.known[key] = (None, known, why)

    def unask(self, path: str) -> None:
        """Forget what `lstat` was asked about *path*: nothing came of it."""
        self.notes.pop((path.encode("latin-1"), False), None)

    def exact(self, path: str) -> os.stat_result | None:
        """stat(2) of a folder whose time or entries matter to the answer; None where it fails."""
        info = self.stat(path)
        if info is not None:
            self._listings[raw(path), True] = (
                info.st_mtime_ns, info.st_size, info.st_ino, info.st_mode, info.st_ctime_ns, info.st_dev)
            self.newest, self.changed = max(self.newest, info.st_mtime_ns), max(self.changed, info.st_ctime_ns)
        return info

    def is_settled(self, seconds: float) -> bool:
        """Return True if every file was left alone for a second before *seconds*, and a later change of one shows in its mark."""
        return seconds * 1e9 - self.newest > SETTLED and is_settled(self.changed, self._begun)

    def lasting(self) -> tuple[Note, ...]:
        """What has to be asked again to know that all of `notes` still hold: not what others of them say as well."""
        self.notes.update(self._listings)
        made = Note if self._looks is None else self._looks.note
        return tuple([made(path, follow, known) for (path, follow), known in self.notes.items() if not self._implied(path, follow, known)])

    def _implied(self, path: bytes, follow: bool, known: Mark) -> bool:
        """Whether another note can't hold without this one.

        What is itself no link is the same with links followed; below what is missing, and below a file, there is nothing.
        """
        notes = self.notes
        if follow and (path, False) in notes and notes[path, False] == known:
            return True
        above = (path[:path.rfind(b"/") + 1].rstrip(b"/"), True)
        if known is not None or above not in notes:
            return False
        beneath = notes[above]
        return beneath is None or beneath[3] & KIND == _REGULAR


@dataclass(slots=True)
class Content:
    """A small file as it was read, when *stamp* was its; *modified* is its time in microseconds.

    *fields* are those of an answer that tell of it, by the settings that decide about them.
    """

    stamp: Stamp
    modified: int
    data: bytes
    fields: dict[Any, Mapping[str, tuple[str, str]]]


class Contents:
    """Small files whose bytes are kept: one that stat(2) finds unchanged needs not be opened and read again."""

    __slots__ = ("_bytes", "_files")

    def __init__(self) -> None:
        self._files: dict[str, Content] = {}
        self._bytes = 0

    def get(self, path: str, info: os.stat_result) -> Content | None:
        """What is known of *path*, which *info* tells of."""
        found = self._files.get(path)
        if found is not None and found.stamp == (info.st_mtime_ns, info.st_size, info.st_ino, info.st_ctime_ns, info.st_dev):
            return found
        return None

    def put(self, path: str, info: os.stat_result, data: bytes, now: float) -> None:
        """Keep what was read, unless it is large, or so young that it may change again unseen."""
        if len(data) > LARGEST_CONTENT or now * 1e9 - info.st_mtime_ns < SETTLED:
            return
        self._bytes += len(data) + CONTENT_COST
        if self._bytes > ALL_CONTENTS:
            self._files.clear()
            self._bytes = len(data) + CONTENT_COST
        self._files[path] = Content(stamp_of(info), info.st_mtime_ns // 1000, data, {})


def is_folder(info: os.stat_result | None) -> bool:
    """Whether *info* is a directory's."""
    return info is not None and info.st_mode & KIND == _FOLDER


def is_file(info: os.stat_result | None) -> bool:
    """Whether *info* is a regular file's."""
    return info is not None and info.st_mode & KIND == _REGULAR


def is_link(info: os.stat_result | None) -> bool:
    """Whether *info* (of lstat) is a symbolic link's."""
    return info is not None and info.st_mode & KIND == _LINK


def still_holds(notes: tuple[Note, ...], turn: int) -> bool:
    """Whether every noted question still has its answer; each is asked once in every *turn* of a server's loop (-1: always)."""
    for note in notes:
        if note.turn == turn and turn >= 0:
            continue
        known = note.known
        try:
            info = os.stat(note.path) if note.follow else os.lstat(note.path)
        except OSError as problem:
            if failure(problem.errno or EINVAL) != known:
                return False
        except ValueError:
            if failure(EINVAL) != known:
                return False
        else:
            if known is None:
                return False
            if known[0] == ANY_ENTRIES:
                if (ANY_ENTRIES, info.st_dev, info.st_ino, info.st_mode, info.st_uid, info.st_gid) != known:
                    return False
            elif (info.st_mtime_ns, info.st_size, info.st_ino, info.st_mode, info.st_ctime_ns, info.st_dev) != known:
                return False
        note.turn = turn
    return True
