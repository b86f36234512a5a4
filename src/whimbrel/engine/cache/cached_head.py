"""Cached response whose body is elsewhere: a file, or what an application streams."""

from __future__ import annotations

from whimbrel.engine.body import Part
from whimbrel.engine.cache.entry import Hit
from whimbrel.engine.connection import Connection
from whimbrel.engine.response import Framing, Response


class CachedHeadResponse(Response):
    """A cached response as the protocols send it: *part* is the body, *now* the request's time."""

    __slots__ = ("_connection", "_hit", "_now")

    def __init__(
        self,
        hit: Hit,
        part: Part,
        connection: Connection,
        now: float,
    ) -> None:
        cached = hit[0]
        template = cached.template
        framing = Framing.CHUNKED if template.is_chunked else Framing.LENGTH
        super().__init__(
            cached.request, template.prefix, template.suffix, [part], close=template.close, framing=framing
        )
        self._hit = hit
        self._connection = connection
        self._now = now
        self.received_at = now

    def head(self, date: bytes) -> bytes:
        return self._hit[0].template.serialize_head(self._connection.served, date, self._now)

    def on_sent(self, count: int, more: int = 0) -> None:
        """Write the log lines; see Response.on_sent."""
        cached, head = self._hit
        template = cached.template
        # `HitLog.write` counts the framing of the template
        cached.log.write(head, template, self._connection, self._now, count, more - template.framing)
