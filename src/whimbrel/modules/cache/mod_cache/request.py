"""State of the cache for one request (httpd's cache_request_rec), and how responses show it."""

from __future__ import annotations

from whimbrel.base.static_typing import Final
from whimbrel.engine.request import Request
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.cache.cache_control import CacheControl
from whimbrel.modules.cache.mod_cache.lock import CacheLock
from whimbrel.modules.cache.mod_cache.settings import CacheDirConfig, CacheServerConfig
from whimbrel.modules.cache.store import CacheEntry, CacheStore

HIT = "HIT"
REVALIDATE = "REVALIDATE"
MISS = "MISS"
INVALIDATE = "INVALIDATE"
Stores = tuple[CacheStore, ...]
_ENVIRONMENT: Final = {
    HIT: "cache-hit",
    REVALIDATE: "cache-revalidate",
    MISS: "cache-miss",
    INVALIDATE: "cache-invalidate",
}


class CacheRequest:
    """What the cache knows about a request.

    Attributes:
        conf, stores, store: settings; stores in their order; that of the entry.
        key, query: the key; the query as it was sent.
        control: Cache-Control and Pragma of the request.
        entry: the entry that is served; `stale_entry`: one that is not fresh, or conflicts with conditions.
        stale_fields: the request's fields before the cache replaced its conditions.
        lock: CacheLock's lock while this request has it.
    """

    __slots__ = (
        "conf",
        "control",
        "entry",
        "is_saved",
        "key",
        "lock",
        "query",
        "stale_entry",
        "stale_fields",
        "store",
        "stores",
    )

    def __init__(self, conf: CacheServerConfig, stores: Stores, control: CacheControl) -> None:
        self.conf = conf
        self.stores = stores
        self.control = control
        self.store: CacheStore = stores[0]
        self.key = ""
        self.query: str | None = None
        self.entry: CacheEntry | None = None
        self.stale_entry: CacheEntry | None = None
        self.stale_fields: Headers | None = None
        self.lock: CacheLock | None = None
        self.is_saved = False

    def unlock(self) -> None:
        """Let another request store the response."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def close(self) -> None:
        """Release files and the lock."""
        self.unlock()
        for entry in (self.entry, self.stale_entry):
            if entry is not None:
                entry.close()


def show_status(r: Request, cache: CacheRequest, fields: Headers, kind: str, reason: str) -> None:
    """Set the variables and fields that show what the cache did (cache_status); 2.2 has none."""
    if r.plan.dialect.cache_22:
        return
    r.env[_ENVIRONMENT[kind]] = reason
    r.env["cache-status"] = reason
    section = r.dir_config(CacheDirConfig)
    name = r.server.name or r.engine.main.name
    if cache.conf.header if section.header is None else section.header:
        fields.set("X-Cache", f"{kind} from {name}")
    if cache.conf.detail_header if section.detail_header is None else section.detail_header:
        fields.set("X-Cache-Detail", f'"{reason}" from {name}')


def log(r: Request, code: str, text: str, level: str = "debug") -> None:
    """Write a line of mod_cache."""
    r.log(level, text, code=code, module="cache")
