"""Full collections where memory grows: failed requests may leave their bodies in cycles."""

from __future__ import annotations

import subprocess
import sys
import weakref

from whimbrel.server.worker.memory import GROWTH_THRESHOLD, MAPPED_BYTES, MemoryWatch, resident_bytes

# Large buffers with small entries between them, as requests and caches leave them. The first buffer, which is
# freed at once, makes the C library keep smaller ones in its heap.
HOLES = f"""
from whimbrel.server.worker.memory import map_large_buffers, resident_bytes
{{call}}
bytearray(16 << 20)
kept = []
buffers = []
for _ in range(500):
    buffers.append(b"x" * {MAPPED_BYTES})
    kept.append(bytearray(3000))
full = resident_bytes()
buffers.clear()
print((full - resident_bytes()) >> 20)
"""


def given_back(call: str) -> int:
    """Return the MB that the process gives back of 23 MB in buffers, after *call*."""
    program = HOLES.format(call=call)
    return int(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True).stdout)


def test_large_buffers_leave_no_holes() -> None:
    assert given_back("") < 5  # what the call changes
    assert given_back("assert map_large_buffers()") >= 20


class Kept:
    """An object that refers to itself."""

    def __init__(self) -> None:
        self.itself = self


def test_growth_starts_a_collection() -> None:
    sizes = iter([0, GROWTH_THRESHOLD - 1, GROWTH_THRESHOLD, 0])
    watch = MemoryWatch(lambda: next(sizes))
    kept = weakref.ref(Kept())
    assert not watch.check()
    assert watch.check() and kept() is None


def test_memory_that_stays_is_the_new_base() -> None:
    size = GROWTH_THRESHOLD
    sizes = [0, size, size, size + 1, 2 * size, 2 * size]
    watch = MemoryWatch(lambda: sizes.pop(0))
    assert [watch.check() for _ in range(3)] == [True, False, True]


def test_memory_given_back_lowers_the_base() -> None:
    size = GROWTH_THRESHOLD
    sizes = [size, 0, size, 0]
    watch = MemoryWatch(lambda: sizes.pop(0))
    assert [watch.check() for _ in range(2)] == [False, True]


def test_resident_memory_follows_the_process() -> None:
    before = resident_bytes()
    data = b"x" * (64 << 20)
    assert resident_bytes() - before > len(data) // 2
