"""Calls of the C library's heap; what they give back is tested with `server/worker/memory.py`."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from whimbrel.base import c_heap

# A block of 100 kB in the heap is below the threshold that the library has by itself, 128 kB.
MAPPED = """
from tests.soak.probe import _heap
from whimbrel.base.c_heap import map_from
before = _heap()[0]
in_heap = bytes(100_000)
between = _heap()[0]
is_set = map_from(64 << 10)
mapped = bytes(100_000)
print(between - before >= 100_000, _heap()[0] - between >= 100_000, is_set)
"""


def test_blocks_from_a_size_on_are_mapped() -> None:
    found = subprocess.run([sys.executable, "-c", MAPPED], check=True, capture_output=True, text=True)
    if found.stdout.split()[0] == "False":
        pytest.skip("the C library does not tell the size of its heap")
    assert found.stdout.split() == ["True", "False", "True"]


def test_another_library_has_no_such_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_heap, "_LIBC", SimpleNamespace())
    c_heap.trim_heap()
    assert not c_heap.map_from(1 << 20)
