"""Cache hits on HTTP/2: streams that are opened and answered in one step.

A client that repeats a request sends the same bytes while HPACK's table is unchanged, and the response's
fields are the same bytes within one second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import replace
from whimbrel.engine.cache.entry import Hit
from whimbrel.http.http2.hpack import FieldBlock
from whimbrel.http.http2.protocol import HeadTooLong
from whimbrel.server.worker.accounting import account_hit

if TYPE_CHECKING:
    from whimbrel.server.http2.connection import Http2Connection

MAX_HEAD: Final = 8192  # bytes of a response head that fits into one frame
WRITE_AHEAD: Final = 64 * 1024  # bytes of responses that are gathered before a write


class CachedResponder:
    """Sends cached responses to the requests of one connection, without a `Stream`."""

    def __init__(self, session: Http2Connection) -> None:
        self.session = session
        self.sender = session.sender

    def answer_frames(self, data: bytes, at: int, most: int) -> int:
        """Answer requests from the cache: single frames with known field blocks in *data*, from *at* on.

        Returns the position of the first frame that it leaves. Each request is a unit of `wire.work`, of
        which there are at most *most*.
        """
        session = self.session
        wire = self.session.wire
        size = len(data)
        if session.leaving or self.sender.padding or not wire.is_clear:
            return at
        known = wire.decoder.known
        last: FieldBlock | None = None  # the last request, which `hit` answered
        hit: Hit | None = None
        block = b""
        while (
            wire.work < most
            and size - at >= 9
            and data[at + 3] == 1
            and data[at + 4] == 0x05
            and len(wire.out) < WRITE_AHEAD
        ):
            end = at + 9 + int.from_bytes(data[at : at + 3])
            request = known.get(data[at + 9 : end])
            number = int.from_bytes(data[at + 5 : at + 9])
            if request is None or number <= wire.highest or not number & 1 or number >> 31:
                break
            if last is not request or hit is None or hit[0].template.size > wire.window:
                raw = request.raw_head(wire.takes_push)
                found = self._lookup(raw) if raw else None
                if found is None:
                    break
                hit, block = found
                cached, head = hit
                last = request if cached.log.is_stable and head is cached.log.own else None
            session.connection.head_received = end - at
            self._reply(number, hit, block)
            wire.highest = number
            wire.work += 1
            at = end
        return at

    def _reply(self, number: int, hit: Hit, block: bytes) -> None:
        """Answer stream *number* with a valid entry, whose head is *block*."""
        session = self.session
        log = hit[0].log
        template = hit[0].template
        sent = session.wire.answer(number, block, template.body)
        more = sent - template.size - template.head_size if log.shows_size else 0
        connection = session.connection
        if log.events:  # error-log lines about a request name the connection of its stream
            connection = replace(connection, is_http2=True, log_id="")
        account_hit(session.service, session, connection, hit, more)

    def _lookup(self, raw: bytes) -> tuple[Hit, bytes] | None:
        """Return the cached response to a head for which the windows have room, and its field block."""
        session = self.session
        service = session.service
        connection = session.connection
        wire = session.wire
        if connection.proxied is not None:
            return None  # the entries know the proxy alone
        service.begin_tick()
        index = service.engine.response_cache.index(
            connection.local_ip, connection.local_port, connection.tls
        ).http2
        hit = index.lookup(connection, raw, session.listener.limits, service.tick)
        if hit is None:
            return None
        template = hit[0].template
        if (
            template.size > self.sender.largest
            or template.head_size > MAX_HEAD
            or not wire.has_room(template.size)
        ):
            return None
        template.refresh(service.date, service.now)
        try:  # the head may have grown by a digit
            block = wire.encoder.head(template.prefix, service.date, template.texts[0])
        except HeadTooLong:
            return None
        session.resets = max(0, session.resets - 1)
        wire.idle = 0
        return hit, block

    def answer(self, number: int, raw: bytes) -> bool:
        """Send the cached response to the raw head *raw*; return False if there is none or no room."""
        if self.sender.padding:
            return False
        found = self._lookup(raw)
        if found is None:
            return False
        self.session.connection.head_received = self.session.wire.head_received
        self._reply(number, *found)
        return True
