"""Calls of the C library's heap; what they give back is tested with `server/worker/memory.py`."""

from __future__ import annotations

import subprocess
import sys

import pytest

# A block of 100 kB in the heap is below the threshold that the library has by itself, 128 kB.
MAPPED = """
from tests.soak.probe import _heap
from whimbrel.base.c_heap import map_from
sizes = [_heap()[0]]
in_heap = [bytes(100_000) for _ in range(60)]
sizes.append(_heap()[0])
is_set = map_from(64 << 10)
mapped = [bytes(100_000) for _ in range(60)]
sizes.append(_heap()[0])
print(sizes[1] - sizes[0], sizes[2] - sizes[1], int(is_set))
"""


def test_blocks_from_a_size_on_are_mapped() -> None:
    found = subprocess.run([sys.executable, "-c", MAPPED], check=True, capture_output=True, text=True)
    in_heap, mapped, is_set = map(int, found.stdout.split())
    if not in_heap:
        pytest.skip("the C library does not tell the size of its heap")
    assert is_set and in_heap >= 6_000_000
    assert mapped < 3_000_000  # the first ones have place between others
