"""May a response be stored (RFC 9111, 3), and how long is it fresh?"""

from __future__ import annotations

from collections.abc import Iterator

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import Final
from whimbrel.engine.output.media_type import content_type
from whimbrel.engine.request import Request
from whimbrel.http.semantics.dates import parse_http
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.cache.cache_control import CacheControl, parse, remove_named_fields, vary_names
from whimbrel.modules.cache.mod_cache.request import CacheRequest, log
from whimbrel.modules.cache.mod_cache.settings import CacheDirConfig, CacheServerConfig
from whimbrel.modules.cache.store import DATE_BAD, MICROSECONDS, CacheInfo

NOT_MODIFIED: Final = 304
HOP_BY_HOP: Final = (
    "Connection",
    "Keep-Alive",
    "Proxy-Authenticate",
    "Proxy-Authorization",
    "TE",
    "Trailers",
    "Transfer-Encoding",
    "Upgrade",
)
ENTITY_FIELDS: Final = (
    "Allow",
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-Location",
    "Content-MD5",
    "Content-Range",
    "Content-Type",
    "Last-Modified",
)
_STATUSES: Final = frozenset((200, 203, 206, 300, 301, NOT_MODIFIED))
_STATUSES_22: Final = _STATUSES - {206}


@dataclass(slots=True)
class Validators:
    """The fields that decide about storing; times in microseconds, `DATE_BAD` for none or an invalid one."""

    expires: str | None
    expiry: int
    last_modified: int
    has_last_modified: bool
    etag: str | None
    control: CacheControl


def _either(r: Request, name: str) -> str | None:
    value = r.err_headers_out.get(name)
    return r.headers_out.get(name) if value is None else value


def vary_of(r: Request) -> str | None:
    """Return the Vary fields of the response; 2.2 overlooks those of a script."""
    vary = r.headers_out.get_list("Vary")
    always = None if r.plan.dialect.cache_22 else r.err_headers_out.get_list("Vary")
    if vary is None:
        return always
    if always is None:
        return vary
    return f"{always}, {vary}"


def _time(text: str | None) -> int:
    seconds = None if text is None else parse_http(text)
    return DATE_BAD if seconds is None else seconds * MICROSECONDS


def read_validators(r: Request, cache: CacheRequest) -> Validators:
    """Return the validators of the response; a 304 without Cache-Control has that of the stored one."""
    control = r.err_headers_out.get_list("Cache-Control")
    pragma = r.err_headers_out.get_list("Pragma")
    if control is None and pragma is None:
        control = r.headers_out.get_list("Cache-Control")
        pragma = r.headers_out.get_list("Pragma")
    entry = cache.stale_entry
    if r.status == NOT_MODIFIED and entry is not None and control is None and pragma is None:
        control = entry.fields.get_list("Cache-Control")
        pragma = entry.fields.get_list("Pragma")
    found = parse(control, pragma)
    if r.err_headers_out.entries():
        found.forbid(parse(*[r.headers_out.get_list(name) for name in ("Cache-Control", "Pragma")]))
    expires = _either(r, "Expires")
    modified = _time(_either(r, "Last-Modified"))
    if r.plan.dialect.cache_22:
        return _validators_22(r, expires, modified)
    return Validators(
        expires,
        _time(expires),
        modified,
        modified != DATE_BAD,
        _either(r, "ETag"),
        found,
    )


def _validators_22(r: Request, expires: str | None, modified: int) -> Validators:
    """2.2: an invalid Expires is none, only the first Cache-Control counts, field names mean nothing."""
    control = parse(_either(r, "Cache-Control"), None)
    control.no_cache = control.no_cache or control.no_cache_header
    control.private = control.private or control.private_header
    expiry = _time(expires)
    return Validators(
        None if expiry == DATE_BAD else expires,
        expiry,
        modified,
        modified != DATE_BAD,
        _either(r, "ETag"),
        control,
    )


def why_not(r: Request, cache: CacheRequest, found: Validators) -> str:
    """Return httpd's reason why the response is not stored; "" if it may be."""
    if r.plan.dialect.cache_22:
        return next(_reasons_22(r, cache, found), "")
    return next(_reasons(r, cache, found), "")


def _reasons(r: Request, cache: CacheRequest, found: Validators) -> Iterator[str]:
    conf = r.dir_config(CacheDirConfig)
    control = found.control
    has_age = control.max_age or control.s_maxage
    if r.status not in _STATUSES and found.expires is None and not control.cache_control:
        yield f"Response status {r.status}"
    may_be_past = has_age or conf.stores_expired
    if found.expires is not None and found.expiry == DATE_BAD and not may_be_past:
        yield f"Broken expires header: {found.expires}"
    is_past = found.expiry != DATE_BAD and found.expiry < int(r.time * MICROSECONDS)
    if is_past and not may_be_past:
        yield "Expires header already expired; not cacheable"
    is_stale = not control.s_maxage_value or (not control.s_maxage and not control.max_age_value)
    must = control.must_revalidate or control.proxy_revalidate
    has_validator = found.has_last_modified or found.etag is not None
    if must and is_stale and not has_validator and not conf.stores_expired:
        yield "s-maxage or max-age zero and no Last-Modified or Etag; not cacheable"
    if not cache.conf.ignores_query and cache.query is not None and found.expires is None and not has_age:
        yield "Query string present but no explicit expiration time"
    if r.status == NOT_MODIFIED and cache.entry is None and cache.stale_entry is None:
        yield "HTTP Status 304 Not Modified"
    if (
        r.status == 200
        and not has_validator
        and found.expires is None
        and not has_age
        and not conf.ignores_no_last_modified
    ):
        yield "No Last-Modified; Etag; Expires; Cache-Control:max-age or Cache-Control:s-maxage headers"
    yield from _refusals(r, cache, found)


