"""Find the entry for a request, or prepare its revalidation (cache_select)."""

from __future__ import annotations

from whimbrel.base.numbers import lower
from whimbrel.base.static_typing import Final
from whimbrel.engine.request import Request
from whimbrel.http.semantics.conditional import CONDITIONS, find_etag_strong, find_etag_weak
from whimbrel.http.semantics.dates import format_http, parse_http
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.cache.cache_control import vary_members, vary_names
from whimbrel.modules.cache.mod_cache.freshness import is_fresh
from whimbrel.modules.cache.mod_cache.request import CacheRequest, log
from whimbrel.modules.cache.store import MICROSECONDS, CacheEntry
from whimbrel.registry.phases import DECLINED, OK, HookStatus

CONDITIONAL: Final = ("If-Match", "If-Modified-Since", "If-None-Match", "If-Range", "If-Unmodified-Since")
_WARNING: Final = "warning"
_SETTLED: Final = 60  # seconds after which a time is a strong validator


def allows_stored(r: Request, cache: CacheRequest) -> bool:
    """Return False if the request forbids a stored response (no-cache, no-store in 2.2)."""
    old = r.plan.dialect.cache_22
    if not cache.control.no_cache and not (old and cache.control.no_store):
        return True
    if not cache.conf.ignores_cache_control:
        return False
    if not old:
        text = (
            f"Incoming request is asking for an uncached version of {r.untracked_target}, but we have been "
            "configured to ignore it and serve cached content anyway"
        )
        log(r, "AH02657", text, "info")
    return True


async def select(r: Request, cache: CacheRequest) -> HookStatus:
    """Return OK with `cache.entry` and its fields on *r*; DECLINED if the request goes on, with conditions of
    `cache.stale_entry` where it is stale; or 504 for only-if-cached.
    """
    if not allows_stored(r, cache):
        return DECLINED
    for store in cache.stores:
        entry = await store.open_entry(r, cache.key)
        if entry is None:
            continue
        if not _is_variant(r, entry):
            entry.close()
            continue
        cache.store = store
        mismatch = not r.plan.dialect.cache_22 and _conflicts(r, entry.fields)
        if mismatch or not is_fresh(r, cache, entry):
            if cache.control.only_if_cached and not r.plan.dialect.cache_22:
                entry.close()
                continue
            cache.stale_fields = r.headers_in.copy()
            cache.stale_entry = entry
            if not mismatch:
                _revalidate(r, entry)
            return DECLINED
        accept_fields(r, entry)
        cache.entry = entry
        return OK
    if cache.control.only_if_cached and not r.plan.dialect.cache_22:
        text = "cache: 'only-if-cached' requested and no cached entity, returning 504 Gateway Timeout for: "
        log(r, "AH00696", text + r.uri)
        return 504
    return DECLINED


def _is_variant(r: Request, entry: CacheEntry) -> bool:
    """Return True if the fields that Vary names are those of the stored request (RFC 9111, 4.1)."""
    vary = entry.fields.get_list("Vary")
    names = vary_members(vary) if r.plan.dialect.cache_22 else vary_names(vary)  # 2.2 takes * for a name
    if names is None or any(r.headers_in.get_list(n) != entry.request_fields.get_list(n) for n in names):
        log(r, "AH00694", "cache_select(): Vary header mismatch.")
        return False
    return True


def _revalidate(r: Request, entry: CacheEntry) -> None:
    """Replace the conditions of the request by those of the entry (RFC 9111, 4.3.1)."""
    text = f"Cached response for {r.uri} isn't fresh. Adding conditional request headers."
    log(r, "AH00695", text)
    fields = r.headers_in.copy()
    r.headers_in = fields
    for name in CONDITIONAL:
        fields.unset(name)
    etag = entry.fields.get("ETag")
    modified = entry.fields.get("Last-Modified")
    if etag is not None:
        fields.set("If-None-Match", etag)
    if modified is not None:
        fields.set("If-Modified-Since", modified)
    if etag is not None or modified is not None:
        fields.unset("Range")


