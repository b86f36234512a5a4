"""mod_socache_redis' argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, duration

CHECKS: dict[str, Rule] = {"redisconnpoolttl": duration("RedisConnPoolTTL has wrong format"), "redistimeout": duration("RedisTimeout has wrong format")}
