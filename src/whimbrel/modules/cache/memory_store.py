"""The store ``mem`` (2.2): entries in the memory of a worker.

Key: the URL; value: the response. Bounds: MCacheSize in bytes, MCacheMaxObjectCount. Eviction: the least
recently used entry, or by GDSF the one with the fewest hits for its size since the last evictions.
"""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.static_typing import Final
from whimbrel.engine.body import Part
from whimbrel.engine.request import Request
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.cache.mem_cache_settings import MemCacheServerConfig
from whimbrel.modules.cache.store import CacheEntry, CacheInfo, CacheStore, EntryWriter, StoreError

STATE: Final = "mem_cache"  # key in worker_state
OVERHEAD: Final = 512  # bytes of an entry besides its body and fields
FIELD: Final = 128  # bytes of a field besides its text


class Stored:
    """A stored response.

    Attributes:
        size: approximate bytes; `rank`: the entry with the lowest is evicted.
        hits: uses since it was stored.
    """

    __slots__ = ("data", "fields", "hits", "info", "rank", "request_fields", "size")

    def __init__(self, info: CacheInfo, fields: Headers, request_fields: Headers, data: bytes) -> None:
        self.info = info
        self.fields = fields
        self.request_fields = request_fields
        self.data = data
        pairs = [*fields, *request_fields]
        self.size = OVERHEAD + len(data) + sum([FIELD + len(name) + len(value) for name, value in pairs])
        self.hits = 1
        self.rank = 0.0


class MemoryCache:
    """The entries of one worker."""

    def __init__(self, conf: MemCacheServerConfig) -> None:
        self.conf = conf
        self.size = 0
        self._clock = 0.0
        self.entries: dict[str, Stored] = {}

    def get(self, key: str) -> Stored | None:
        """Return an entry, which is used."""
        entry = self.entries.pop(key, None)
        if entry is not None:
            entry.hits += 1
            self._rank(entry)
            self.entries[key] = entry
        return entry

    def _rank(self, entry: Stored) -> None:
        entry.rank = self._clock + entry.hits / entry.size

    def remove(self, key: str) -> None:
        """Remove an entry."""
        entry = self.entries.pop(key, None)
        if entry is not None:
            self.size -= entry.size

    def put(self, key: str, entry: Stored) -> bool:
        """Store an entry and evict others; return False if it is too large."""
        self.remove(key)
        if entry.size > self.conf.size or self.conf.count < 1:
            return False
        while self.size + entry.size > self.conf.size or len(self.entries) >= self.conf.count:
            first = next(iter(self.entries))
            victim = first if self.conf.is_lru else min(self.entries, key=lambda k: self.entries[k].rank)
            self._clock = self.entries[victim].rank
            self.remove(victim)
        self._rank(entry)
        self.entries[key] = entry
        self.size += entry.size
        return True


class MemoryEntry(CacheEntry):
    """An entry that was found; its fields are a copy."""

    __slots__ = ("_cache", "_stored")

    def __init__(self, cache: MemoryCache, key: str, stored: Stored) -> None:
        self._cache = cache
        self._stored = stored
        self.key = key
        self.info = stored.info
        self.fields = stored.fields.copy()
        self.request_fields = stored.request_fields

    def body(self) -> list[Part]:
        return [self._stored.data] if self._stored.data else []

    def record(self, r: Request) -> bool:
        """Return False: no file shows a change of the entry."""
        return False

    async def update(self, r: Request, fields: Headers, request_fields: Headers) -> None:
        if not self._cache.put(self.key, Stored(self.info, fields, request_fields, self._stored.data)):
            raise StoreError

    async def invalidate(self, r: Request) -> None:
        """Remove the entry."""
        self._cache.remove(self.key)

    async def remove(self, r: Request) -> None:
        self._cache.remove(self.key)

    def close(self) -> None:
        """Release nothing."""


@dataclass(slots=True, eq=False)
class MemoryWriter(EntryWriter):
    """A response until it is complete.  Bound: MCacheMaxObjectSize."""

    _cache: MemoryCache
    _key: str
    _info: CacheInfo
    _fields: Headers
    _request_fields: Headers
    _parts: list[bytes] = field(init=False, default_factory=list)
    _size: int = field(init=False, default=0)

    def write(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > self._cache.conf.max_object:
            self.abort()
            raise StoreError
        self._parts.append(data)

    async def commit(self, r: Request) -> None:
        length = r.headers_out.get("Content-Length")
        if self._size < self._cache.conf.min_object or length not in (None, str(self._size)):
            raise StoreError
        entry = Stored(self._info, self._fields, self._request_fields, b"".join(self._parts))
        self._parts.clear()
        if not self._cache.put(self._key, entry):
            raise StoreError

    def abort(self) -> None:
        """Drop the body."""
        self._parts.clear()


class MemoryStore(CacheStore):
    """The store of mod_mem_cache."""

    def _cache(self, r: Request) -> MemoryCache:
        state = r.engine.worker_state
        conf = r.engine.main.config(MemCacheServerConfig)
        known: MemoryCache | None = state.get(STATE)
        if known is None:
            known = MemoryCache(conf)
            state[STATE] = known
        return known

    async def open_entry(self, r: Request, key: str) -> CacheEntry | None:
        cache = self._cache(r)
        stored = cache.get(key)
        return None if stored is None else MemoryEntry(cache, key, stored)

    def declines(self, r: Request, key: str, size: int) -> bool:
        """Return True for sizes that are not stored; an unknown one is up to MCacheMaxStreamingBuffer."""
        conf = self._cache(r).conf
        if size < 0:
            return conf.streaming <= 0
        return not conf.min_object <= size <= conf.max_object

    def create_entry(
        self, r: Request, key: str, info: CacheInfo, fields: Headers, request_fields: Headers
    ) -> EntryWriter:
        """Return the writer of a new entry."""
        return MemoryWriter(self._cache(r), key, info, fields, request_fields)
