"""Bounds of a process that reads files of other people: its memory, and calls within each other."""

from __future__ import annotations

import sys
from typing import Final

MAX_RECURSION: Final = 10_000
"""Calls within each other in a command: several for each of MAX_SECTIONS."""
MAX_MEMORY: Final = 2 << 30
"""Bytes of data of one process of a command."""


def limit_process(max_memory: int = MAX_MEMORY) -> None:
    """Let this process fail if it needs more than *max_memory*, in the place of the machine."""
    sys.setrecursionlimit(MAX_RECURSION)
    try:
        import resource
    except ImportError:  # a system without limits of processes
        return
    _soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or hard > max_memory:
        resource.setrlimit(resource.RLIMIT_DATA, (max_memory, hard))
