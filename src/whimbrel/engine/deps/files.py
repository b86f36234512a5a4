"""File dependencies: what a request learns from the file system, recorded so that its response can be cached.

Phases and modules call stat through `Dependencies`, which records path and result. A cached response is valid
as long as every recorded result is unchanged.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Container, Mapping
from errno import EINVAL, ENOENT, ENOTDIR
from stat import S_IFDIR, S_IFLNK, S_IFREG

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Any, Final

StatSignature = tuple[int, int, int, int, int, int] | None
ContentSignature = tuple[
    int, int, int, int, int
]  # of a file: time of change, size, inode, time of the inode's change, device


# Masks of st_mode; the functions of the module stat cost a call each.
KIND: Final = 0o170000
_DIRECTORY = S_IFDIR
_REGULAR = S_IFREG
_LINK = S_IFLNK
MAX_CACHED_FILE: Final = 16 * 1024  # bytes of a file that is cached; of what belongs to it; of all of them
CONTENT_COST: Final = 1024
MAX_FILE_CACHE: Final = 2 * 1024 * 1024
RACY_WINDOW: Final = 1_000_000_000  # nanoseconds for which a file must have been left alone
# in the place of a directory's time: whatever happens in it, it is the same directory
ANY_ENTRIES: Final = -1
MAX_DEPENDENCIES: Final = (
    8192  # dependencies shared by responses, for paths of at most MAX_DEPENDENCY_PATH bytes
)
MAX_DEPENDENCY_PATH: Final = 512
FAILED: Final = -2  # in the place of a time: there is a response of another kind, the error


def stat_signature(info: os.stat_result) -> StatSignature:
    """Return the signature of a stat result that a response depends on; for a directory its identity, not its
    entries (see `Dependencies.stat_directory`).

    Changes of owner and group, and of contents whose time was reset, show in the time of the inode's change
    (ctime).
    """
    mode = info.st_mode
    if mode & KIND == _DIRECTORY:
        return (ANY_ENTRIES, info.st_dev, info.st_ino, mode, info.st_uid, info.st_gid)
    return (info.st_mtime_ns, info.st_size, info.st_ino, mode, info.st_ctime_ns, info.st_dev)


def content_signature(info: os.stat_result) -> ContentSignature:
    """Return the signature of a file's content."""
    return (info.st_mtime_ns, info.st_size, info.st_ino, info.st_ctime_ns, info.st_dev)


_COARSE: Final = getattr(
    time, "CLOCK_REALTIME_COARSE", 5 if sys.platform == "linux" else time.CLOCK_REALTIME
)  # of which kernels stamp files


_clock = time.clock_gettime_ns


def file_clock() -> int:
    """Return the nanoseconds that the kernel would stamp on a file now; ticks take up to 10 ms."""
    return _clock(_COARSE)


def is_settled(changed: int, clock: int) -> bool:
    """Return True if every change after *clock* (of `file_clock`) gets a later time than *changed*, the
    inode's st_ctime_ns.

    Two changes within one clock tick have the same time; on file systems with a resolution of one or two
    seconds, so do two changes within these.
    """
    return changed < clock and (changed % 1_000_000 != 0 or changed + 2 * RACY_WINDOW < clock)


def is_settled_file(info: os.stat_result) -> bool:
    """Return True if every later change will alter the file's signature; call it before reading."""
    return is_settled(info.st_ctime_ns, file_clock())


def error_signature(why: int) -> StatSignature:
    """Return the signature of a failed stat: None if nothing exists there, else one for the error, which
    leads to another response.
    """
    return None if why in (ENOENT, ENOTDIR) else (FAILED, why, 0, 0, 0, 0)


StatResult = tuple[
    os.stat_result | None, StatSignature, int
]  # result of stat, its signature, and the errno of a failure
ASSUMED_DIRECTORY: Final = os.stat_result(
    (S_IFDIR | 0o755, 1, 1, 2, 0, 0, 4096, 0, 0, 0),
    {"st_atime_ns": 0, "st_mtime_ns": 0, "st_ctime_ns": 0},
)
"""What a tool sees in the place of a directory that is not here: an empty one, which cannot be opened."""


