"""mod_cache_socache (2.4): the store ``socache`` of mod_cache, in a shared object cache."""

from __future__ import annotations

from whimbrel.base.static_typing import Final
from whimbrel.catalogue.checks.numbers import LONG_MAX
from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Versions
from whimbrel.modules.cache.mod_cache_socache.settings import CacheSocacheDirConfig, CacheSocacheServerConfig
from whimbrel.modules.cache.object_cache import prepare_kind, read_kind
from whimbrel.modules.cache.store import CacheStore
from whimbrel.modules.support.setters import set_read, set_size
from whimbrel.registry.module import Module, Provider

MAX_UINT32: Final = 4294967295


def make_store() -> CacheStore:
    """Return the store; it is imported when a request needs it."""
    from whimbrel.modules.cache.mod_cache_socache.store import SocacheStore

    return SocacheStore()


def prepare(finished: Configuration) -> None:
    """Let the kinds make their files before workers exist."""
    for kind in {server.config(CacheSocacheServerConfig).kind for server in finished.servers()}:
        prepare_kind(finished, kind)


_READ: Final = "{} argument must be a non-negative integer representing the max amount of {} to cache in go."
_TIME: Final = "{} argument must be the {} amount of time in seconds to cache an entry."
_SIZE: Final = (
    "CacheSocacheMaxSize argument must be a integer representing the max size of a cached entry (headers and "
    f"body), at least 1024 and at most ({MAX_UINT32}U)"
)
MODULE: Final = Module(
    name="cache_socache_module",
    source="mod_cache_socache.c",
    versions=Versions.V24,
    dir_config=CacheSocacheDirConfig,
    server_config=CacheSocacheServerConfig,
    dir_setters={
        "CacheSocacheMaxTime": set_size(
            "max_time", 0, _TIME.format("CacheSocacheMaxTime", "maximum"), LONG_MAX - 1
        ),
        "CacheSocacheMinTime": set_size(
            "min_time", 0, _TIME.format("CacheSocacheMinTime", "minimum"), LONG_MAX - 1
        ),
        "CacheSocacheMaxSize": set_size("max_size", 1024, _SIZE, MAX_UINT32),
        "CacheSocacheReadSize": set_size(
            "read_size", 0, _READ.format("CacheSocacheReadSize", "data"), LONG_MAX - 1
        ),
        "CacheSocacheReadTime": set_size(
            "read_time", 0, _READ.format("CacheSocacheReadTime", "time taken"), LONG_MAX - 1
        ),
    },
    server_setters={"CacheSocache": set_read("kind", read_kind)},
    providers=(Provider("cache", "socache", make_store),),
    post_config=(prepare,),
)
