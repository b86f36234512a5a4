"""A disk cache whose writers are killed (tests/hostile/cache_kills.py has the long run)."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.cache_kills import kill_often


def test_killed_writers_leave_whole_entries(tmp_path: Path) -> None:
    found, bad = kill_often(tmp_path, 30)
    assert found and not bad
