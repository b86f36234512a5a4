"""What takes the place of members of `os` that a system lacks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from whimbrel.base import portability


def test_a_read_at_an_offset_without_pread(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    handle = os.open(tmp_path / "a", portability.READ)
    assert portability._seek_and_read(handle, 3, 4) == os.pread(handle, 3, 4) == b"456"
    assert portability._seek_and_read(handle, 3, 9) == os.pread(handle, 3, 9) == b"9"
    os.close(handle)


def test_the_load_of_a_system_that_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(load >= 0 for load in portability.load_average())
    monkeypatch.delattr(os, "getloadavg")
    assert portability.load_average() == (-1.0, -1.0, -1.0)
