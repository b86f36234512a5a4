"""mod_socache_memcache (2.4): a shared object cache on servers of memcached."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Versions
from whimbrel.modules.cache.object_cache import GROUP, ObjectCache, SocacheKind
from whimbrel.modules.cache.remote_settings import servers_check, set_time
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import setting

PORT: Final = 11211
TIMEOUT: Final = 1.0  # seconds for a command


@dataclass(slots=True)
class MemcacheServerConfig:
    """Per-server settings: seconds that an idle connection is kept."""

    ttl: float = setting(15.0)


def make(configuration: Configuration, argument: str) -> ObjectCache:
    """Return the cache of a worker."""
    from whimbrel.modules.cache.remote_cache import MemcacheCache, read_servers

    ttl = configuration.main.config(MemcacheServerConfig).ttl
    return MemcacheCache(read_servers(argument, PORT), timeout=TIMEOUT, ttl=ttl)


MODULE: Final = Module(
    name="socache_memcache_module",
    source="mod_socache_memcache.c",
    versions=Versions.V24,
    server_config=MemcacheServerConfig,
    server_setters={
        "MemcacheConnTTL": set_time("ttl", "MemcacheConnTTL"),
    },
    providers=(Provider(GROUP, "memcache", SocacheKind(servers_check("memcache", PORT), make)),),
)