class FileDependency:
    """A recorded stat: *path*, links followed or not, signature; *tick*: the last check without change."""

    __slots__ = ("follow", "known", "path", "tick")

    def __init__(self, path: bytes, follow: bool, known: StatSignature) -> None:
        self.path = path
        self.follow = follow
        self.known = known
        self.tick: int | None = None


class TickStatCache:
    """Cache of stat results for one tick, while it is *in_tick*: requests of one tick stat each file once.

    A change on disk is seen in the next tick. A client that changes a file after a response and requests it
    again is served in a later tick; so is all work that has waited for a program or a thread. *dependencies*
    are the objects that cached responses share; *tick* is the number of the tick.
    """

    __slots__ = ("known", "dependencies", "in_tick", "tick")

    def __init__(self) -> None:
        self.in_tick = False
        self.tick = 0
        self.known: dict[tuple[bytes, bool], StatResult] = {}
        self.dependencies: dict[tuple[bytes, bool], FileDependency] = {}

    def dependency(self, path: bytes, follow: bool, known: StatSignature) -> FileDependency:
        """Return the note of a question and its response, one object for all responses.

        Only the last response is kept for each question: a file that changes for ever, such as one of a disk
        cache, has one entry.
        """
        key = (path, follow)
        dependency = self.dependencies.get(key)
        if dependency is None or dependency.known != known:
            is_full = dependency is None and len(self.dependencies) >= MAX_DEPENDENCIES
            dependency = FileDependency(path, follow, known)
            if len(path) <= MAX_DEPENDENCY_PATH:
                if is_full:
                    self.dependencies.clear()
                self.dependencies[key] = dependency
        return dependency


def _question(*, follow: bool) -> Callable[[Dependencies, str], os.stat_result | None]:
    """`FileView.stat` or `lstat`: a function for each, with `stat_signature` written out in it, since they
    make up much of what a request costs.
    """

    def question(self: Dependencies, path: str) -> os.stat_result | None:
        name = path.encode("latin-1")
        key = (name, follow)
        probes = self._stat_cache
        if probes is not None and probes.in_tick:
            result = probes.known.get(key)
            if result is not None:
                return self._from_tick(key, result)
        try:
            info = os.stat(name) if follow else os.lstat(name)
        except OSError as problem:
            self._missing(key, problem.errno or EINVAL)
            return None
        except ValueError:
            self._missing(key, EINVAL)
            return None
        mode = info.st_mode
        newest = info.st_mtime_ns
        if mode & KIND == _DIRECTORY:
            known = (ANY_ENTRIES, info.st_dev, info.st_ino, mode, info.st_uid, info.st_gid)
            self.stats[key] = known
        else:
            changed = info.st_ctime_ns
            known = (newest, info.st_size, info.st_ino, mode, changed, info.st_dev)
            self.stats[key] = known
            if newest > self.newest:
                self.newest = newest
            if changed > self.changed:
                self.changed = changed
        if probes is not None and probes.in_tick:
            probes.known[key] = (info, known, 0)
        return info

    return question


# What `Dependencies` had recorded before the handler: stats, listings, on_client, on_query, on_path,
# address_lists, newest, changed, nested, lookups.
RecordedDependencies = tuple[
    dict[tuple[bytes, bool], StatSignature],
    dict[tuple[bytes, bool], StatSignature],
    bool,
    bool,
    bool,
    tuple[Container[str], ...],
    int,
    int,
    int,
    int,
]


