"""Full collections and trims where memory grows: bodies in cycles, and holes in the heap."""

from __future__ import annotations

import subprocess
import sys
import weakref
from pathlib import Path

from whimbrel.server.worker.memory import (
    GROWTH_THRESHOLD,
    MAPPED_BYTES,
    TRIM_PERIOD,
    TRIM_THRESHOLD,
    MemoryWatch,
    resident_bytes,
)

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
    sizes = iter([0, TRIM_THRESHOLD - 1, GROWTH_THRESHOLD, 0])
    watch = MemoryWatch(lambda: next(sizes))
    kept = weakref.ref(Kept())
    assert not watch.check()
    assert watch.check() and kept() is None


def test_memory_that_stays_is_the_new_base() -> None:
    size = GROWTH_THRESHOLD
    sizes = [0, size, size, size + 1, 2 * size, 2 * size]
    watch = MemoryWatch(lambda: sizes.pop(0))
    assert [watch.check() for _ in range(3)] == [True, False, True]


class Watched:
    """A process of *size* bytes, of which a trim gives *free* back, and its clock."""

    def __init__(self) -> None:
        self.size = 10 * TRIM_THRESHOLD
        self.free = 0
        self.now = 1000.0
        self.trims = 0
        self.watch = MemoryWatch(lambda: self.size, self.trim, lambda: self.now)

    def trim(self) -> None:
        self.trims += 1
        self.size -= self.free
        self.free = 0


def test_growth_starts_a_trim_and_a_period_passes_until_the_next() -> None:
    process = Watched()
    for _ in range(3):
        process.size += TRIM_THRESHOLD // 2
        process.free = TRIM_THRESHOLD // 2
        assert not process.watch.check()
    assert process.trims == 1
    process.size += TRIM_THRESHOLD
    process.now += TRIM_PERIOD - 1
    process.watch.check()
    assert process.trims == 1
    process.now += 1
    process.watch.check()
    process.watch.check()
    assert process.trims == 2


def test_a_process_that_does_not_grow_is_not_trimmed() -> None:
    process = Watched()
    for _ in range(1000):
        process.now += TRIM_PERIOD
        process.size += 1
        process.watch.check()
        process.size -= 1
    assert process.trims == 0


def test_a_collection_is_followed_by_a_trim() -> None:
    process = Watched()
    process.size += GROWTH_THRESHOLD
    process.free = GROWTH_THRESHOLD
    assert process.watch.check() and process.trims == 1
    process.size += GROWTH_THRESHOLD - 1
    process.now += TRIM_PERIOD
    assert not process.watch.check() and process.trims == 2


# Entries of several sizes, of which many are dropped: less than a page lies between most of those that stay.
DROPPED = """
import random
from whimbrel.server.worker import memory
from tests.soak.probe import _heap
dice = random.Random(1)
kept = [b"x" * dice.randrange(600, 20_000) for _ in range(6000)]
watch = memory.MemoryWatch()
watch._trimmed = watch._base = 0
full = memory.resident_bytes()
kept = [each for each in kept if dice.random() < 0.3]
before = memory.resident_bytes()
is_known = _heap()[1] > 0
watch.check()
print((full - before) >> 20, (before - memory.resident_bytes()) >> 20, int(is_known))
"""


def test_pages_between_live_blocks_are_given_back() -> None:
    program = subprocess.run(
        [sys.executable, "-c", DROPPED], check=True, capture_output=True, cwd=Path(__file__).parents[4]
    )
    at_once, trimmed, is_known = map(int, program.stdout.split())
    assert at_once < 10  # of about 40 MB that are free: what the trim changes
    assert trimmed >= 20 if is_known else trimmed >= 0


def test_memory_given_back_lowers_the_base() -> None:
    size = GROWTH_THRESHOLD
    sizes = [size, 0, size, 0]
    watch = MemoryWatch(lambda: sizes.pop(0))
    assert [watch.check() for _ in range(2)] == [False, True]


def test_resident_memory_follows_the_process() -> None:
    before = resident_bytes()
    data = b"x" * (64 << 20)
    assert resident_bytes() - before > len(data) // 2
