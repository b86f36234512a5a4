"""Output filters of mod_cache: CACHE_SAVE, CACHE_OUT, CACHE_REMOVE_URL and CACHE_INVALIDATE."""

from __future__ import annotations

from whimbrel.base.numbers import strtol
from whimbrel.base.static_typing import Final
from whimbrel.engine.body import Part, Source, is_complete, size_of
from whimbrel.engine.output.filter import Begun, FilterType, OutputFilter
from whimbrel.engine.request import Request
from whimbrel.http.semantics.conditional import PreconditionResult, meets_conditions
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.cache.mod_cache import storing
from whimbrel.modules.cache.mod_cache.invalidate import invalidate
from whimbrel.modules.cache.mod_cache.request import (
    HIT,
    INVALIDATE,
    MISS,
    REVALIDATE,
    CacheRequest,
    log,
    show_status,
)
from whimbrel.modules.cache.mod_cache.save import SavingSource, store_complete
from whimbrel.modules.cache.mod_cache.select import CONDITIONAL, accept_fields
from whimbrel.modules.cache.mod_cache.settings import CacheDirConfig
from whimbrel.modules.cache.mod_cache.storing import ENTITY_FIELDS, NOT_MODIFIED, OLDER, Validators
from whimbrel.modules.cache.store import MICROSECONDS, CacheEntry, CacheInfo, StoreError
from whimbrel.registry.module import Reads

SAVE_TYPE: Final = FilterType.CONTENT_SET + 1  # behind compression, so that coded content is stored
MUST: Final = ("must_revalidate", "proxy_revalidate")


def remove_filter(r: Request, kind: type[OutputFilter]) -> None:
    """Remove the filters of *kind* from the chain."""
    r.output_filters[:] = [each for each in r.output_filters if not isinstance(each, kind)]


def _not_cached(r: Request, key: str, reason: str) -> str:
    """Return the line about a response that is not stored."""
    url = r.untracked_target
    if r.plan.dialect.messages_24:
        return f"cache: {key} not cached for request {url}. Reason: {reason}"
    return f"cache: {url} not cached. Reason: {reason}"


def condition_status(r: Request) -> int:
    """Return 200, or the status after the request's conditions: 304 or 412 (ap_meets_conditions)."""
    if r.no_local_copy:
        return 200
    met = meets_conditions(
        r.method,
        r.headers_in,
        r.headers_out.get("ETag"),
        None if r.mtime is None else r.mtime // MICROSECONDS,
        int(r.time),
        r.status,
        version22=r.plan.dialect.cache_22,
    )
    if met is PreconditionResult.OK:
        return 200
    if met is PreconditionResult.NOT_MODIFIED:
        return 304
    return 412


class CacheFilter(OutputFilter):
    """Filter of one request; *cache* is its state."""

    __slots__ = ("cache",)
    reads = Reads.UNCACHEABLE

    def __init__(self, cache: CacheRequest) -> None:
        self.cache = cache


class CacheOut(CacheFilter):
    """Output filter CACHE_OUT: the stored response in place of what the filters before it left."""

    __slots__ = ()
    name = "CACHE_OUT"
    type = SAVE_TYPE

    def begin(self, r: Request) -> None:
        """Set status, type and body."""
        assert self.cache.entry is not None
        serve(r, self.cache.entry)
        r.chunked = False


def serve(r: Request, entry: CacheEntry) -> None:
    """Set status, type and body of a stored response."""
    log(r, "AH00763", "cache: running CACHE_OUT filter")
    kind = entry.fields.get("Content-Type")
    if kind is not None:
        r.content_type = kind
    r.status = entry.info.status
    r.drop_body()
    r.body = entry.body()
    log(r, "AH00764", f"cache: serving {r.uri}")


def may_serve_stale(entry: CacheEntry | None, *flags: str) -> bool:
    """Return True if a stale *entry* may answer for a back end that fails (RFC 9111, 4.2.4)."""
    if entry is None or entry.info.control.invalidated:
        return False
    return not any(getattr(entry.info.control, flag) for flag in (*MUST, *flags))


