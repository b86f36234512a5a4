"""What keeps the memory of a worker small: full collections where it grows, and a heap without holes.

A request that fails may leave a cycle that holds its body. The interpreter counts objects, not their bytes: a
few thousand objects of a hundred megabytes wait for a full collection, which GEN2_THRESHOLD makes rare.

Short-lived buffers of 64 kB (a read, a piece of a file, some TLS records) lie in the C library's heap among
the entries of caches. An entry that takes a part of a free buffer's place leaves a hole, too small for the
next buffer, so that the heap grows with each of them. Larger buffers are therefore mapped
(`map_large_buffers`). What a worker reads and sends has smaller pieces: a mapped one costs 20 microseconds.
"""

from __future__ import annotations

import ctypes
import gc
import os
from collections.abc import Callable

from whimbrel.base.latin1 import to_text
from whimbrel.base.numbers import atoi, split
from whimbrel.base.static_typing import Final

GROWTH_THRESHOLD: Final = 16 << 20  # bytes that a worker may grow before a full collection
MAPPED_BYTES: Final = 64 << 10  # bytes of a buffer from which on it has pages of its own
_M_MMAP_THRESHOLD: Final = -3  # malloc.h
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return atoi(split(to_text(file.read()))[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def map_large_buffers() -> bool:
    """Give buffers of MAPPED_BYTES and more pages of their own, which the system has back with them.

    The C library raises this threshold with each buffer that is freed, unless it is set (mallopt(3)). Returns
    False where the library has no such setting.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES) == 1


class MemoryWatch:
    """Starts a full collection when the process has grown by GROWTH_THRESHOLD since the last one.

    Growth that a collection does not undo becomes the new base, so a large cache costs one collection per
    GROWTH_THRESHOLD and no more.
    """

    __slots__ = ("_base", "_resident")

    def __init__(self, resident: Callable[[], int] = resident_bytes) -> None:
        self._resident = resident
        self._base = resident()

    def check(self) -> bool:
        """Collect if the process has grown; return True if a collection was made."""
        size = self._resident()
        if size < self._base + GROWTH_THRESHOLD:
            self._base = min(self._base, size)
            return False
        gc.collect()
        self._base = self._resident()
        return True
