"""mod_socache_memcache's argument rules."""

from __future__ import annotations

from whimbrel.catalogue.checks.rules import Rule, duration

CHECKS: dict[str, Rule] = {"memcacheconnttl": duration("MemcacheConnTTL has wrong format")}
