"""Sends responses on the streams of one connection under flow control.  RFC 9113, section 5.2."""

from __future__ import annotations

import asyncio
import random
from typing import Final, cast

from whimbrel.base.numbers import decimal, is_digits
from whimbrel.engine.body import JoinedSource, Truncated
from whimbrel.engine.response import Response
from whimbrel.http.http2.connection import MAX_SENT_FRAME
from whimbrel.http.http2.protocol import ErrorCode
from whimbrel.server.http2.session import Http2Session
from whimbrel.server.http2.stream import Stream
from whimbrel.server.worker.accounting import account_response, log_truncated
from whimbrel.server.worker.cancellation import close_source

READ: Final = 64 * 1024  # bytes of a file that are read and sent before other streams are served


class Sender:
    """Sends the responses of one connection's streams."""

    def __init__(self, session: Http2Session) -> None:
        self.session, self.wire = session, session.wire
        settings = session.settings
        self.padding = (1 << settings.padding) - 1
        self.largest = settings.max_data or 1 << 24

    def send(self, stream: Stream, response: Response) -> None:
        """Send *response*: synchronously up to the windows, the rest in a task."""
        if stream.gone:
            self._drop(stream, response)
            return
        stream.connection.send_interim = None
        parts, wire = response.parts, self.wire
        block = wire.encoder.head(
            response.head_prefix, self.session.service.date_field(), response.head_suffix
        )
        if all(isinstance(part, bytes) for part in parts):
            body = b"".join(cast(list[bytes], parts))
            wire.send_head(stream.number, block, end=not body)
            count = self._now(stream, body)
            if count == len(body):
                self.finish(stream, response, count)
                return
            response.parts = [body]
            stream.held = len(body) - count
            self.session.held += stream.held
        else:
            count = 0
            wire.send_head(stream.number, block, end=False)
        stream.task = self.session.service.loop.create_task(self._rest(stream, response, count))

    def _now(self, stream: Stream, body: bytes) -> int:
        """Send as much of a complete body as the windows allow; return the number of bytes."""
        at = 0
        while at < len(body):
            size = self.fits(stream, len(body) - at)
            if size <= 0 or self.session.is_full:
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
        """Send the rest of a response; reset the stream after a failure, so that the client detects the
        truncation.
        """
        session = self.session
        if count:
            response.parts = [cast(bytes, response.parts[0])[count:]]
        source = JoinedSource(response.parts)
        try:
            while not stream.gone and (data := await source.read()) is not None:
                for at in range(0, len(data), READ):
                    count += await self._piece(stream, data[at : at + READ])
                    await asyncio.sleep(0)
            if not stream.gone:
                self.wire.send_data(stream, b"", end=True)
        except asyncio.CancelledError:
            pass  # the stream is gone
        except Exception as problem:
            if isinstance(problem, Truncated):
                log_truncated(session.service, stream.connection, session.listener)
            elif not isinstance(problem, ConnectionError):
                session.service.report(problem)
            if not stream.gone:
                stream.task = None  # which ends here and is not cancelled
                session.wire.reset(stream.number, ErrorCode.INTERNAL_ERROR)
                session.forget(stream)
        finally:
            await close_source(source)
        self.finish(stream, response, count)
        session.flush()

    async def _piece(self, stream: Stream, piece: bytes) -> int:
        session, at = self.session, 0
        while at < len(piece) and not stream.gone:
            size = self.fits(stream, len(piece) - at)
            if session.is_full:
                session.flush()
                await session.drain_output()
            elif size > 0:
                self.frame(stream, piece[at : at + size], end=False)
                at += size
            else:
                await self._room(stream)
        session.held -= min(at, stream.held)
        stream.held -= min(at, stream.held)
        session.flush()
        return at

    async def _room(self, stream: Stream) -> None:
        """Wait until the client has opened a window."""
        session = self.session
        stream.room = room = session.service.loop.create_future()
        session.waiting += 1
        session.flush()
        try:
            await room
        finally:
            session.waiting -= 1
            stream.room = None

    def _drop(self, stream: Stream, response: Response) -> None:
        stream.task = self.session.service.loop.create_task(self._dropped(stream, response))

    async def _dropped(self, stream: Stream, response: Response) -> None:
        await JoinedSource(response.parts).aclose()
        self.finish(stream, response, 0)

    def finish(self, stream: Stream, response: Response, count: int) -> None:
        """Log the response, which was sent or has failed, and account for it."""
        request = response.request
        self.session.held -= stream.held
        stream.held = 0
        if request.header_only and request.status == 200:
            length = request.headers_out.get("Content-Length") or ""
            # as httpd counts it: the body that was not sent
            count = decimal(length) if is_digits(length) else count
            request.set_uncacheable()
        # it was set so that the response counts as a connection's last; it may still be cached
        stream.connection.is_draining = False
        stream.connection.request = None
        account_response(self.session.service, self.session, response, count)
        self.session.done(stream)
