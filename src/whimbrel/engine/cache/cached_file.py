"""Reply from the response cache whose body is a file."""

from __future__ import annotations

from whimbrel.engine.body import FileSegment
from whimbrel.engine.cache.entry import Hit
from whimbrel.engine.connection import Connection
from whimbrel.engine.response import Response


class CachedFileResponse(Response):
    """A cached response as the protocols send it: a `Response` whose body is the file.

    *now* is the time of the request.
    """

    __slots__ = ("_connection", "_hit", "_now")

    def __init__(
        self,
        hit: Hit,
        part: FileSegment,
        connection: Connection,
        now: float,
    ) -> None:
        cached = hit[0]
        template = cached.template
        super().__init__(cached.request, template.prefix, template.suffix, [part], close=template.close)
        self._hit = hit
        self._connection = connection
        self._now = now
        self.received_at = now

    def head(self, date: bytes) -> bytes:
        """See Response.head."""
        return self._hit[0].template.serialize_head(self._connection.served, date, self._now)

    def on_sent(self, count: int, more: int = 0) -> None:
        """Write the log lines; see Response.on_sent."""
        cached, head = self._hit
        cached.log.write(head, cached.template, self._connection, self._now, count, more)
