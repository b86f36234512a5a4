"""Handlers of mod_cache: the quick handler before all phases, or the normal one after the access checks."""

from __future__ import annotations

from whimbrel.base.static_typing import Final
from whimbrel.engine.output.filter import OutputFilter, add_output_filter
from whimbrel.engine.request import Request
from whimbrel.modules.cache.cache_control import parse
from whimbrel.modules.cache.mod_cache.filters import (
    SAVE_TYPE,
    CacheFilter,
    CacheInvalidate,
    CacheOut,
    CacheRemoveUrl,
    CacheSave,
    condition_status,
    may_serve_stale,
    serve,
    warn_failed,
)
from whimbrel.modules.cache.mod_cache.key import cache_key, early_path, matches, parsed_target
from whimbrel.modules.cache.mod_cache.lock import try_lock
from whimbrel.modules.cache.mod_cache.markers import CacheMarker
from whimbrel.modules.cache.mod_cache.request import HIT, CacheRequest, Stores, log, show_status
from whimbrel.modules.cache.mod_cache.select import select
from whimbrel.modules.cache.mod_cache.settings import CacheDirConfig, CachedUrl, CacheServerConfig
from whimbrel.modules.cache.store import GROUP, CacheStore
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, FORWARD_PROXY, OK, HookStatus

_UNSAFE: Final = frozenset(("PUT", "POST", "DELETE"))


class Chooser:
    """The stores for a URL under one configuration (cache_get_providers)."""

    __slots__ = ("_by_url", "_disabled", "_is_22", "_of_section", "conf", "has_any")

    def __init__(self, scope: Scope) -> None:
        self.conf = scope.server_config(CacheServerConfig)
        section = scope.dir_config(CacheDirConfig)
        known: dict[str, CacheStore] = {}

        def store(kind: str) -> CacheStore | None:
            make = scope.provider(GROUP, kind)
            if make is not None and kind not in known:
                known[kind] = make()
            return known.get(kind)

        self._is_22 = scope.dialect.cache_22
        self._disabled = self.conf.disabled
        self._of_section = [found for kind in section.enabled if (found := store(kind)) is not None]
        self._by_url: list[tuple[CachedUrl, CacheStore]] = [
            (rule, found) for rule in self.conf.enabled if (found := store(rule.kind)) is not None
        ]
        self.has_any = bool(self._of_section or self._by_url) and not section.is_disabled

    def stores(self, r: Request, path: str | None) -> Stores:
        """Return the stores for *path*, each once, in their order."""
        url = parsed_target(r)
        old = self._is_22
        if any(matches(rule.url, url, path, version22=old) for rule in self._disabled):
            return ()
        found = [
            *self._of_section,
            *[store for rule, store in self._by_url if matches(rule.url, url, path, version22=old)],
        ]
        return tuple(dict.fromkeys(found))


async def begin(r: Request, chooser: Chooser, *, is_quick: bool) -> CacheRequest | HookStatus:
    """Return the state of a request whose entry is to be served; else the status of the handler, with the
    filters that store the response.
    """
    early = is_quick or r.proxy == FORWARD_PROXY
    path = early_path(r) if early else r.uri
    stores = chooser.stores(r, path)
    old = r.plan.dialect.cache_22
    if not stores or (old and r.method_number != 0):
        return DECLINED
    control = parse(r.headers_in.get_list("Cache-Control"), r.headers_in.get_list("Pragma"))
    cache = CacheRequest(chooser.conf, stores, control)
    refused = control.no_store and not old
    if refused and chooser.conf.ignores_cache_control:
        text = (
            f"Incoming request is asking for a no-store version of {r.untracked_target}, but we have been "
            "configured to ignore it and serve cached content anyway"
        )
        log(r, "AH02658", text, "info")
        refused = False
    if refused or (is_quick and r.headers_in.get("Authorization") is not None):
        r.set_uncacheable()
        return DECLINED
    url = parsed_target(r)
    reads_query = not chooser.conf.ignores_query
    query = url.query
    if url.path is None:
        query = r.args if reads_query else r.untracked_args
    cache.query = query
    cache.key = cache_key(r, chooser.conf, path or "", cache.query, url)
    if r.method_number != 0:
        _unsafe(r, cache, is_quick=is_quick)
        return DECLINED
    status = await select(r, cache)
    if status == OK:
        return cache
    r.set_uncacheable()
    if status == DECLINED:
        _save(r, cache, is_quick=is_quick)
    return status


def _unsafe(r: Request, cache: CacheRequest, *, is_quick: bool) -> None:
    """Add the filter that invalidates entries after an unsafe request."""
    r.set_uncacheable()
    if r.method in _UNSAFE:
        code = "AH02461" if is_quick else "AH02463"
        log(r, code, f"PUT/POST/DELETE: Adding CACHE_INVALIDATE filter for {r.uri}")
        add_output_filter(r, CacheInvalidate(cache))
    else:
        code = "AH02462" if is_quick else "AH02464"
        log(r, code, f"cache: Method '{r.method}' not cacheable by mod_cache, ignoring: {r.uri}")


