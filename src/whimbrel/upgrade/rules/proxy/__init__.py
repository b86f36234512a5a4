"""Upgrade rules about proxies and caches: balancers, SCGI, mod_cache and mod_mem_cache.

Public: the `RULE` of each file; upgrade.rules.rules_of("proxy") finds them.
The rules share the edits of upgrade.edits and the queries of upgrade.source.queries.
Must not import: check, apply, cli; other areas of rules.
"""
