"""Sends responses on the streams of one connection under flow control.  RFC 9113, section 5.2."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, cast

from whimbrel.base.numbers import decimal, is_digits
from whimbrel.engine.body import JoinedSource, Truncated, is_complete, size_of, sized
from whimbrel.engine.response import DATE_BYTES, Response
from whimbrel.engine.tls import RENEGOTIATION_NOTE
from whimbrel.http.http2.connection import MAX_SENT_FRAME
from whimbrel.http.http2.protocol import ErrorCode, HeadTooLong, RawField, answer_fields, interim_fields
from whimbrel.http.semantics.headers import Pair
from whimbrel.server.http2.stream import Stream
from whimbrel.server.http2.tunnels import begin_tunnel, has_refused
from whimbrel.server.worker.accounting import account_response, log_truncated
from whimbrel.server.worker.cancellation import close_source

if TYPE_CHECKING:
    from whimbrel.server.http2.connection import Http2Connection

READ: Final = 48 * 1024  # bytes of a file that are read and sent before other streams are served
_REFUSED_ORDER: Final = {b":status": 0, b"date": 1, b"server": 2}


def _pairs(fields: Iterable[RawField]) -> list[Pair]:
    """Return the fields of a head for an interim response."""
    return [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in fields
        if name not in (b":status", b"content-length")
    ]


class Sender:
    """Sends the responses of one connection's streams."""

    def __init__(self, session: Http2Connection) -> None:
        self.session = session
        self.wire = session.wire
        settings = session.settings
        self.padding = (1 << settings.padding) - 1
        self.largest = settings.max_data or 1 << 24

    def send(self, stream: Stream, response: Response) -> None:
        """Send *response*: synchronously up to the windows, the rest in a task."""
        if stream.gone:
            self._drop(stream, response)
            return
        stream.connection.send_interim = None
        if response.request.takeover is not None or stream.key:
            if response.request.takeover is not None:
                begin_tunnel(self, stream, response, response.request.takeover)
                return
            if has_refused(self, stream, response):
                return
        parts = response.parts
        wire = self.wire
        status = response.request.status
        chosen = self._push(stream, response)
        if response.is_malformed:
            self._reset(stream, response)
            return
        if stream.connection.notes.pop(RENEGOTIATION_NOTE, ""):  # httpd's answer where TLS forbids it
            self._reset(stream, response, ErrorCode.HTTP_1_1_REQUIRED)
            return
        if status < 200:  # a script's: it is interim, so the final response is missing
            self.interim(stream, status, _pairs(self._fields(stream, response)))
            self._reset(stream, response, ErrorCode.INTERNAL_ERROR)
            return
        try:
            block = self._head(stream, response, chosen)
        except HeadTooLong:
            self._reset(stream, response)
            return
        if stream.parent is not None:
            self._order(stream, response)
        if all(isinstance(part, bytes) for part in parts):
            body = b"".join(cast(list[bytes], parts))
            wire.send_head(stream, block, end=not body)
            count = self._now(stream, body)
            if count == len(body):
                self.finish(stream, response, count)
                return
            response.request.set_uncacheable()  # the response has the rest of its body only
            response.parts = [body[count:]]
            stream.held = len(body) - count
            self.session.held += stream.held
        else:
            count = 0
            wire.send_head(stream, block, end=False)
        if is_complete(response.parts):
            stream.is_ready = True
            stream.total = count + sum([size_of(part) for part in sized(response.parts)])
        stream.task = self.session.service.loop.create_task(self._rest(stream, response, count))

    def interim(
        self, stream: Stream, status: int, fields: Iterable[Pair] = (), _reason: str | None = None
    ) -> None:
        """Send an interim response on *stream*; see `Request.interim`. HTTP/2 has no reason phrases.

        What a 103 preloads is pushed; the response itself is sent with H2EarlyHints alone.
        """
        session = self.session
        if status == 100:
            stream.head.expect_continue = False
        if stream.gone or session.ended:
            return
        lines = interim_fields(status, fields)
        if status == 103:
            values = [value.decode("latin-1") for name, value in lines if name == b"link"]
            chosen = session.pusher.push(stream, status, values)
            lines += [(b"push-policy", chosen.encode("latin-1"))] if chosen else []
        if status != 103 or session.settings.early_hints:
            try:
                self.wire.send_head(stream, self.wire.encoder.encode(lines), end=False)
            except HeadTooLong:
                self.wire.reset(stream.number, ErrorCode.PROTOCOL_ERROR)
                session.forget(stream)
        session.flush()

    def _push(self, stream: Stream, response: Response) -> str:
        """Promise what *response* preloads; return the client's policy if there is anything."""
        out = response.request.headers_out
        errors = response.request.err_headers_out
        if "link" not in out.entries() and "link" not in errors.entries():
            return ""
        values = dict.fromkeys((*out.get_all("Link"), *errors.get_all("Link")))
        chosen = self.session.pusher.push(stream, response.request.status, values)
        if chosen:
            response.request.set_uncacheable()  # each connection has its own diary
        return chosen

    def _head(self, stream: Stream, response: Response, chosen: str) -> bytes:
        """Return the field block of *response*, with the push policy *chosen*; raise HeadTooLong."""
        if not chosen and stream.head.error is None:
            date = self.session.service.date_of(response.received_at)
            return self.wire.encoder.head(response.head_prefix, response.date or date, response.head_suffix)
        more = [(b"push-policy", chosen.encode("latin-1"))] if chosen else []
        return self.wire.encoder.encode([*self._fields(stream, response), *more])

    def _fields(self, stream: Stream, response: Response) -> list[RawField]:
        """Return *response*'s fields; Date and Server first for a refused head, as in httpd."""
        date = self.session.service.date_of(response.received_at)
        fields = [*answer_fields(response.head_prefix, response.date or date, response.head_suffix)]
        if stream.head.error is not None:
            fields.sort(key=lambda pair: _REFUSED_ORDER.get(pair[0], len(_REFUSED_ORDER)))
        return fields

    def _order(self, stream: Stream, response: Response) -> None:
        fields = dict(answer_fields(response.head_prefix, b"", response.head_suffix))
        self.session.pusher.order(stream, fields.get(b"content-type", b"").decode("latin-1"))

    def _now(self, stream: Stream, body: bytes) -> int:
        """Send as much of a complete body as the windows allow; return the number of bytes."""
        at = 0
        while at < len(body):
            size = self.fits(stream, len(body) - at)
            if size <= 0 or self.session.is_full or stream.must_yield:
                break
            self.frame(stream, body[at : at + size], end=at + size == len(body))
            at += size
        return at

    def fits(self, stream: Stream, size: int) -> int:
        """Return how many of *size* bytes the next frame may have."""
        room = self.wire.fits(stream, MAX_SENT_FRAME) - (self.padding + 1 if self.padding else 0)
        return min(room, size, self.largest)

    def frame(self, stream: Stream, data: bytes, *, end: bool) -> None:
        """Send one DATA frame, padded according to H2Padding."""
        padding = random.randrange(self.padding + 1) if self.padding else None
        self.wire.send_data(stream, data, end=end, padding=padding)

    async def _rest(self, stream: Stream, response: Response, count: int) -> None:
        """Send the rest of a response; a failure resets the stream, so the client detects it."""
        session = self.session
        source = JoinedSource(response.parts)
        try:
            while not stream.gone and (data := await source.read()) is not None:
                stream.is_ready = True
                for at in range(0, len(data), READ):
                    count += await self._piece(stream, data[at : at + READ])
                    await asyncio.sleep(0)
                if stream.total is None:
                    stream.rest()
            if not stream.gone:
                self.wire.send_data(stream, b"", end=True)
        except asyncio.CancelledError:
            pass  # the stream is gone
        except Exception as problem:
            if isinstance(problem, Truncated):
                log_truncated(session.service, stream.connection, session.listener)
            elif not isinstance(problem, ConnectionError):
                session.service.report(problem)
            if isinstance(problem, MemoryError):  # frames may be missing
                session.transport.abort()
            elif not stream.gone:
                stream.task = None  # which ends here and is not cancelled
                session.wire.reset(stream.number, ErrorCode.INTERNAL_ERROR)
                session.forget(stream)
        finally:
            await close_source(source)
        self.finish(stream, response, count)
        session.flush()

    async def _piece(self, stream: Stream, piece: bytes) -> int:
        session = self.session
        at = 0
        while at < len(piece) and not stream.gone:
            size = self.fits(stream, len(piece) - at)
            if session.is_full:
                session.flush()
                await session.drain_output()
            elif stream.leaders and stream.must_yield:
                await self._wait_for_leaders(stream)
            elif size > 0:
                self.frame(stream, piece[at : at + size], end=False)
                at += size
            else:
                await self._room(stream)
        session.held -= min(at, stream.held)
        stream.held -= min(at, stream.held)
        session.flush()
        return at

    async def _wait_for_leaders(self, stream: Stream) -> None:
        """Wait until the streams that go first may have nothing to send."""
        stream.leaders_rest = self.session.service.loop.create_future()
        self.session.flush()
        try:
            await stream.leaders_rest
        finally:
            stream.leaders_rest = None

    async def _room(self, stream: Stream) -> None:
        """Wait until the client has opened a window."""
        session = self.session
        room = session.service.loop.create_future()
        stream.room = room
        session.waiting += 1
        for follower in stream.followers if stream.window <= 0 else ():
            follower.wake()
        session.flush()
        try:
            await room
        finally:
            session.waiting -= 1
            stream.room = None

    def _reset(self, stream: Stream, response: Response, code: ErrorCode = ErrorCode.PROTOCOL_ERROR) -> None:
        """Reset a stream whose response has a head that must not be sent; log what its body would be."""
        response.request.set_uncacheable()
        self.wire.reset(stream.number, code)
        stream.task = None  # which calls this and is not cancelled
        self.session.forget(stream)
        stream.task = self.session.service.loop.create_task(self._unsent(stream, response))

    async def _unsent(self, stream: Stream, response: Response) -> None:
        source = JoinedSource(response.parts)
        count = 0
        try:
            while count < READ and (data := await source.read()) is not None:
                count += len(data)
        except (Exception, asyncio.CancelledError):
            pass  # there is no client that misses the rest
        finally:
            await close_source(source)
        self.finish(stream, response, count)

    def _drop(self, stream: Stream, response: Response) -> None:
        stream.task = self.session.service.loop.create_task(self._dropped(stream, response))

    async def _dropped(self, stream: Stream, response: Response) -> None:
        await JoinedSource(response.parts).aclose()
        self.finish(stream, response, 0)

    def finish(self, stream: Stream, response: Response, count: int) -> None:
        """Log the response, which was sent or has failed, and account for it.

        httpd counts a body as its handler produces it, even where the client does not take it.
        """
        request = response.request
        stream.is_ready = False
        stream.unlink()
        self.session.held -= stream.held
        stream.held = 0
        if stream.total is not None:
            count = stream.total
        if request.header_only and request.status == 200:
            length = request.headers_out.get("Content-Length") or ""
            # as httpd counts it: the body that was not sent
            count = decimal(length) if is_digits(length) else count
            request.set_uncacheable()
        # it was set so that the response counts as a connection's last; it may still be cached
        stream.connection.is_draining = False
        stream.connection.request = None
        head = len(response.head_prefix) + DATE_BYTES + len(response.head_suffix)
        more = stream.sent - count - (head if response.head_prefix else 0)
        account_response(self.session.service, self.session, response, count, more)
        self.session.done(stream)
