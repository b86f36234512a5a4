"""A disk cache whose writers are killed (cache_kills.py and cache_server_kills.py have the long runs)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.hostile import cache_server_kills
from tests.hostile.cache_kills import kill_often


def test_killed_writers_leave_whole_entries(tmp_path: Path) -> None:
    found, bad = kill_often(tmp_path, 30)
    assert found and not bad


@pytest.mark.skipif(cache_server_kills.HTCACHECLEAN is None, reason="apache2-utils has no htcacheclean here")
def test_killed_servers_leave_whole_responses() -> None:
    assert set(cache_server_kills.kill_often(6)) == {"whole entry", "whole response"}
