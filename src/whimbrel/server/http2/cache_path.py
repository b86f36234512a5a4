"""Cache hits on HTTP/2: streams that are opened and answered in one step.

A client that repeats a request sends the same bytes while HPACK's table is unchanged, and the response's
fields are the same bytes within one second.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from whimbrel.engine.cache.entry import CachedResponse
from whimbrel.engine.cache.key import RawHead
from whimbrel.http.http2.hpack import FieldBlock
from whimbrel.server.http2.sender import Sender
from whimbrel.server.http2.session import Http2Session

MAX_HEAD: Final = 8192  # bytes of a response head that fits into one frame
WRITE_AHEAD: Final = 64 * 1024  # bytes of responses that are gathered before a write


class LastHit:
    """The last cache hit, prepared for a replay.

    Attributes:
        cached: the cached response
        request: field block of the request
        encoded: field block of the response
        adders: log appenders with their lines
    """

    __slots__ = ("adders", "encoded", "cached", "request")

    def __init__(
        self,
        cached: CachedResponse,
        request: FieldBlock,
        encoded: bytes,
        adders: list[tuple[Callable[[bytes], None], bytes]],
    ) -> None:
        self.cached, self.request, self.encoded, self.adders = cached, request, encoded, adders


class CachedResponder:
    """Sends cached responses to the requests of one connection, without a `Stream`."""

    def __init__(self, session: Http2Session, sender: Sender) -> None:
        self.session, self.sender = session, sender

    def fast_path(self, data: bytes, at: int, most: int) -> int:
        """Answer requests from the cache: single frames with known field blocks in *data*, from *at* on.

        Returns the position of the first frame that it leaves. Each request is a unit of `wire.work`, of
        which there are at most *most*.
        """
        session, wire, size, same = self.session, self.session.wire, len(data), None
        if session.leaving or self.sender.padding or not wire.is_clear:
            return at
        known = wire.decoder.known
        while (
            wire.work < most
            and size - at >= 9
            and data[at + 3] == 1
            and data[at + 4] == 0x05
            and len(wire.out) < WRITE_AHEAD
        ):
            end = at + 9 + int.from_bytes(data[at : at + 3])
            request, number = known.get(data[at + 9 : end]), int.from_bytes(data[at + 5 : at + 9])
            if request is None or number <= wire.highest or not number & 1 or number >> 31:
                break
            if same is not None and same.request is request and same.cached.size <= wire.window:
                self._replay(number, same)
            else:
                raw = request.raw_head(wire.takes_push)
                cached, head = self._lookup(raw) if raw else (None, None)
                if cached is None or not self._give(number, cached, head):
                    break
                same = self._same(cached, request) if head is None and end < size else None
            wire.highest = number
            wire.work += 1
            at = end
        return at

    def _replay(self, number: int, same: LastHit) -> None:
        """Send the same response to the same fields on another stream."""
        session, cached = self.session, same.cached
        for add, line in same.adders:
            add(line)
        session.service.requests += 1
        session.service.sent += cached.size
        session.answered += 1
        session.wire.answer(number, same.encoded, cached.body)

    def _same(self, cached: CachedResponse, request: FieldBlock) -> LastHit | None:
        """Prepare *cached* for a replay in this tick; return None if each use of it differs."""
        service, connection = self.session.service, self.session.connection
        if not cached.is_log_line_stable or connection.useragent_ip or connection.notes:
            return None
        if not cached.adds:
            cached.adds = tuple([service.engine.runtime.log_appender(sink) for sink, _line in cached.writers])
        encoded = self.session.wire.encoder.head(cached.head_prefix, service.date, cached.head_suffix)
        return LastHit(
            cached,
            request,
            encoded,
            [(add, line) for add, (_sink, line) in zip(cached.adds, cached.lines, strict=True)],
        )

    def _give(self, number: int, cached: CachedResponse, head: RawHead | None) -> bool:
        """Send a cached response if the windows have room for it."""
        session, wire = self.session, self.session.wire
        if cached.size > self.sender.largest or cached.head_size > MAX_HEAD or not wire.has_room(cached.size):
            return False
        service = session.service
        service.engine.log_hit(cached, session.connection, head)
        service.requests += 1
        service.sent += cached.size
        session.answered += 1
        session.resets = max(0, session.resets - 1)
        wire.idle = 0
        wire.answer(
            number, wire.encoder.head(cached.head_prefix, service.date, cached.head_suffix), cached.body
        )
        return True

    def _lookup(self, raw: bytes) -> tuple[CachedResponse | None, RawHead | None]:
        """Return the cached response to a head, and the head if it differs from the cached one's bytes."""
        service, connection, limits = (
            self.session.service,
            self.session.connection,
            self.session.listener.limits,
        )
        service.begin_tick()
        index = service.engine.response_cache.index(connection.local_ip, connection.local_port)
        cached, head = index.lookup(connection, raw, limits, service.tick, spare=1)
        if cached is not None:
            cached.refresh(service.date, service.now)
        return cached, head

    def try_cache(self, number: int, raw: bytes) -> bool:
        """Send the cached response to the raw head *raw*; return False if there is none or no room."""
        cached, head = self._lookup(raw)
        return cached is not None and not self.sender.padding and self._give(number, cached, head)
