"""Origin response cache: key, entry, validity, eviction.  It is internal; RFC 9111 is mod_cache.

Public: index.{ResponseCache, CacheIndex}, entry.CachedResponse, raw_head.RawHead, fd_cache.FdCache.
A cached response is used only for a complete head for which the general path gives the same bytes.
Must not import: server, pipeline.
"""
