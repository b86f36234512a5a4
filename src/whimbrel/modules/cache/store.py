"""Interface between mod_cache and its stores (httpd's cache_provider).

A store is the provider of the group ``cache`` under the name that CacheEnable has: ``disk``, ``socache``,
``mem``.  mod_cache_disk is the worked example.
"""

from __future__ import annotations

from abc import abstractmethod

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.modules.cache.cache_control import CacheControl

if TYPE_CHECKING:
    from whimbrel.engine.body import Part
    from whimbrel.engine.request import Request
    from whimbrel.http.semantics.headers import Headers

GROUP: Final = "cache"
MICROSECONDS: Final = 1_000_000
DATE_BAD: Final = 0  # APR_DATE_BAD


class StoreError(Exception):
    """A response, or a change of an entry, cannot be stored.

    The attributes are a line for the error log, which the caller writes; *text* is "" where it is written.
    """

    def __init__(self, level: str = "", code: str = "", text: str = "", module: str = "") -> None:
        super().__init__(text)
        self.level = level
        self.code = code
        self.text = text
        self.module = module


@dataclass(slots=True)
class CacheInfo:
    """What mod_cache notes about a stored response (cache_info); times in microseconds since the epoch."""

    status: int = 200
    date: int = 0
    expire: int = 0
    request_time: int = 0
    response_time: int = 0
    control: CacheControl = field(default_factory=CacheControl)


class CacheEntry:
    """A stored response that was found for a key (cache_handle_t with its headers recalled).

    Attributes:
        key: the key that the response was stored for; logs show it.
        info, fields, request_fields: the response, and the fields of the request that it answered.
    """

    __slots__ = ("fields", "info", "key", "request_fields")
    key: str
    info: CacheInfo
    fields: Headers
    request_fields: Headers

    @abstractmethod
    def body(self) -> list[Part]:
        """Return the body; the caller closes files in it.  A second call returns it again."""

    @abstractmethod
    def record(self, r: Request) -> bool:
        """Record the entry's files; return False if the engine must not cache the response."""

    @abstractmethod
    async def update(self, r: Request, fields: Headers, request_fields: Headers) -> None:
        """Store `info` and other fields with the same body.

        Raises:
            StoreError: they were not stored.
        """

    @abstractmethod
    async def invalidate(self, r: Request) -> None:
        """Mark the entry so that it is never served again; it loses its fields, as in httpd.

        Raises:
            StoreError: it is as it was.
        """

    @abstractmethod
    async def remove(self, r: Request) -> None:
        """Remove the entry (remove_url).

        Raises:
            StoreError: it is still there.
        """

    @abstractmethod
    def close(self) -> None:
        """Release files."""


class EntryWriter:
    """A response that is being stored; nobody finds it before `commit`."""

    __slots__ = ()

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Append to the body.

        Raises:
            StoreError: the response cannot be stored; the writer is aborted.
        """

    @abstractmethod
    async def commit(self, r: Request) -> None:
        """Store the response in place of an older one.

        Raises:
            StoreError: it is not stored; the writer is aborted.
        """

    @abstractmethod
    def abort(self) -> None:
        """Drop what was written."""


class DiscardingWriter(EntryWriter):
    """The writer of a tool that only asks what a server would answer: it stores nothing."""

    __slots__ = ()

    def write(self, data: bytes) -> None:
        """Discard *data*."""

    async def commit(self, r: Request) -> None:
        """Store nothing."""

    def abort(self) -> None:
        """Nothing was written."""


class CacheStore:
    """A store of responses; instances have no state of a request."""

    __slots__ = ()

    @abstractmethod
    async def open_entry(self, r: Request, key: str) -> CacheEntry | None:
        """Return the entry of *key*, or its variant for the fields of *r*; None without one."""

    @abstractmethod
    def declines(self, r: Request, key: str, size: int) -> bool:
        """Return True if a body of *size* bytes (-1: unknown) is not stored (create_entity)."""

    def read_size(self, r: Request) -> int:
        """Return how many bytes of a body httpd stores before it passes them on; 0: each bucket by itself."""
        return 0

    @abstractmethod
    def create_entry(
        self, r: Request, key: str, info: CacheInfo, fields: Headers, request_fields: Headers
    ) -> EntryWriter:
        """Return the writer of a response to *r* with the cacheable *fields*."""
