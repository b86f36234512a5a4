"""httpd's modules/cache: mod_cache, its stores, and the shared object caches.

Public: one file or package for each module; `store.py` is the interface between mod_cache and its stores.
RFC 9111 as directives configure it; the response cache of the engine (engine/cache) is another thing.
Must not import: server, upgrade, access, cli.
"""
