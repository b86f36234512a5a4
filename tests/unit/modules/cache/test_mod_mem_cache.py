"""mod_mem_cache (2.2): bounds and eviction, by the manual of 2.2."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.cached_site import CachedSite

from whimbrel.base.errors import ConfigError
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.cache.mem_cache_settings import MemCacheServerConfig
from whimbrel.modules.cache.memory_store import MemoryCache, Stored
from whimbrel.modules.cache.store import CacheInfo
from whimbrel.registry.settings import with_defaults

LOAD = "LoadModule mem_cache_module modules/mod_mem_cache.so\n"


def entry(size: int) -> Stored:
    return Stored(CacheInfo(), Headers(), Headers(), bytes(size))


@pytest.mark.parametrize("is_lru", [False, True])
def test_bytes_and_entries_are_bounded(is_lru: bool) -> None:
    cache = MemoryCache(with_defaults(MemCacheServerConfig(size=20_000, count=10, is_lru=is_lru)))
    for number in range(100):
        assert cache.put(str(number), entry(1000))
        assert cache.size <= 20_000 and len(cache.entries) <= 10
    assert "99" in cache.entries and not cache.put("x", entry(20_001))


def test_eviction_by_use() -> None:
    lru = MemoryCache(with_defaults(MemCacheServerConfig(size=100_000, count=2, is_lru=True)))
    gdsf = MemoryCache(with_defaults(MemCacheServerConfig(size=100_000, count=2)))
    for cache in (lru, gdsf):
        cache.put("large", entry(5000))
        cache.put("small", entry(10))
        cache.get("large")
        cache.put("new", entry(10))
    assert "small" not in lru.entries and "large" not in gdsf.entries


def test_responses_are_served(tmp_path: Path) -> None:
    site = CachedSite(tmp_path, "CacheEnable mem /", "2.2", LOAD)
    assert [site.get().body, site.get().get("Age"), site.count] == ["body", "0", 1]
    site.origin.body = b"x" * 10_001
    site.get("/long")
    site.get("/long")
    assert site.count == 3


@pytest.mark.parametrize(
    "line", ["MCacheSize x", "MCacheMinObjectSize 0", "MCacheMaxStreamingBuffer 1x", "MCacheMaxObjectCount x"]
)
def test_arguments_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(ConfigError):
        CachedSite(tmp_path, line, "2.2", LOAD)
