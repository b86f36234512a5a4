"""mod_socache_dbm (2.4): a shared object cache in a file, which survives restarts.

The file is LMDB's, with a suffix behind the argument: httpd's DBM files are bound to a build, and have
no transactions.
"""

from __future__ import annotations

from whimbrel.base.static_typing import Final
from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Versions
from whimbrel.modules.cache.object_cache import GROUP, ObjectCache, SocacheKind
from whimbrel.registry.module import Module, Provider

MAX_SIZE: Final = 64 * 1024 * 1024  # bytes of the file
DEFAULT_NAME: Final = "socache-dbm"


def check(_argument: str) -> str:
    """Return "": every name is a path."""
    return ""


def _path(configuration: Configuration, argument: str) -> str:
    from whimbrel.modules.cache.lmdb_cache import path_of

    return path_of(configuration, argument or DEFAULT_NAME) + ".lmdb"


def make(configuration: Configuration, argument: str) -> ObjectCache:
    """Return the cache of a worker."""
    from whimbrel.modules.cache.lmdb_cache import LmdbCache

    return LmdbCache(_path(configuration, argument), MAX_SIZE)


def prepare(configuration: Configuration, argument: str) -> None:
    """Make the file if there is none."""
    from whimbrel.modules.cache import lmdb_cache

    lmdb_cache.require_library()
    lmdb_cache.prepare(configuration, _path(configuration, argument), is_persistent=True)


MODULE: Final = Module(
    name="socache_dbm_module",
    source="mod_socache_dbm.c",
    versions=Versions.V24,
    providers=(Provider(GROUP, "dbm", SocacheKind(check, make, prepare)),),
)
