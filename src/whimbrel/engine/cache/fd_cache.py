"""Cache of file descriptors for sending cached responses.

Users never depend on the descriptor's position: sendfile(2) and pread(2) are given an offset.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Final

from whimbrel.engine.deps.files import StatSignature, stat_signature

MAX_OPEN: Final = 128


class FdCache:
    """Key: path; value: an open descriptor with its stat signature; at most *most*, least recently used first
    out.

    `sweep` closes the descriptors that were not used since the last sweep. Sweeps are frequent, because a
    deleted file occupies the disk while it is open.
    """

    __slots__ = ("_files", "_most", "_used")

    def __init__(self, most: int = MAX_OPEN) -> None:
        self._most = most
        self._files: OrderedDict[bytes, tuple[StatSignature, int]] = OrderedDict()
        self._used: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._files)

    def get(self, path: bytes, stamp: StatSignature) -> int:
        """Return a descriptor of the file at *path* if its signature is *stamp*; -1 if it differs or cannot
        be opened.

        The cache owns the descriptor: it is valid until the caller yields to the event loop.
        """
        known = self._files.get(path)
        if known is not None:
            if known[0] == stamp:
                self._used.add(path)
                self._files.move_to_end(path)
                return known[1]
            self._close(path)
        handle = open_if_unchanged(path, stamp)
        if handle >= 0:
            if len(self._files) >= self._most:
                self._close(next(iter(self._files)))
            self._files[path] = (stamp, handle)
            self._used.add(path)
        return handle

    def sweep(self) -> None:
        """Close what has not been used since the last sweep."""
        for path in [entry for entry in self._files if entry not in self._used]:
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
    """Return a descriptor of the file at *path* if its signature is *stamp*, else -1."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return -1
    if stat_signature(os.fstat(handle)) != stamp:
        os.close(handle)
        return -1
    return handle