class CacheSave(CacheFilter):
    """Output filter CACHE_SAVE: stores the response, or updates the stale entry with a 304."""

    __slots__ = ()
    name = "CACHE_SAVE"
    type = SAVE_TYPE

    async def begin(self, r: Request) -> Begun:
        """Decide, and return the source that stores the body as it is sent; None if it is stored."""
        cache = self.cache
        if r.status >= 500 and not r.plan.dialect.cache_22 and r.dir_config(CacheDirConfig).stale_on_error:
            remove_filter(r, CacheRemoveUrl)
            if cache.stale_entry is not None and may_serve_stale(cache.stale_entry):
                self._serve_stale(r, cache.stale_entry)
                return None
        found = storing.read_validators(r, cache)
        if r.status == NOT_MODIFIED and cache.stale_entry is not None:
            r.content_type = cache.stale_entry.fields.get("Content-Type")
        reason = storing.why_not(r, cache, found)
        if reason == OLDER:
            log(r, "AH02474", "cache: Removing CACHE_REMOVE_URL filter.")
            remove_filter(r, CacheRemoveUrl)
        if r.status == NOT_MODIFIED:
            for name in ENTITY_FIELDS:
                r.headers_out.unset(name)
            if reason and cache.stale_entry is not None and not r.plan.dialect.cache_22:
                await self._retry(r, reason)
                return None
        if reason:
            log(r, "AH00768", _not_cached(r, cache.key, reason))
            self._declined(r, reason)
            return None
        if cache.stale_entry is not None and r.status == NOT_MODIFIED:
            await self._refresh(r, cache.stale_entry, found)
            return None
        return await self._store(r, found)

    def _declined(self, r: Request, reason: str) -> None:
        show_status(r, self.cache, r.headers_out, MISS, reason)
        self.cache.unlock()

    def _serve_stale(self, r: Request, entry: CacheEntry) -> None:
        cache = self.cache
        cache.entry = entry
        status = r.status
        r.headers_out = entry.fields.copy()
        r.content_type = r.headers_out.get("Content-Type")
        warn_failed(r)
        reason = f"cache hit: {status} status; stale content returned"
        show_status(r, cache, r.headers_out, HIT, reason)
        cache.unlock()
        serve(r, entry)
        r.chunked = False

    async def _retry(self, r: Request, reason: str) -> None:
        """Remove an entry that a 304 contradicts, and repeat the request without conditions."""
        cache = self.cache
        text = f"cache: {r.untracked_target} responded with an uncacheable 304, retrying the request. "
        log(r, "AH02473", f"{text}Reason: {reason}", "info")
        what = f"conditional cache miss: 304 was uncacheable, entity removed: {reason}"
        show_status(r, cache, r.headers_out, MISS, what)
        await remove_url(r, cache)
        cache.close()
        r.output_filters[:] = []
        fields = r.headers_in.copy()
        r.headers_in = fields
        for name in CONDITIONAL:
            fields.unset(name)
        r.status = 200
        r.drop_body()
        await r.engine.internal_redirect(r.untracked_target, r)

    async def _refresh(self, r: Request, entry: CacheEntry, found: Validators) -> None:
        """Update the entry's fields and serve it (RFC 9111, 4.3.4)."""
        cache = self.cache
        cache.entry = entry
        self._caching(r)
        storing.fill_info(r, entry.info, found, int(r.engine.runtime.now() * MICROSECONDS))
        merged = storing.merged_fields(r)
        is_22 = r.plan.dialect.cache_22
        r.headers_out = storing.cacheable(merged, cache.conf) if is_22 else merged
        r.err_headers_out.clear()
        accept_fields(r, entry, is_revalidated=True)
        reason = "conditional cache hit: entity refreshed"
        try:
            fields = storing.cacheable_out(r, cache.conf)
            await entry.update(r, fields, storing.cacheable(r.headers_in, cache.conf))
        except StoreError:
            reason = "conditional cache hit: entity refresh failed"
            text = "cache: updating headers with store_headers failed. Removing cached url."
            log(r, "AH00772", text)
            try:
                await entry.remove(r)
            except StoreError:
                log(r, "AH00773", "cache: attempt to remove url from cache unsuccessful.")
        r.status = entry.info.status
        r.status_line = None
        if cache.stale_fields is not None:
            r.headers_in = cache.stale_fields
        status = condition_status(r)
        r.drop_body()
        if status != 200:
            r.status = status
            for name in ENTITY_FIELDS:
                r.headers_out.unset(name)
        else:
            r.body = entry.body()
            r.chunked = False
        show_status(r, cache, r.headers_out, REVALIDATE, reason)
        cache.unlock()
        log(r, "AH02971", f"cache: serving {r.uri} (revalidated)")

    def _caching(self, r: Request) -> None:
        url = r.untracked_target
        text = f"cache: Caching url {self.cache.key} for request {url}"
        log(r, "AH00769", text if r.plan.dialect.messages_24 else f"cache: Caching url: {url}")
        log(r, "AH00770", "cache: Removing CACHE_REMOVE_URL filter.")
        remove_filter(r, CacheRemoveUrl)

    async def _store(self, r: Request, found: Validators) -> Source | None:
        """Store a new response."""
        cache = self.cache
        if cache.stale_entry is not None:
            cache.stale_entry.close()
            cache.stale_entry = None
            if cache.stale_fields is not None:
                r.headers_in = cache.stale_fields
        size = _size(r)
        store = next((each for each in cache.stores if not each.declines(r, cache.key, size)), None)
        if store is None:
            self._declined(r, "cache miss: cache unwilling to store response")
            return None
        self._caching(r)
        info = CacheInfo(r.status)
        storing.fill_info(r, info, found, int(r.engine.runtime.now() * MICROSECONDS))
        fields = storing.cacheable_out(r, cache.conf)
        request_fields = storing.cacheable(r.headers_in, cache.conf)
        writer = store.create_entry(r, cache.key, info, fields, request_fields)
        cache.is_saved = True
        if size and not r.plan.dialect.cache_22 and not 0 < size <= store.read_size(r):
            r.chunked = True  # httpd passes the body on before its end, so that no ranges are cut
        show_status(r, cache, r.headers_out, MISS, "cache miss: attempting entity save")
        if is_complete(r.body):
            await store_complete(r, cache, writer)
            return None
        return SavingSource(r, cache, writer)


