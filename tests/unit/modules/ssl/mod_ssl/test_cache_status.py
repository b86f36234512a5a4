"""The block of a status page about the session cache, as apache2 2.4.71 divides its memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.modules.ssl.mod_ssl.cache_status import subcaches

LOAD = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("ssl", "status", "socache_shmcb", "socache_dbm", "socache_memcache")
)
CONF = LOAD + "ExtendedStatus On\n<Location /s>\nSetHandler server-status\n</Location>\n"


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (20000, (4, 27)),
        (65536, (8, 45)),
        (100000, (16, 34)),
        (512000, (32, 88)),
        (524288, (32, 91)),
        (1000000, (32, 173)),
        (5000000, (64, 434)),
    ],
)
def test_subcaches(size: int, expected: tuple[int, int]) -> None:
    assert subcaches(size) == expected


@pytest.mark.parametrize(
    ("cache", "lines"),
    [
        ("shmcb:@/c(512000)", ["CacheType: SHMCB", "CacheSharedMemory: 512000", "CacheCurrentEntries: 0"]),
        ("dbm:@/cache", ["CacheType: DBM", "CacheMaximumSize: unlimited", "CacheCurrentEntries: 0"]),
        ("none", []),
    ],
)
def test_lines_for_programs(tmp_path: Path, cache: str, lines: list[str]) -> None:
    engine = build_engine(tmp_path, f"{CONF}SSLSessionCache {cache}\n")
    _, block, rest = fetch(engine, "/s?auto").body.partition("TLSSessionCacheStatus\n")
    assert bool(block) == bool(lines)
    assert rest.splitlines()[:3] == lines
    page = fetch(engine, "/s").body
    assert ("SSL/TLS Session Cache Status:" in page) == bool(lines)
