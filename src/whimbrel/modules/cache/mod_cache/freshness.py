"""Is a stored response fresh (RFC 9111, 4.2), and until when?"""

from __future__ import annotations

from whimbrel.base.numbers import strtol
from whimbrel.base.static_typing import Final
from whimbrel.engine.output.field_slots import ClockValue
from whimbrel.engine.request import Request
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.cache.mod_cache.lock import try_lock
from whimbrel.modules.cache.mod_cache.request import CacheRequest, log
from whimbrel.modules.cache.store import DATE_BAD, MICROSECONDS, CacheEntry, CacheInfo

YEAR: Final = 86400 * 365
DAY: Final = 86400


def initial_age(info: CacheInfo, age_value: int) -> int:
    """Return the age of a response when it arrived, in microseconds (RFC 9111, 4.2.3)."""
    apparent = max(0, info.response_time - info.date)
    delay = info.response_time - info.request_time
    return max(apparent, age_value * MICROSECONDS) + delay


def age_field(fields: Headers) -> int:
    """Return the Age field of the stored response in seconds, 0 without a valid one."""
    text = fields.get("Age") or ""
    value, rest = strtol(text)
    return value if text and not rest else 0


def is_fresh(r: Request, cache: CacheRequest, entry: CacheEntry) -> bool:
    """Return True if *entry* may be served; set Age and Warning of its fields (cache_check_freshness).

    A stale one may be while another request revalidates it under CacheLock.
    """
    control = cache.control
    if control.no_cache:
        if not cache.conf.ignores_cache_control:
            return False
        text = (
            f"Incoming request is asking for a uncached version of {r.untracked_target}, but we have been "
            "configured to ignore it and serve a cached response anyway"
        )
        log(r, "AH00781", text, "info")
    info = entry.info
    if info.control.no_cache or info.control.invalidated:
        return False
    first = initial_age(info, age_field(entry.fields)) - info.response_time
    age = max(0, int(r.time * MICROSECONDS) + first) // MICROSECONDS
    lifetime, limit = _limits(r, cache, entry)
    if age >= limit:
        return _is_locked(r, cache, entry)

    def shown(now: int) -> str:
        return str(max(0, now * MICROSECONDS + first) // MICROSECONDS)

    value = ClockValue(shown, int(r.time))
    r.deps.clock_fields.append(value)
    entry.fields.set("Age", value)
    edges = [limit]
    if age >= lifetime:
        _warn(entry.fields, "110 Response is stale")
    else:
        edges.append(lifetime)
    if info.control.max_age_value == info.control.s_maxage_value == -1 and "Expires" not in entry.fields:
        if age > DAY:
            _warn(entry.fields, "113 Heuristic expiration")
        else:
            edges.append(DAY + 1)
    # an edge is reached when the age in whole seconds is: the engine may repeat the response until then
    r.deps.expire_at(min(edges) - first / MICROSECONDS)
    return True


def _limits(r: Request, cache: CacheRequest, entry: CacheEntry) -> tuple[int, int]:
    """Return the freshness lifetime in seconds, and the age up to which the client accepts the response."""
    control = cache.control
    info = entry.info
    stored = info.control
    ignores = cache.conf.ignores_cache_control
    ages = [
        value
        for value in (
            -1 if ignores else control.max_age_value,
            stored.s_maxage_value if stored.s_maxage_value != -1 else stored.max_age_value,
        )
        if value != -1
    ]
    expires = (info.expire - info.date) // MICROSECONDS if info.expire != DATE_BAD else -1
    stale = 0
    if control.max_stale:
        stale = control.max_stale_value if control.max_stale_value != -1 else YEAR
        if stored.must_revalidate or stored.proxy_revalidate or stored.s_maxage_value != -1:
            stale = 0
    fresh = control.min_fresh_value if control.min_fresh and not ignores else 0
    lifetime = min(ages) if ages else expires
    if r.plan.dialect.cache_22 and stored.s_maxage_value != -1 and stored.max_age_value != -1:
        lifetime = max(stored.s_maxage_value, stored.max_age_value)  # either is enough
    return (max(lifetime, expires) if ages else lifetime), lifetime + stale - fresh


def _warn(fields: Headers, text: str) -> None:
    """Add a warning, unless it is there."""
    if text[:3] not in (fields.get_list("Warning") or ""):
        fields.merge("Warning", text)


def _is_locked(r: Request, cache: CacheRequest, entry: CacheEntry) -> bool:
    """Return True if another request revalidates the stale *entry*; else this one has the lock."""
    if not cache.conf.locks:
        text = "Cache lock obtained for stale cached URL, revalidating entry: "
        log(r, "AH00782", text + r.untracked_target)
        return False
    try:
        cache.lock = cache.lock or try_lock(cache.conf, r, cache.key)
    except FileExistsError:
        text = "Cache already locked for stale cached URL, pretend it is fresh: "
        log(r, "AH00783", text + r.untracked_target)
        _warn(entry.fields, "110 Response is stale")
        r.set_uncacheable()
        return True
    except OSError:
        text = "Attempt to obtain a cache lock for stale cached URL failed, revalidating entry anyway: "
        log(r, "AH00784", text + r.untracked_target)
        return False
    log(r, "AH00782", f"Cache lock obtained for stale cached URL, revalidating entry: {r.untracked_target}")
    return False