def _conflicts(r: Request, fields: Headers) -> bool:
    """Return True if a condition of the request does not select the stored response with *fields*.

    httpd takes a failed precondition for a selection, and a precondition that holds for a conflict.
    """
    fields_in = r.headers_in
    if fields_in.has_none(CONDITIONS):
        return False
    etag = fields.get("ETag")
    ranged = "Range" in fields_in
    match = fields_in.get_list("If-Match")
    none_match = fields_in.get_list("If-None-Match")
    if match is not None and match[:1] != "*" and not (etag is not None and find_etag_strong(match, etag)):
        return True
    if none_match is not None and none_match[:1] != "*":
        find = find_etag_strong if ranged else find_etag_weak
        if etag is None or not find(none_match, etag):
            return True
    if not _dates_select(fields_in, *_times(r, fields), ranged=ranged):
        return True
    return (
        ranged and "If-Range" in fields_in and not _range_selects(fields_in.get("If-Range") or "", r, fields)
    )


def _times(r: Request, fields: Headers) -> tuple[int, int]:
    """Return the time of modification and of the response in seconds."""
    modified = parse_http(fields.get("Last-Modified") or "")
    date = parse_http(fields.get("Date") or "")
    return int(r.time) if not modified else modified, date or int(r.time)


def _dates_select(fields_in: Headers, modified: int, date: int, *, ranged: bool) -> bool:
    """Return True if the dates of the request, where it has some, select the response."""
    is_weak = ranged and date < modified + _SETTLED
    unmodified = fields_in.get("If-Unmodified-Since")
    since = fields_in.get("If-Modified-Since")
    if unmodified is not None:
        time = parse_http(unmodified)
        if time is None or modified <= time or is_weak:
            return False
    if since is not None:
        time = parse_http(since)
        return time is not None and modified <= time <= date and not is_weak
    return True


def _range_selects(value: str, r: Request, fields: Headers) -> bool:
    if value[:1] == '"':
        return fields.get("ETag") == value
    modified, date = _times(r, fields)
    return (parse_http(value) or 0) == modified and date >= modified + _SETTLED


def accept_fields(r: Request, entry: CacheEntry, *, is_revalidated: bool = False) -> None:
    """Set the stored fields on the response (cache_accept_headers); *is_revalidated*: those of the new
    response replace stored ones.
    """
    if r.plan.dialect.cache_22:
        _accept_fields_22(r, entry, is_revalidated=is_revalidated)
        return
    if is_revalidated:
        stored = (pair for pair in entry.fields if not _is_dropped_warning(*pair))
        fields = Headers(stored)
        over = r.headers_out
    else:
        fields = r.headers_out.copy()
        over = entry.fields
    for name, _ in over:
        if lower(name) != _WARNING:
            fields.unset(name)
    fields.extend(over)
    r.headers_out = fields
    _set_type(r, fields.get("Content-Type"), fields, r.err_headers_out)
    _set_modified(r, fields.get("Last-Modified"), fields)


def _is_dropped_warning(name: str, value: str) -> bool:
    """Return True for a warning that does not outlive a revalidation (RFC 7234, 5.5)."""
    return lower(name) == _WARNING and value[:1] == "1"


def _set_type(r: Request, value: str | None, *places: Headers) -> None:
    if value is not None:
        r.content_type = value
        for fields in places:
            fields.unset("Content-Type")


def _set_modified(r: Request, value: str | None, fields: Headers) -> None:
    if value is not None:
        r.mtime = max(r.mtime or 0, (parse_http(value) or 0) * MICROSECONDS)
        fields.set("Last-Modified", format_http(min(r.mtime // MICROSECONDS, int(r.time))))


def _accept_fields_22(r: Request, entry: CacheEntry, *, is_revalidated: bool) -> None:
    stored = entry.fields.copy()
    out = r.headers_out
    _set_type(r, stored.get("Content-Type"), stored, out, r.err_headers_out)
    fields = Headers() if is_revalidated else out
    _set_modified(r, stored.get("Last-Modified"), fields)
    stored.unset("Last-Modified")
    for value in stored.get_all("Set-Cookie"):
        r.err_headers_out.add("Set-Cookie", value)
    stored.unset("Set-Cookie")
    for name, value in stored:
        fields.set(name, value)
    if is_revalidated:
        for name, value in out:
            fields.set(name, value)
        r.headers_out = fields
