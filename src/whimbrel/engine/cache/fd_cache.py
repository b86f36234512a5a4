"""Descriptors of the files that cached responses are sent from: open from one use to the next, as long as the
next is soon.

Whoever holds one asks for no position of its own: sendfile(2) and pread(2) are told where to begin.
"""

from __future__ import annotations

import os
from typing import Final

from whimbrel.engine.deps.files import StatSignature, stat_signature

MAX_OPEN: Final = 64


class FdCache:
    """At most *most* descriptors, the one that was used longest ago makes room; `sweep` closes those that
    nobody has used since the last sweep.

    A file that was removed takes its place on the disk as long as it is open: sweeps follow one another
    closely.
    """

    __slots__ = ("_files", "_most", "_used")

    def __init__(self, most: int = MAX_OPEN) -> None:
        self._most = most
        self._files: dict[bytes, tuple[StatSignature, int]] = {}
        self._used: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._files)

    def get(self, path: bytes, stamp: StatSignature) -> int:
        """Return a descriptor of the file at *path*, which was found to be what *stamp* says; -1 where it is
        something else by now, or cannot be opened.

        It stays ours: good until the caller gives the loop its turn.
        """
        known = self._files.get(path)
        if known is not None:
            if known[0] == stamp:
                self._used.add(path)
                return known[1]
            self._close(path)
        handle = open_if_unchanged(path, stamp)
        if handle >= 0:
            if len(self._files) >= self._most:
                self._close(
                    next((one for one in self._files if one not in self._used), next(iter(self._files)))
                )
            self._files[path] = (stamp, handle)
            self._used.add(path)
        return handle

    def sweep(self) -> None:
        """Close what has not been used since the last sweep."""
        for path in [one for one in self._files if one not in self._used]:
            self._close(path)
        self._used.clear()

    def close(self) -> None:
        """Close them all."""
        for path in list(self._files):
            self._close(path)

    def _close(self, path: bytes) -> None:
        os.close(self._files.pop(path)[1])
        self._used.discard(path)


def open_if_unchanged(path: bytes, stamp: StatSignature) -> int:
    """Return a descriptor of the file at *path* if that is what *stamp* says, else -1."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return -1
    if stat_signature(os.fstat(handle)) != stamp:
        os.close(handle)
        return -1
    return handle
