"""What keeps the memory of a worker small: full collections where it grows, and a heap without holes.

A request that fails may leave a cycle that holds its body. The interpreter counts objects, not their bytes: a
few thousand objects of a hundred megabytes wait for a full collection, which GEN2_THRESHOLD makes rare.

Short-lived buffers of 64 kB (a read, a piece of a file, some TLS records) lie in the C library's heap among
the entries of caches. An entry that takes a part of a free buffer's place leaves a hole, too small for the
next buffer, so that the heap grows with each of them. Larger buffers are therefore mapped
(`map_large_buffers`). What a worker reads and sends has smaller pieces: a mapped one costs 20 microseconds.

Smaller holes are left wherever entries come and go. The library keeps their pages for later blocks, which fit
worse and worse. `MemoryWatch` returns them to the system where the process grows. A call takes two to seven
milliseconds for a heap of 100 MB.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable

from whimbrel.base.c_heap import map_from, trim_heap
from whimbrel.base.latin1 import to_text
from whimbrel.base.numbers import atoi, split
from whimbrel.base.static_typing import Final

GROWTH_THRESHOLD: Final = 16 << 20  # bytes that a worker may grow before a full collection
MAPPED_BYTES: Final = 64 << 10  # bytes of a buffer from which on it has pages of its own
TRIM_THRESHOLD: Final = 2 << 20  # bytes that a worker may grow before its heap is trimmed
TRIM_PERIOD: Final = 30.0  # seconds between two trims, at least
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

    Returns False where the C library has no such setting.
    """
    return map_from(MAPPED_BYTES)


class MemoryWatch:
    """Starts a full collection when the process has grown by GROWTH_THRESHOLD since the last one, and trims
    the heap when it has grown by TRIM_THRESHOLD since the last trim.

    Growth that neither undoes becomes the new base, so a large cache costs one collection per
    GROWTH_THRESHOLD and no more.
    """

    __slots__ = ("_base", "_clock", "_next_trim", "_resident", "_trim", "_trimmed")

    def __init__(
        self,
        resident: Callable[[], int] = resident_bytes,
        trim: Callable[[], None] = trim_heap,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resident = resident
        self._trim = trim
        self._clock = clock
        self._base = resident()
        self._trimmed = self._base  # bytes after the last trim
        self._next_trim = 0.0

    def check(self) -> bool:
        """Collect and trim if the process has grown; return True if a collection was made."""
        size = self._resident()
        if size >= self._base + GROWTH_THRESHOLD:
            gc.collect()
            self._base = self._trim_now()
            return True
        if size >= self._trimmed + TRIM_THRESHOLD and self._clock() >= self._next_trim:
            size = self._trim_now()
        self._base = min(self._base, size)
        self._trimmed = min(self._trimmed, size)
        return False

    def _trim_now(self) -> int:
        """Trim; return the bytes of the process after it."""
        self._trim()
        self._next_trim = self._clock() + TRIM_PERIOD
        self._trimmed = self._resident()
        return self._trimmed