class Dependencies:
    """Dependencies of one response: the stat results of a request, its redirects and sub-requests, which
    share one object.

    Attributes:
        on_client: the response depends on the client's address; `address_lists`: on membership in these
            lists.
        on_query: it depends on the query of the target; `on_path`: an expression read the URL's path or the
            file's name.
        is_per_request: it has a value that is unique to the request, so it is not cached.
        is_uncacheable: it depends on something that cannot be recorded, so it is not cached.
        clock_fields: values of response fields that depend on the clock (`output.field_slots.ClockValue`).
        valid_until: time in seconds since the epoch from which on the response is another; None for never.
        nested: number of documents included by others; `lookups`: of sub-requests within a look-ahead.
    """

    __slots__ = (
        "_begun",
        "_listings",
        "_stat_cache",
        "changed",
        "on_client",
        "errno",
        "lookups",
        "address_lists",
        "clock_fields",
        "nested",
        "newest",
        "stats",
        "is_uncacheable",
        "is_per_request",
        "on_path",
        "on_query",
        "valid_until",
    )

    def __init__(self, probes: TickStatCache | None = None) -> None:
        self._stat_cache = probes
        self.on_client = False
        self.is_uncacheable = False
        self.is_per_request = False
        self.on_query = False
        self.on_path = False
        self.address_lists: tuple[Container[str], ...] = ()
        self.stats: dict[tuple[bytes, bool], StatSignature] = {}
        self.clock_fields: list[str] = []
        self.valid_until: float | None = None
        self.newest = 0
        self.changed = 0
        self.nested = 0
        self.lookups = 0
        self._begun = _clock(_COARSE)
        self._listings: dict[tuple[bytes, bool], StatSignature] = {}
        self.errno = 0  # why the last question that got None got it

    stat = _question(follow=True)
    """stat(2), links followed; None where it fails, with the reason in `errno`."""
    lstat = _question(follow=False)
    """lstat(2); None where it fails, with the reason in `errno`."""

    def on_disk(self, path: str, *, follow: bool = True) -> str:
        """Return the file to open for *path*; *follow*: its last name may be a link, too."""
        return path

    def opened(self, path: str, info: os.stat_result) -> os.stat_result:
        """Return the status of *path*, whose open file has the status *info*."""
        return info

    def _from_tick(self, key: tuple[bytes, bool], result: StatResult) -> os.stat_result | None:
        """Record a result that is known in this tick."""
        info, known, why = result
        self.stats[key] = known
        if info is None:
            self.errno = why
        elif known is not None and known[0] >= 0:
            self.newest, self.changed = max(self.newest, known[0]), max(self.changed, known[4])
        return info

    def _missing(self, key: tuple[bytes, bool], why: int) -> None:
        known = None if why == ENOENT else error_signature(why)
        self.stats[key] = known
        self.errno, probes = why, self._stat_cache
        if probes is not None and probes.in_tick:
            probes.known[key] = (None, known, why)

    def expire_at(self, seconds: float) -> None:
        """Record that the response is another one from *seconds* since the epoch on."""
        self.valid_until = seconds if self.valid_until is None else min(seconds, self.valid_until)

    def discard(self, path: str) -> None:
        """Drop the record of lstat of *path*, which had no influence."""
        self.stats.pop((path.encode("latin-1"), False), None)

    def stat_directory(self, path: str) -> os.stat_result | None:
        """stat(2) of a directory whose time or entries matter to the response; None where it fails."""
        info = self.stat(path)
        if info is not None:
            self._listings[to_bytes(path), True] = (
                info.st_mtime_ns,
                info.st_size,
                info.st_ino,
                info.st_mode,
                info.st_ctime_ns,
                info.st_dev,
            )
            self.newest, self.changed = (
                max(self.newest, info.st_mtime_ns),
                max(self.changed, info.st_ctime_ns),
            )
        return info

    def is_settled(self, seconds: float) -> bool:
        """Return True if all files were left alone for a second before *seconds*: a change will show."""
        return seconds * 1e9 - self.newest > RACY_WINDOW and is_settled(self.changed, self._begun)

    def recorded(self) -> RecordedDependencies:
        """Return a copy of what was recorded, for `adopt`."""
        return (
            self.stats.copy(),
            self._listings.copy(),
            self.on_client,
            self.on_query,
            self.on_path,
            self.address_lists,
            self.newest,
            self.changed,
            self.nested,
            self.lookups,
        )

    def adopt(self, recorded: RecordedDependencies) -> None:
        """Take over what an earlier request recorded; the caller has checked that it is unchanged."""
        (
            stats,
            listings,
            self.on_client,
            self.on_query,
            self.on_path,
            self.address_lists,
            self.newest,
            self.changed,
            self.nested,
            self.lookups,
        ) = recorded
        self.stats = stats.copy()
        if listings:
            self._listings = listings.copy()

    def minimal(self) -> tuple[FileDependency, ...]:
        """Return the smallest set of dependencies that implies all recorded ones."""
        self.stats.update(self._listings)
        make = FileDependency if self._stat_cache is None else self._stat_cache.dependency
        return tuple(
            [
                make(path, follow, known)
                for (path, follow), known in self.stats.items()
                if not self._implied(path, follow, known)
            ]
        )

    def _implied(self, path: bytes, follow: bool, known: StatSignature) -> bool:
        """Return True if another recorded dependency implies this one.

        A path that is no link has the same result with links followed; below a missing path and below a file
        nothing exists.
        """
        notes = self.stats
        if follow and (path, False) in notes and notes[path, False] == known:
            return True
        above = (path[: path.rfind(b"/") + 1].rstrip(b"/"), True)
        if known is not None or above not in notes:
            return False
        beneath = notes[above]
        return beneath is None or beneath[3] & KIND == _REGULAR


