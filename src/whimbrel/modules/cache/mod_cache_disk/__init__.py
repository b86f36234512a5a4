"""mod_cache_disk (2.2: mod_disk_cache): the store ``disk`` of mod_cache.

`store.py` reads and writes entries. Entries of both versions have the files of 2.4, whose header names its
body.
"""

from __future__ import annotations

from collections.abc import Mapping

from whimbrel.base.static_typing import Final
from whimbrel.directives.spec import Setter, Versions
from whimbrel.modules.cache.mod_cache_disk.settings import (
    READ_SETTERS,
    SIZE_SETTERS,
    CacheDiskDirConfig,
    CacheDiskServerConfig,
    set_length,
    set_levels,
)
from whimbrel.modules.cache.store import CacheStore
from whimbrel.modules.support.setters import set_text
from whimbrel.registry.module import Module, Provider


def make_store() -> CacheStore:
    """Return the store; it is imported when a request needs it."""
    from whimbrel.modules.cache.mod_cache_disk.store import DiskStore

    return DiskStore()


def _module(name: str, source: str, versions: Versions, sizes: Mapping[str, Setter]) -> Module:
    return Module(
        name=name,
        source=source,
        versions=versions,
        dir_config=CacheDiskDirConfig,
        server_config=CacheDiskServerConfig,
        dir_setters=sizes,
        server_setters={
            "CacheRoot": set_text("root"),
            "CacheDirLevels": set_levels,
            "CacheDirLength": set_length,
        },
        providers=(Provider("cache", "disk", make_store),),
    )


MODULE: Final = _module("cache_disk_module", "mod_cache_disk.c", Versions.V24, READ_SETTERS | SIZE_SETTERS)
DISK_CACHE: Final = _module("disk_cache_module", "mod_disk_cache.c", Versions.V22, SIZE_SETTERS)
