"""mod_cache_disk (2.2: mod_disk_cache): the store ``disk`` of mod_cache.

`store.py` reads and writes entries. Entries of both versions have the files of 2.4, whose header names its
body. Manual: mod/mod_cache_disk.html.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Final
from whimbrel.directives.spec import AnyDirective, Args, ConfigScope, Versions
from whimbrel.modules.cache.mod_cache_disk.settings import (
    SIZES,
    CacheDiskDirConfig,
    CacheDiskServerConfig,
    set_length,
    set_levels,
    set_root,
)
from whimbrel.modules.cache.numbers import rows
from whimbrel.modules.cache.store import CacheStore
from whimbrel.registry.module import Module, Provider

_IN_24: Final = ("CacheReadSize", "CacheReadTime")


def make_store() -> CacheStore:
    """Return the store; it is imported when a request needs it."""
    from whimbrel.modules.cache.mod_cache_disk.store import DiskStore

    return DiskStore()


def _sizes() -> tuple[AnyDirective, ...]:
    out: tuple[AnyDirective, ...] = ()
    for name, setter, help in SIZES:
        versions = Versions.V24 if name in _IN_24 else Versions.BOTH
        out += rows(name, Args.TAKE1, setter, help, versions=versions)
    return out


DIRECTIVES: Final = (
    *rows("CacheRoot", Args.TAKE1, set_root, "The directory to store cache files", record=ConfigScope.SERVER),
    *rows(
        "CacheDirLevels",
        Args.TAKE1,
        set_levels,
        "The number of levels of subdirectories in the cache",
        record=ConfigScope.SERVER,
    ),
    *rows(
        "CacheDirLength",
        Args.TAKE1,
        set_length,
        "The number of characters in subdirectory names",
        record=ConfigScope.SERVER,
    ),
    *_sizes(),
)


def _module(name: str, source: str, versions: Versions) -> Module:
    return Module(
        name=name,
        source=source,
        versions=versions,
        dir_config=CacheDiskDirConfig,
        server_config=CacheDiskServerConfig,
        directives=DIRECTIVES,
        providers=(Provider("cache", "disk", make_store),),
    )


MODULE: Final = _module("cache_disk_module", "mod_cache_disk.c", Versions.V24)
DISK_CACHE: Final = _module("disk_cache_module", "mod_disk_cache.c", Versions.V22)