def _refusals(r: Request, cache: CacheRequest, found: Validators) -> Iterator[str]:
    """Yield the reasons of fields and of the request."""
    conf = r.dir_config(CacheDirConfig)
    control = found.control
    if control.no_store and not conf.stores_no_store:
        yield "Cache-Control: no-store present"
    if control.private and not conf.stores_private:
        yield "Cache-Control: private present"
    permits = control.s_maxage or control.must_revalidate or control.public
    if r.headers_in.get("Authorization") is not None and not (
        permits or (control.proxy_revalidate and not r.plan.dialect.cache_22)
    ):
        yield "Authorization required"
    if vary_names(vary_of(r)) is None:
        yield "Vary header contains '*'"
    if "no-cache" in r.env:
        yield "environment variable 'no-cache' is set"
    if r.no_cache:
        yield "r->no_cache present"
    if not r.plan.dialect.cache_22:
        yield from _contradictions(r, cache)


def _contradictions(r: Request, cache: CacheRequest) -> Iterator[str]:
    """Yield the reasons why a new response does not update or replace the stale entry."""
    entry = cache.stale_entry
    if entry is None:
        return
    date = _time(r.headers_out.get("Date"))
    if date != DATE_BAD and date < entry.info.date:
        yield OLDER
    if r.status == NOT_MODIFIED:
        changed = [
            name
            for name in ("ETag", *ENTITY_FIELDS)
            if (old := entry.fields.get_list(name)) is not None
            and (new := r.headers_out.get_list(name)) is not None
            and old != new
        ]
        if changed:
            yield f"contradiction: 304 Not Modified; but {', '.join(changed)} modified"


OLDER: Final = "updated entity is older than cached entity"


def _reasons_22(r: Request, cache: CacheRequest, found: Validators) -> Iterator[str]:
    conf = r.dir_config(CacheDirConfig)
    control = found.control
    has_age = control.max_age or control.s_maxage
    if r.status not in _STATUSES_22 and found.expires is None and not control.cache_control:
        yield f"Response status {r.status}"
    if r.status == 206:
        yield "Response status 206"
    if found.expiry != DATE_BAD and found.expiry < int(r.time * MICROSECONDS):
        yield "Expires header already expired, not cacheable"
    if not cache.conf.ignores_query and cache.query is not None and found.expires is None and not has_age:
        yield "Query string present but no explicit expiration time"
    if r.status == NOT_MODIFIED and cache.entry is None and cache.stale_entry is None:
        yield "HTTP Status 304 Not Modified"
    if (
        r.status == 200
        and not (found.has_last_modified or found.etag is not None or has_age)
        and found.expires is None
        and not conf.ignores_no_last_modified
    ):
        yield "No Last-Modified, Etag, Expires, Cache-Control:max-age or Cache-Control:s-maxage headers"
    if r.header_only:
        yield "HTTP HEAD request"
    yield from _refusals(r, cache, found)


def fill_info(r: Request, info: CacheInfo, found: Validators, now: int) -> None:
    """Set times and expiry of a response that arrived at *now*, in microseconds."""
    conf = r.dir_config(CacheDirConfig)
    control = found.control
    info.control = control
    info.response_time = now
    info.request_time = int(r.time * MICROSECONDS)
    info.date = _time(_either(r, "Date")) or now
    modified = found.last_modified
    if modified > info.date:
        modified = info.date
        log(r, "AH00771", "cache: Last modified is in the future, replacing with now")
    expiry = found.expiry
    old = r.plan.dialect.cache_22
    if old:
        has_age = control.max_age and expiry == DATE_BAD
        seconds = control.max_age_value
    else:
        has_age = control.s_maxage or control.max_age
        seconds = control.s_maxage_value if control.s_maxage else control.max_age_value
    if has_age:
        expiry = info.date + _bounded(conf, seconds * MICROSECONDS)
    elif expiry == DATE_BAD:
        if DATE_BAD != modified < info.date:
            expiry = info.date + _bounded(conf, round((info.date - modified) * conf.factor))
        else:
            expiry = info.date + conf.default_expire * MICROSECONDS
    info.expire = expiry


def _bounded(conf: CacheDirConfig, lifetime: int) -> int:
    """Return a lifetime in microseconds within CacheMinExpire and CacheMaxExpire."""
    return min(max(lifetime, conf.min_expire * MICROSECONDS), conf.max_expire * MICROSECONDS)


def cacheable(fields: Headers, conf: CacheServerConfig) -> Headers:
    """Return a copy without the fields of the connection and those of CacheIgnoreHeaders."""
    stored = fields.copy()
    for name in (*HOP_BY_HOP, *conf.ignored_fields):
        stored.unset(name)
    return stored


def merged_fields(r: Request) -> Headers:
    """Return all fields of the response (cache_merge_headers_out)."""
    fields = r.err_headers_out.overlay(r.headers_out)
    if "Content-Type" not in fields and (r.content_type or r.plan.dialect.cache_22):
        kind = content_type(r)
        if kind:
            fields.set("Content-Type", kind)
    if r.content_encodings and "Content-Encoding" not in fields:
        fields.set("Content-Encoding", ", ".join(r.content_encodings))
    return fields


def cacheable_out(r: Request, conf: CacheServerConfig) -> Headers:
    """Return the fields of the response that are stored."""
    fields = cacheable(merged_fields(r), conf)
    if not r.plan.dialect.cache_22:
        remove_named_fields(fields)
    return fields
