"""mod_socache_shmcb (2.4): a shared object cache in memory, which every start empties.

The memory is an LMDB file below DefaultRuntimeDir.
"""

from __future__ import annotations

import zlib

from whimbrel.base.numbers import strtol
from whimbrel.base.static_typing import Final
from whimbrel.catalogue.checks.providers import segment_error
from whimbrel.catalogue.checks.rules import CheckContext
from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Versions
from whimbrel.modules.cache.object_cache import GROUP, ObjectCache, SocacheKind
from whimbrel.registry.module import Module, Provider

DEFAULT_SIZE: Final = 512 * 1024
MIN_FILE: Final = 256 * 1024  # bytes below which LMDB has no room for values


def check(argument: str) -> str:
    """Return httpd's message about ``PATH(SIZE)``, "" for none."""
    return segment_error(argument, CheckContext()) or ""


def _file(configuration: Configuration, argument: str) -> tuple[str, int]:
    from whimbrel.modules.cache.lmdb_cache import path_of

    name, _, rest = argument.partition("(")
    size = strtol(rest)[0] if rest else DEFAULT_SIZE
    path = path_of(configuration, name or f"socache-shmcb-{zlib.crc32(configuration.root.encode()):08x}")
    return f"{path}.lmdb", max(size, MIN_FILE)


def make(configuration: Configuration, argument: str) -> ObjectCache:
    """Return the cache of a worker."""
    from whimbrel.modules.cache.lmdb_cache import LmdbCache

    return LmdbCache(*_file(configuration, argument))


def prepare(configuration: Configuration, argument: str) -> None:
    """Make the empty file."""
    from whimbrel.modules.cache import lmdb_cache

    lmdb_cache.require_library()
    lmdb_cache.prepare(configuration, _file(configuration, argument)[0], is_persistent=False)


MODULE: Final = Module(
    name="socache_shmcb_module",
    source="mod_socache_shmcb.c",
    versions=Versions.V24,
    providers=(Provider(GROUP, "shmcb", SocacheKind(check, make, prepare)),),
)
