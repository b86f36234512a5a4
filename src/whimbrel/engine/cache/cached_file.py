"""Reply from the response cache whose body is a file."""

from __future__ import annotations

from whimbrel.engine.body import FileSegment
from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.cache.log_hit import log_hit
from whimbrel.engine.connection import Connection
from whimbrel.engine.engine import Engine
from whimbrel.engine.response import Response
from whimbrel.http.syntax.head_shape import SplitHead


class CachedFileResponse(Response):
    """A cached response as the protocols send it: a `Response` whose body is the file.

    *head* is the request's head where its bytes differ from the cached one's; *now* is the time of the
    request.
    """

    __slots__ = ("_connection", "_engine", "_cached", "_now", "_head")

    def __init__(
        self,
        cached: CachedResponse,
        part: FileSegment,
        engine: Engine,
        connection: Connection,
        head: SplitHead | None,
        now: float,
    ) -> None:
        super().__init__(cached.request, cached.head_prefix, cached.head_suffix, [part], close=cached.close)
        self._cached = cached
        self._engine = engine
        self._connection = connection
        self._head = head
        self._now = now
        self.received_at = now

    def head(self, date: bytes) -> bytes:
        """See Response.head."""
        return self._cached.serialize_head(self._connection, date, self._now)

    def on_sent(self, count: int, more: int = 0) -> None:
        """Write the log lines; see Response.on_sent."""
        engine = self._engine
        log_hit(
            self._cached,
            self._connection,
            engine.runtime,
            self._now,
            engine.error_log.about_request,
            self._head,
            count,
            more,
        )
