"""Full collections of garbage where the memory of a worker grows.

A request that fails may leave a cycle that holds its body. The interpreter counts objects, not their bytes: a
few thousand objects of a hundred megabytes wait for a full collection, which GEN2_THRESHOLD makes rare.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable

from whimbrel.base.latin1 import to_text
from whimbrel.base.numbers import atoi, split
from whimbrel.base.static_typing import Final

GROWTH_THRESHOLD: Final = 16 << 20  # bytes that a worker may grow before a full collection
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def resident_bytes() -> int:
    """Return the resident memory of this process; 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:
            return atoi(split(to_text(file.read()))[1]) * _PAGE
    except (OSError, IndexError):
        return 0


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
