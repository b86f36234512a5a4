"""The store ``socache``: an entry is one value (disk_format.py), with the body behind the fields.

A value is at most CacheSocacheMaxSize bytes; longer responses are not stored. Values of a format that is not
known are misses.
"""

from __future__ import annotations

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.static_typing import Final
from whimbrel.engine.body import Part
from whimbrel.engine.request import Request
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.cache import disk_format as disk
from whimbrel.modules.cache.cache_control import vary_names
from whimbrel.modules.cache.disk_format import DiskInfo, FormatError
from whimbrel.modules.cache.mod_cache_socache.settings import CacheSocacheDirConfig, CacheSocacheServerConfig
from whimbrel.modules.cache.object_cache import ObjectCache, worker_cache
from whimbrel.modules.cache.store import (
    MICROSECONDS,
    CacheEntry,
    CacheInfo,
    CacheStore,
    EntryWriter,
    StoreError,
)

MODULE: Final = "cache_socache"


def _log(r: Request, code: str, text: str, level: str = "debug") -> None:
    r.log(level, text, code=code, module=MODULE)


def object_cache(r: Request) -> ObjectCache | None:
    """Return the object cache of the request's server."""
    return worker_cache(r, r.server_conf(CacheSocacheServerConfig).kind)


class SocacheEntry(CacheEntry):
    """An entry that was read."""

    __slots__ = ("_body", "_cache", "_facts", "_name")

    def __init__(
        self,
        cache: ObjectCache,
        name: str,
        key: str,
        facts: DiskInfo,
        tables: tuple[Headers, Headers],
        body: bytes,
    ) -> None:
        self._cache = cache
        self._name = name
        self.key = key
        self._facts = facts
        self._body = body
        self.fields, self.request_fields = tables
        self.info = CacheInfo(
            facts.status, facts.date, facts.expire, facts.request_time, facts.response_time, facts.control
        )

    def body(self) -> list[Part]:
        return [self._body] if self._body else []

    def record(self, r: Request) -> bool:
        """Return False: no file shows a change of the entry."""
        return False

    async def update(self, r: Request, fields: Headers, request_fields: Headers) -> None:
        """Store the entry with other fields."""
        writer = SocacheWriter(
            self._cache, self._name, self.info, fields, request_fields, self._facts.is_head_only
        )
        writer.write(self._body)
        await writer.store(r)

    async def invalidate(self, r: Request) -> None:
        """Remove the entry."""
        await self.remove(r)

    async def remove(self, r: Request) -> None:
        await self._cache.remove(r, to_bytes(self.key))

    def close(self) -> None:
        """Release nothing: the body is in memory."""


