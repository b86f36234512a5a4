"""Cache of file descriptors for sending cached responses.

Users never depend on the descriptor's position: sendfile(2) and pread(2) are given an offset.
"""

from __future__ import annotations

import os
from typing import Final

from whimbrel.base.portability import READ
from whimbrel.engine.deps.files import StatSignature, stat_signature

MAX_OPEN: Final = 512
LIMIT_SHARE: Final = 8  # of the process's descriptors, one part in this many is for files


class OpenFile:
    """An open descriptor: *stamp* is the stat signature of its file, *is_used* that it was used lately."""

    __slots__ = ("handle", "is_used", "stamp")

    def __init__(self, stamp: StatSignature, handle: int) -> None:
        self.stamp = stamp
        self.handle = handle
        self.is_used = True


class FdCache:
    """Key: path; value: an open descriptor with its stat signature; at most *most*, by default `max_open()`.

    The oldest descriptor is closed first, after those that were used are spared once. `sweep` closes the
    descriptors that were not used since the last sweep. Sweeps are frequent, because a deleted file occupies
    the disk while it is open.

    *closed* is the number of descriptors that were closed. While it is the same, all descriptors are valid.
    """

    __slots__ = ("_files", "_most", "closed")

    def __init__(self, most: int | None = None) -> None:
        self._most = max_open() if most is None else most
        self._files: dict[bytes, OpenFile] = {}
        self.closed = 0

    def __len__(self) -> int:
        return len(self._files)

    def get(self, path: bytes, stamp: StatSignature) -> int:
        """Return a descriptor of the file at *path* if its signature is *stamp*; -1 if it differs or cannot
        be opened.

        The cache owns the descriptor: it is valid as long as `closed` is unchanged.
        """
        known = self._files.get(path)
        if known is not None:
            if known.stamp == stamp:
                known.is_used = True
                return known.handle
            self._close(path)
        handle = open_if_unchanged(path, stamp)
        if handle >= 0:
            if len(self._files) >= self._most:
                self._evict()
            self._files[path] = OpenFile(stamp, handle)
        return handle

    def _evict(self) -> None:
        """Close the oldest descriptor that was not used since it was opened, or since it was spared."""
        files = self._files
        path = next(iter(files))
        while files[path].is_used:
            files[path].is_used = False
            files[path] = files.pop(path)
            path = next(iter(files))
        self._close(path)

    def sweep(self) -> None:
        """Close what has not been used since the last sweep."""
        for path in [path for path, file in self._files.items() if not file.is_used]:
            self._close(path)
        for file in self._files.values():
            file.is_used = False

    def close(self) -> None:
        """Close them all."""
        for path in list(self._files):
            self._close(path)

    def _close(self, path: bytes) -> None:
        os.close(self._files.pop(path).handle)
        self.closed += 1


def max_open() -> int:
    """Return how many files may be open: `MAX_OPEN`, less where the process may have few descriptors."""
    try:
        import resource
    except ImportError:  # a system without limits of processes
        return MAX_OPEN
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MAX_OPEN if soft == resource.RLIM_INFINITY else max(1, min(MAX_OPEN, soft // LIMIT_SHARE))


def open_if_unchanged(path: bytes, stamp: StatSignature) -> int:
    """Return a descriptor of the file at *path* if its signature is *stamp*, else -1."""
    try:
        handle = os.open(path, READ)
    except OSError:
        return -1
    if stat_signature(os.fstat(handle)) != stamp:
        os.close(handle)
        return -1
    return handle
