"""mod_socache_memcache's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, short_time

CHECKS: dict[str, Rule] = {"memcacheconnttl": short_time("MemcacheConnTTL")}
