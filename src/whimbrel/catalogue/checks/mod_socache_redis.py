"""mod_socache_redis' argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, short_time

CHECKS: dict[str, Rule] = {
    "redisconnpoolttl": short_time("RedisConnPoolTTL"),
    "redistimeout": short_time("RedisTimeout"),
}
