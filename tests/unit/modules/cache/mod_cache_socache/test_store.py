"""Shared object caches in LMDB files, memcached and Redis: shared by engines, lost at a restart."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("lmdb", reason="the optional package lmdb is not installed")

from tests.support.cache_server import CacheServer
from tests.support.cached_site import FRESH, CachedSite

from whimbrel.base.errors import ConfigError
from whimbrel.modules.cache.lmdb_cache import LmdbCache
from whimbrel.modules.cache.mod_cache_socache import prepare
from whimbrel.testing.fake_runtime import run_sync

LOAD = "".join(
    f"LoadModule {name}_module modules/mod_{name}.so\n"
    for name in ("cache_socache", "socache_shmcb", "socache_dbm", "socache_memcache", "socache_redis")
)


@pytest.fixture(params=["memcache", "redis"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CacheServer]:
    found = CacheServer(request.param, tmp_path)
    found.start()
    yield found
    found.stop()


def make_site(root: Path, kind: str) -> CachedSite:
    site = CachedSite(root, f"CacheSocache {kind}\nCacheEnable socache /", load=LOAD)
    prepare(site.engine.configuration)
    return site


def test_servers_are_shared_and_survived(tmp_path: Path, server: CacheServer) -> None:
    site = make_site(tmp_path, f"{server.kind}:127.0.0.1:{server.port}")
    site.origin.fields = [*FRESH, ("Vary", "X-V")]
    assert [site.state("X-V: 1"), site.state("X-V: 1"), site.state("X-V: 2")] == ["MISS", "HIT", "MISS"]
    site.restart()  # another worker
    assert [site.state("X-V: 1"), site.state("X-V: 2")] == ["HIT", "HIT"]
    server.stop()
    assert site.get("/x", "X-V: 1").body == "body"
    server.start()
    assert [site.state("X-V: 1"), site.state("X-V: 1")] == ["MISS", "HIT"]
    site.get(method="DELETE")
    assert site.count == 5


@pytest.mark.parametrize("kind", ["shmcb", "shmcb:x(512000)", "dbm", "dbm:y"])
def test_files_are_shared(tmp_path: Path, kind: str) -> None:
    site = make_site(tmp_path, kind)
    assert [site.state(), site.state()] == ["MISS", "HIT"]
    site.restart()  # the next start of the server
    assert site.state() == ("MISS" if "shmcb" in kind else "HIT")


def test_head_is_stored_if_the_handler_produced_the_body(tmp_path: Path) -> None:
    site = make_site(tmp_path, "shmcb")
    site.origin.fields = [*FRESH, ("Content-Length", "4")]

    def head() -> str:
        return (site.get(method="HEAD").get("X-Cache") or "none").split()[0]

    assert [head(), head(), site.state(), head()] == ["MISS", "HIT", "MISS", "HIT"]
    site.get(method="DELETE")
    site.origin.body = b""
    assert [head(), head()] == ["MISS", "MISS"]


def test_entries_are_bounded(tmp_path: Path) -> None:
    site = make_site(tmp_path, "shmcb")
    site.origin.body = b"x" * 102400
    assert [site.state(), site.state()] == ["MISS", "MISS"]
    site.origin.body = b"x" * 50000
    assert [site.state(), site.state()] == ["MISS", "HIT"]


def test_a_file_is_bounded(tmp_path: Path) -> None:
    size = 1 << 20
    cache = LmdbCache(str(tmp_path / "a.lmdb"), size)
    r = SimpleNamespace(engine=SimpleNamespace(runtime=SimpleNamespace(now=lambda: 1000.0)))
    for number in range(100):
        assert run_sync(cache.store(r, b"%d" % number, bytes(50_000), 60))  # type: ignore[arg-type]
    assert run_sync(cache.retrieve(r, b"99", 60_000)) == bytes(50_000)  # type: ignore[arg-type]
    assert (tmp_path / "a.lmdb").stat().st_size <= size


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("CacheSocache nosuch", "Unknown socache provider 'nosuch'. Maybe you need to load the appropriate"),
        ("CacheSocache shmcb:x(1)", "Invalid argument: size has to be >= 8192 bytes"),
        (
            "CacheSocacheMaxSize 10",
            "CacheSocacheMaxSize argument must be a integer representing the max size",
        ),
        ("MemcacheConnTTL x", "MemcacheConnTTL has wrong format"),
        ("RedisTimeout 2h", "RedisTimeout can only be 0 or up to one hour."),
    ],
)
def test_arguments_are_refused(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CachedSite(tmp_path, line, load=LOAD)
    assert message in str(caught.value)


def test_without_a_server_every_request_passes(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        site = make_site(tmp_path, f"redis:127.0.0.1:{closed.getsockname()[1]}")
        assert [site.get().body, site.get().body] == ["body", "body"] and site.count == 2
