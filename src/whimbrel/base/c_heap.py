"""The heap of the C library, which has objects of more than 512 bytes and the objects of C libraries."""

from __future__ import annotations

import ctypes

from whimbrel.base.static_typing import Final

_M_MMAP_THRESHOLD: Final = -3  # malloc.h
_LIBC: Final = ctypes.CDLL(None)


def trim_heap() -> None:
    """Return free pages to the system, also those between live blocks: malloc_trim(3), GNU library only."""
    trim = getattr(_LIBC, "malloc_trim", None)
    if trim is not None:
        trim(0)


def map_from(size: int) -> bool:
    """Give blocks of *size* bytes and more pages of their own; return False where the library cannot.

    The library raises this threshold with each block that is freed, unless it is set (mallopt(3)).
    """
    mallopt = getattr(_LIBC, "mallopt", None)
    return mallopt is not None and mallopt(_M_MMAP_THRESHOLD, size) == 1
