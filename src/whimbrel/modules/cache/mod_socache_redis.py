"""mod_socache_redis (2.4): a shared object cache on servers of Redis."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.config.configuration import Configuration
from whimbrel.directives.spec import Versions
from whimbrel.modules.cache.object_cache import GROUP, ObjectCache, SocacheKind
from whimbrel.modules.cache.remote_settings import servers_check, set_time
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import setting

PORT: Final = 6379


@dataclass(slots=True)
class RedisServerConfig:
    """Per-server settings: seconds that an idle connection is kept, and for a command."""

    ttl: float = setting(15.0)
    timeout: float = setting(5.0)


def make(configuration: Configuration, argument: str) -> ObjectCache:
    """Return the cache of a worker."""
    from whimbrel.modules.cache.remote_cache import RedisCache, read_servers

    conf = configuration.main.config(RedisServerConfig)
    return RedisCache(read_servers(argument, PORT), timeout=conf.timeout, ttl=conf.ttl)


MODULE: Final = Module(
    name="socache_redis_module",
    source="mod_socache_redis.c",
    versions=Versions.V24,
    server_config=RedisServerConfig,
    server_setters={
        "RedisConnPoolTTL": set_time("ttl", "RedisConnPoolTTL"),
        "RedisTimeout": set_time("timeout", "RedisTimeout"),
    },
    providers=(Provider(GROUP, "redis", SocacheKind(servers_check("redis", PORT), make)),),
)