@dataclass(slots=True)
class CachedFile:
    """The contents of a small file when its signature was *stamp*; *modified* is its time in microseconds.

    *fields* are the response fields that describe it, by the settings that decide about them.
    """

    stamp: ContentSignature
    modified: int
    data: bytes
    fields: dict[Any, Mapping[str, tuple[str, str]]]


class FileCache:
    """Cache of small files. Key: path; value: contents; valid while stat(2) has the same signature."""

    __slots__ = ("_bytes", "_files")

    def __init__(self) -> None:
        self._files: dict[str, CachedFile] = {}
        self._bytes = 0

    def get(self, path: str, info: os.stat_result) -> CachedFile | None:
        """Return the contents of *path*, whose stat result is *info*; None if not cached or outdated."""
        entry = self._files.get(path)
        if entry is not None and entry.stamp == (
            info.st_mtime_ns,
            info.st_size,
            info.st_ino,
            info.st_ctime_ns,
            info.st_dev,
        ):
            return entry
        return None

    def put(self, path: str, info: os.stat_result, data: bytes, now: float) -> None:
        """Store a file's contents unless it is large, or so young that a change may not show."""
        if len(data) > MAX_CACHED_FILE or now * 1e9 - info.st_mtime_ns < RACY_WINDOW:
            return
        self._bytes += len(data) + CONTENT_COST
        if self._bytes > MAX_FILE_CACHE:
            self._files.clear()
            self._bytes = len(data) + CONTENT_COST
        self._files[path] = CachedFile(content_signature(info), info.st_mtime_ns // 1000, data, {})


def is_directory(info: os.stat_result | None) -> bool:
    """Return True if *info* is a directory's."""
    return info is not None and info.st_mode & KIND == _DIRECTORY


def is_file(info: os.stat_result | None) -> bool:
    """Return True if *info* is a regular file's."""
    return info is not None and info.st_mode & KIND == _REGULAR


def is_link(info: os.stat_result | None) -> bool:
    """Return True if *info* (of lstat) is a symbolic link's."""
    return info is not None and info.st_mode & KIND == _LINK


def unchanged(notes: tuple[FileDependency, ...], tick: int | None) -> bool:
    """Return True if every dependency is unchanged; each is checked once in every *tick* (None: always)."""
    for note in notes:
        if note.tick == tick and tick is not None:
            continue
        known = note.known
        try:
            info = os.stat(note.path) if note.follow else os.lstat(note.path)
        except OSError as problem:
            if error_signature(problem.errno or EINVAL) != known:
                return False
        except ValueError:
            if error_signature(EINVAL) != known:
                return False
        else:
            if known is None:
                return False
            if known[0] == ANY_ENTRIES:
                if (ANY_ENTRIES, info.st_dev, info.st_ino, info.st_mode, info.st_uid, info.st_gid) != known:
                    return False
            elif (
                info.st_mtime_ns,
                info.st_size,
                info.st_ino,
                info.st_mode,
                info.st_ctime_ns,
                info.st_dev,
            ) != known:
                return False
        note.tick = tick
    return True
