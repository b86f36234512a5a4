"""mod_cache_socache (2.4): the store ``socache`` of mod_cache, in a shared object cache.

Manual: mod/mod_cache_socache.html.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Any, Final
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Args, ConfigScope, Versions
from whimbrel.modules.cache.mod_cache_socache.settings import CacheSocacheDirConfig, CacheSocacheServerConfig
from whimbrel.modules.cache.numbers import rows, set_size
from whimbrel.modules.cache.object_cache import prepare_kind, read_kind
from whimbrel.modules.cache.store import CacheStore
from whimbrel.registry.module import Module, Provider

MAX_UINT32: Final = 4294967295


def set_kind(cmd: Command, conf: CacheSocacheServerConfig, words: list[str]) -> None:
    """CacheSocache."""
    conf.kind = read_kind(cmd, words[0])


def make_store() -> CacheStore:
    """Return the store; it is imported when a request needs it."""
    from whimbrel.modules.cache.mod_cache_socache.store import SocacheStore

    return SocacheStore()


def prepare(finished: Any) -> None:
    """Let the kinds make their files before workers exist."""
    for kind in {server.config(CacheSocacheServerConfig).kind for server in finished.servers()}:
        prepare_kind(finished, kind)


_READ: Final = "{} argument must be a non-negative integer representing the max amount of {} to cache in go."
_TIME: Final = "{} argument must be the {} amount of time in seconds to cache an entry."
_SIZE: Final = (
    "CacheSocacheMaxSize argument must be a integer representing the max size of a cached entry (headers and "
    f"body), at least 1024 and at most ({MAX_UINT32}U)"
)
_MAX_HELP: Final = "The maximum cache entry size (headers and body) to cache a document"
_MAX_TIME_HELP: Final = "The maximum cache expiry age to cache a document in seconds"
_MIN_TIME_HELP: Final = "The minimum cache expiry age to cache a document in seconds"
_READ_HELP: Final = "The maximum quantity of data to attempt to read and cache in one go"
_READ_TIME_HELP: Final = "The maximum time taken to attempt to read and cache in go"
MODULE: Final = Module(
    name="cache_socache_module",
    source="mod_cache_socache.c",
    versions=Versions.V24,
    dir_config=CacheSocacheDirConfig,
    server_config=CacheSocacheServerConfig,
    directives=(
        *rows(
            "CacheSocache",
            Args.TAKE1,
            set_kind,
            "The shared object cache to store cache files",
            record=ConfigScope.SERVER,
            versions=Versions.V24,
        ),
        *rows(
            "CacheSocacheMaxTime",
            Args.TAKE1,
            set_size("max_time", 0, _TIME.format("CacheSocacheMaxTime", "maximum")),
            _MAX_TIME_HELP,
            versions=Versions.V24,
        ),
        *rows(
            "CacheSocacheMinTime",
            Args.TAKE1,
            set_size("min_time", 0, _TIME.format("CacheSocacheMinTime", "minimum")),
            _MIN_TIME_HELP,
            versions=Versions.V24,
        ),
        *rows(
            "CacheSocacheMaxSize",
            Args.TAKE1,
            set_size("max_size", 1024, _SIZE, MAX_UINT32),
            _MAX_HELP,
            versions=Versions.V24,
        ),
        *rows(
            "CacheSocacheReadSize",
            Args.TAKE1,
            set_size("read_size", 0, _READ.format("CacheSocacheReadSize", "data")),
            _READ_HELP,
            versions=Versions.V24,
        ),
        *rows(
            "CacheSocacheReadTime",
            Args.TAKE1,
            set_size("read_time", 0, _READ.format("CacheSocacheReadTime", "time taken")),
            _READ_TIME_HELP,
            versions=Versions.V24,
        ),
    ),
    providers=(Provider("cache", "socache", make_store),),
    post_config=(prepare,),
)
