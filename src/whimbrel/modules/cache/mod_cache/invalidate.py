"""Mark entries as invalid after an unsafe request (cache_invalidate)."""

from __future__ import annotations

from whimbrel.engine.request import Request
from whimbrel.http.syntax.target import split_url
from whimbrel.modules.cache.mod_cache.key import cache_key, parsed_target
from whimbrel.modules.cache.mod_cache.request import CacheRequest, log
from whimbrel.modules.cache.store import StoreError


async def invalidate(r: Request, cache: CacheRequest) -> None:
    """Mark the entries of the request's URL, of Location and of Content-Location in all stores."""
    keys = [("AH02468", cache.key)]
    host = parsed_target(r).hostname
    for code, name in (("AH02469", "Location"), ("AH02470", "Content-Location")):
        url = split_url(r.headers_out.get(name) or "")
        if url is not None and host and url.hostname == host:
            keys.append((code, cache_key(r, cache.conf, url.path or "", url.query, url)))
    for store in cache.stores:
        for code, key in keys:
            entry = await store.open_entry(r, key)
            if entry is not None:
                try:
                    await entry.invalidate(r)
                except StoreError:
                    pass
                entry.close()
            log(r, code, f"cache: Attempted to invalidate cached entity with key: {key}")
