"""Files as one request sees them, and the notes that let a finished answer be kept.

Everything that an answer depends on in the file system is asked through `FileView`, which notes the question and its answer: a
kept answer is good as long as each note still holds.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EINVAL
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Final

from whimbrel.octets import raw

Mark = tuple[int, int, int, int, int, int] | None
Dependency = tuple[bytes, bool, Mark]  # path, whether links are followed, what stat said
Moving = tuple[str, Callable[[int], str]]


ANY_ENTRIES: Final = -1  # in the place of a folder's time: whatever happens in it, it is the same folder


def mark(info: os.stat_result) -> Mark:
    """What must stay the same for an answer to stay the same.  Of a folder that is its identity, not what lies in it (see `FileView.exact`)."""
    if S_ISDIR(info.st_mode):
        return (ANY_ENTRIES, 0, info.st_ino, info.st_mode, info.st_uid, info.st_gid)
    return (info.st_mtime_ns, info.st_size, info.st_ino, info.st_mode, info.st_uid, info.st_gid)


class FileView:
    """What one answer depends on: the file questions of a request, its redirects and sub-requests included.

    *client* says that it depended on the client's address, *outside* that it depended on something that can't be noted, so that it is not
    kept.  *moving* are texts in the answer's fields that go with the clock: each as it stands there, and what makes it anew for a second.
    One view is shared by all requests that take part in an answer.  *nested* counts the documents included by others, *nested_bytes* what they wrote.
    """

    __slots__ = ("client", "errno", "moving", "nested", "nested_bytes", "newest", "notes", "outside")

    def __init__(self) -> None:
        self.client = self.outside = False
        self.notes: dict[tuple[bytes, bool], Mark] = {}
        self.moving: list[Moving] = []
        self.newest = self.nested = self.nested_bytes = 0
        self.errno = 0  # why the last question that got None got it

    def stat(self, path: str) -> os.stat_result | None:
        """stat(2), links followed; None where it fails, with the reason in `errno`."""
        return self._ask(raw(path), True)

    def lstat(self, path: str) -> os.stat_result | None:
        """lstat(2); None where it fails, with the reason in `errno`."""
        return self._ask(raw(path), False)

    def _ask(self, path: bytes, follow: bool) -> os.stat_result | None:
        try:
            info = os.stat(path) if follow else os.lstat(path)
        except (OSError, ValueError) as problem:
            self.notes[path, follow] = None
            self.errno = getattr(problem, "errno", None) or EINVAL
            return None
        found = self.notes[path, follow] = mark(info)
        if found is not None and found[0] > self.newest:
            self.newest = found[0]
        return info

    def exact(self, path: str) -> os.stat_result | None:
        """stat(2) of a folder whose time or entries matter to the answer; None where it fails."""
        info = self._ask(raw(path), True)
        if info is not None:
            self.notes[raw(path), True] = (info.st_mtime_ns, info.st_size, info.st_ino, info.st_mode, info.st_uid, info.st_gid)
            self.newest = max(self.newest, info.st_mtime_ns)
        return info


def is_folder(info: os.stat_result | None) -> bool:
    """Whether *info* is a directory's."""
    return info is not None and S_ISDIR(info.st_mode)


def is_file(info: os.stat_result | None) -> bool:
    """Whether *info* is a regular file's."""
    return info is not None and S_ISREG(info.st_mode)


def is_link(info: os.stat_result | None) -> bool:
    """Whether *info* (of lstat) is a symbolic link's."""
    return info is not None and S_ISLNK(info.st_mode)


def still_holds(notes: tuple[Dependency, ...]) -> bool:
    """Whether every noted question still has its answer."""
    for path, follow, known in notes:
        try:
            info = os.stat(path) if follow else os.lstat(path)
        except (OSError, ValueError):
            if known is not None:
                return False
            continue
        if known is None:
            return False
        if known[0] == ANY_ENTRIES:
            if (ANY_ENTRIES, 0, info.st_ino, info.st_mode, info.st_uid, info.st_gid) != known:
                return False
        elif (info.st_mtime_ns, info.st_size, info.st_ino, info.st_mode, info.st_uid, info.st_gid) != known:
            return False
    return True