@dataclass(slots=True, eq=False)
class SocacheWriter(EntryWriter):
    """A response in memory until it is complete.  Bound: CacheSocacheMaxSize."""

    _cache: ObjectCache
    _key: str
    _info: CacheInfo
    _fields: Headers
    _request_fields: Headers
    _is_head: bool
    _limit: int = 0
    _size: int = field(init=False, default=0)
    _body: list[bytes] = field(init=False, default_factory=list)

    def write(self, data: bytes) -> None:
        """Append to the body; that of a response to HEAD is only counted."""
        self._size += len(data)
        if self._limit and self._size > self._limit:
            self.abort()
            text = f"URL {self._key} failed the buffer size check ({self._size}>={self._limit})"
            raise StoreError("debug", "AH02378", text, MODULE)
        if not self._is_head:
            self._body.append(data)

    async def commit(self, r: Request) -> None:
        """Store a response whose body has the announced length."""
        length = r.headers_out.get("Content-Length")
        if length not in (None, str(self._size)):
            text = f"URL {self._key} didn't receive complete response, not caching"
            raise StoreError("debug", "AH02381", text, MODULE)
        await self.store(r)

    async def store(self, r: Request) -> None:
        """Store the value, and the list of a response that varies.

        Raises:
            StoreError: it is not stored.
        """
        conf = r.dir_config(CacheSocacheDirConfig)
        body = b"".join(self._body)
        info = self._info
        self._body.clear()
        facts = DiskInfo.of(info, has_body=bool(body), is_head_only=self._is_head)
        value = disk.pack_header(facts, self._key, self._fields, self._request_fields) + body
        if len(value) > conf.max_size:
            text = f"URL '{self._key}' body and headers larger than limit, ignoring"
            raise StoreError("debug", "AH02349", text, MODULE)
        now = r.time * MICROSECONDS
        latest = now + conf.max_time * MICROSECONDS
        expiry = latest if info.expire > latest else info.expire + conf.min_time * MICROSECONDS
        seconds = max(1, round(expiry - now) // MICROSECONDS)
        key = self._key
        vary = self._fields.get_list("Vary")
        if vary is not None:
            names = vary_names(vary) or []
            if not await self._cache.store(r, to_bytes(key), disk.pack_vary(info.expire, names), seconds):
                raise StoreError("warn", "AH02373", f"Vary not written to cache, ignoring: {key}", MODULE)
            key = disk.variant_key(self._request_fields, names, key)
        if not await self._cache.store(r, to_bytes(key), value, seconds):
            raise StoreError("warn", "AH02386", f"could not write to cache, ignoring: {key}", MODULE)
        text = f"commit_entity: Headers and body for URL {self._key} cached for maximum of {seconds} seconds."
        r.log("debug", text, code="AH02387", module=MODULE)

    def abort(self) -> None:
        """Drop the body."""
        self._body.clear()


class SocacheStore(CacheStore):
    """The store of mod_cache_socache."""

    async def open_entry(self, r: Request, key: str) -> CacheEntry | None:
        cache = object_cache(r)
        if cache is None:
            return None
        limit = r.dir_config(CacheSocacheDirConfig).max_size
        own_key = key
        data = await cache.retrieve(r, to_bytes(key), limit)
        if data is None:
            _log(r, "AH02352", f"Key not found in cache: {key}")
            return None
        if disk.format_of(data) == disk.VARY_FORMAT:
            try:
                names = disk.unpack_vary(data)[1]
            except FormatError:
                _log(r, "AH02354", f"Cannot parse vary entry for key: {key}", "error")
                return None
            own_key = disk.variant_key(r.headers_in, names, key)
            data = await cache.retrieve(r, to_bytes(own_key), limit)
            if data is None:
                _log(r, "AH02357", f"Key not found in cache: {own_key}")
                return None
        return _read_entry(r, cache, key, own_key, data)

    def declines(self, r: Request, key: str, size: int) -> bool:
        """Return True without an object cache, and for parts and sizes that are not stored."""
        if object_cache(r) is None:
            return True
        limit = r.dir_config(CacheSocacheDirConfig).max_size
        if r.status == 206:
            _log(r, "AH02345", f"URL {key} partial content response not cached")
        elif size < 0:
            _log(r, "AH02346", f"URL '{key}' had no explicit size, ignoring")
        elif size > limit:
            _log(r, "AH02347", f"URL '{key}' body larger than limit, ignoring ({size} > {limit})")
        else:
            return False
        return True

    def read_size(self, r: Request) -> int:
        """Return CacheSocacheReadSize."""
        return r.dir_config(CacheSocacheDirConfig).read_size

    def create_entry(
        self, r: Request, key: str, info: CacheInfo, fields: Headers, request_fields: Headers
    ) -> EntryWriter:
        """Return the writer of a new entry."""
        cache = object_cache(r)
        assert cache is not None
        limit = r.dir_config(CacheSocacheDirConfig).max_size
        return SocacheWriter(cache, key, info, fields, request_fields, r.header_only, limit)


def _read_entry(r: Request, cache: ObjectCache, key: str, own_key: str, data: bytes) -> SocacheEntry | None:
    """Return the entry that *data* is."""
    version = disk.format_of(data)
    if version != disk.DISK_FORMAT:
        text = f"Key '{key}' found in cache has version {version}, expected {disk.DISK_FORMAT}, ignoring"
        _log(r, "AH02359", text, "error")
        return None
    try:
        facts, length = disk.unpack_facts(data)
        if disk.key_of(data, length) != key:
            _log(r, "AH02361", f"Cache entry for key '{own_key}' URL mismatch, ignoring", "error")
            return None
        at = disk.FACTS_SIZE + length
        fields, request_fields, count = disk.unpack_fields(data, at)
        start = disk.body_start(data, at)
    except FormatError:
        _log(r, "AH02360", f"Cache entry for key '{own_key}' too short, removing", "error")
        return None
    if count < 2:
        text = f"Cache entry for key '{own_key}' response headers unreadable, removing"
        _log(r, "AH02364", text, "error")
        return None
    if facts.is_head_only and not r.header_only:
        _log(r, "AH02363", f"HEAD request cached, non-HEAD requested, ignoring: {own_key}")
        return None
    body = data[start:]
    if not facts.is_head_only and fields.get("Content-Length") not in (None, str(len(body))):
        return None
    return SocacheEntry(cache, key, own_key, facts, (fields, request_fields), body)
