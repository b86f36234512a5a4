"""Request as access logs read it on a hit of the response cache."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from whimbrel.engine.deps.files import Dependencies
from whimbrel.engine.env import LazyEnv

if TYPE_CHECKING:
    from whimbrel.engine.cache.raw_head import RawHead
    from whimbrel.engine.connection import Connection
    from whimbrel.engine.request import Request
    from whimbrel.http.semantics.headers import Headers
    from whimbrel.http.syntax.head import Head


class LoggedResponse(Protocol):
    """A cached response, as its log lines read it (entry.CachedResponse).

    Attributes:
        request: the request that the response was built for.
        head: the head of that request.
        changed: its fields where a module may have changed them, else None.
        any_query: True if the response is the same for every query.
        size, head_size, framing: bytes of body, head, and chunk sizes.
        digits: digits of the Keep-Alive count of the first response.
        keepalive_slot: where the Keep-Alive count stands in the head; None if it has none.
    """

    request: Request
    head: Head | RawHead
    changed: Headers | None
    any_query: bool
    size: int
    head_size: int
    framing: int
    digits: int
    keepalive_slot: tuple[bytes, bytes, int] | None

    def count(self, connection: Connection) -> int:
        """Return the Keep-Alive count that *connection* is sent."""


class CachedRequestView:
    """Request of a cached response, with the values of the present request for the dynamic items of a log
    line.

    *head* and *headers_in* are those of the present request; so are request line and query where the response
    is the same for every query.
    """

    __slots__ = (
        "_env",
        "any_query",
        "bytes_sent",
        "connection",
        "head",
        "head_bytes",
        "headers_in",
        "log_id",
        "prev",
        "request",
        "time",
    )

    def __init__(
        self, cached: LoggedResponse, connection: Connection, time: float, head: RawHead | None
    ) -> None:
        self.request = cached.request
        self.connection = connection
        self.time = time
        self.head: Head | RawHead = cached.head if head is None else head
        self.headers_in = self.head.headers if cached.changed is None else cached.changed
        self.bytes_sent = cached.size
        self.head_bytes = cached.head_size + cached.framing
        if cached.keepalive_slot is not None:
            self.head_bytes += len(str(cached.count(connection))) - cached.digits
        self.prev = None
        self.any_query = cached.any_query
        self._env: LazyEnv | None = None
        self.log_id = ""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.request, name)

    @property
    def env(self) -> dict[str, str]:
        """See Request; what no other request may have is rebuilt, once for this one."""
        env = self.request.env
        if not isinstance(env, LazyEnv):
            return env
        if self._env is None:
            self._env = env.for_request(Dependencies(), int(self.time))
        return self._env

    @property
    def the_request(self) -> str | None:
        """See Request."""
        return self.head.line if self.any_query else self.request.untracked_line

    @property
    def args(self) -> str | None:
        """See Request."""
        if not self.any_query:
            return self.request.untracked_args
        _path, mark, query = (self.head.line or "").partition("?")
        return query.rpartition(" ")[0] if mark else None