def _size(r: Request) -> int:
    """Return the size of the body; -1 if it is unknown."""
    text = r.err_headers_out.get("Content-Length") or r.headers_out.get("Content-Length")
    if text is not None:
        value, rest = strtol(text)
        if text and not rest and value >= 0:
            return value
    body: list[Part] = r.body
    return sum(map(size_of, body)) if is_complete(body) else -1


def warn_failed(r: Request) -> None:
    """Add the warning of a stale response for a back end that fails."""
    if "111" not in (r.err_headers_out.get_list("Warning") or ""):
        r.err_headers_out.merge("Warning", "111 Revalidation failed")


async def remove_url(r: Request, cache: CacheRequest) -> None:
    """Remove the stale entry from the stores."""
    entry = cache.stale_entry or cache.entry
    if entry is None:
        return
    log(r, "AH00691", f"cache: Removing url {entry.key} from the cache")
    try:
        await entry.remove(r)
    except StoreError:
        pass


class CacheRemoveUrl(CacheFilter):
    """Output filter CACHE_REMOVE_URL: removes a stale entry that nothing has replaced; it sees errors too."""

    __slots__ = ()
    name = "CACHE_REMOVE_URL"
    type = FilterType.PROTOCOL

    async def begin(self, r: Request) -> None:
        """Remove the entry."""
        await remove_url(r, self.cache)
        self.cache.unlock()


class CacheInvalidate(CacheFilter):
    """Output filter CACHE_INVALIDATE: an unsafe request that succeeds removes entries (RFC 9111, 4.4)."""

    __slots__ = ()
    name = "CACHE_INVALIDATE"
    type = FilterType.PROTOCOL

    async def begin(self, r: Request) -> None:
        """Remove the entries of the URL, Location and Content-Location."""
        cache = self.cache
        if r.status > 299:
            text = (
                f"cache: response status to '{r.method}' method is {r.status} (>=HTTP_MULTIPLE_CHOICES), "
                f"not invalidating cached entity: {r.uri}"
            )
            log(r, "AH02466", text)
            return
        text = f"cache: Invalidating all cached entities in response to '{r.method}' request for {r.uri}"
        log(r, "AH02467", text)
        await invalidate(r, cache)
        # httpd's filter runs behind the one that sends the head: only variables show it
        show_status(r, cache, Headers(), INVALIDATE, f"cache invalidated by {r.method}")