def _save(r: Request, cache: CacheRequest, *, is_quick: bool) -> None:
    """Add the filters that store the response, unless another request does."""
    try:
        if cache.conf.locks and cache.lock is None:
            cache.lock = try_lock(cache.conf, r, cache.key)
    except OSError:
        code = "AH00752" if is_quick else "AH00760"
        log(r, code, f"Cache locked for url, not caching response: {r.uri}")
        if is_quick and cache.stale_fields is not None:
            r.headers_in = cache.stale_fields
        cache.close()
        return
    log(r, "AH00750" if is_quick else "AH00757", f"Adding CACHE_SAVE filter for {r.uri}")
    at = _marker(r)
    if at is None or is_quick:
        add_output_filter(r, CacheSave(cache))
    else:
        r.output_filters[at] = CacheSave(cache)
        log(r, "AH00758", f"Replacing CACHE with CACHE_SAVE filter for {r.uri}")
    log(r, "AH00751" if is_quick else "AH00759", f"Adding CACHE_REMOVE_URL filter for {r.uri}")
    add_output_filter(r, CacheRemoveUrl(cache))


def _marker(r: Request) -> int | None:
    """Return the position of the last filter CACHE."""
    found = [at for at, each in enumerate(r.output_filters) if isinstance(each, CacheMarker)]
    return found[-1] if found else None


def deliver(r: Request, cache: CacheRequest, *, is_quick: bool) -> HookStatus:
    """Serve the entry, or return 304 or 412."""
    entry = cache.entry
    assert entry is not None
    show_status(r, cache, r.headers_out, HIT, "cache hit")
    if not entry.record(r):
        r.set_uncacheable()
    status = condition_status(r)
    if status != 200:
        entry.close()
        return status
    if is_quick:
        r.plan.insert_filter.run(r)
    at = None if is_quick else _marker(r)
    if at is not None:
        log(r, "AH00761", f"Replacing CACHE with CACHE_OUT filter for {r.uri}")
        r.output_filters[:] = r.output_filters[at + 1 :]
    else:
        r.output_filters[:] = [each for each in r.output_filters if each.type > SAVE_TYPE]
    if is_quick:
        for each in r.output_filters:
            each.insert(r)
    serve(r, entry)
    entry.close()
    return OK


def _make(scope: Scope, is_quick: bool) -> CompiledHook | None:
    chooser = Chooser(scope)
    if chooser.conf.is_quick is not is_quick or not chooser.has_any:
        return None

    async def handle(r: Request) -> HookStatus:
        found = await begin(r, chooser, is_quick=is_quick)
        return deliver(r, found, is_quick=is_quick) if isinstance(found, CacheRequest) else found

    return CompiledHook(handle, Reads.HEAD, is_async=True)


def make_quick_handler(scope: Scope) -> CompiledHook | None:
    """Make the hook that runs before all other phases."""
    return _make(scope, True)


def make_handler(scope: Scope) -> CompiledHook | None:
    """Make the handler of CacheQuickHandler Off."""
    return _make(scope, False)


def _state(r: Request) -> CacheRequest | None:
    """Return the state of a request whose response is to be stored."""
    filters: list[OutputFilter] = r.output_filters
    return next((each.cache for each in filters if isinstance(each, CacheRemoveUrl)), None)


def make_error_filter(scope: Scope) -> CompiledHook | None:
    """Make the hook that serves a stale entry in place of an error page (CacheStaleOnError)."""
    conf = scope.server_config(CacheServerConfig)
    section = scope.dir_config(CacheDirConfig)
    if scope.dialect.cache_22 or not section.stale_on_error or not (conf.enabled or section.enabled):
        return None

    def insert(r: Request) -> HookStatus:
        cache = _state(r) if r.status >= 500 else None
        if cache is None:
            return OK
        r.output_filters[:] = [each for each in r.output_filters if not isinstance(each, CacheRemoveUrl)]
        entry = cache.stale_entry
        if entry is None or not may_serve_stale(entry, "s_maxage"):
            cache.unlock()
            return OK
        cache.entry = entry
        r.err_headers_out = entry.fields.copy()
        warn_failed(r)
        reason = f"cache hit: {r.status} status; stale content returned"
        show_status(r, cache, r.err_headers_out, HIT, reason)
        cache.unlock()
        add_output_filter(r, CacheOut(cache))
        return OK

    return CompiledHook(insert, Reads.HEAD)


def make_log(scope: Scope) -> CompiledHook | None:
    """Make the hook that releases locks and files of requests that ended before their response."""
    conf = scope.server_config(CacheServerConfig)
    if not (conf.enabled or scope.dir_config(CacheDirConfig).enabled):
        return None

    def release(r: Request) -> HookStatus:
        request: Request | None = r
        while request is not None:
            for each in request.output_filters:
                if isinstance(each, CacheFilter):
                    each.cache.close()
            request = request.next
        return OK

    return CompiledHook(release, Reads.NOTHING)
