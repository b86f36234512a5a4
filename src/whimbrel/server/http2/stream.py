"""One stream: its request, its body as the client sends it, and its answer on the way out under two windows."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from time import time
from typing import TYPE_CHECKING, Final, cast

from whimbrel.base.numbers import decimal, is_digits
from whimbrel.engine.input.body import FileSegment, RequestBody
from whimbrel.engine.request import Connection
from whimbrel.engine.response import Response
from whimbrel.http.http2.connection import MAX_SENT_FRAME, StreamState
from whimbrel.http.http2.protocol import ErrorCode
from whimbrel.http.syntax.head import Head

if TYPE_CHECKING:
    from whimbrel.server.http2.connection import Http2Connection

MAX_HEAD: Final = 8192  # bytes of an answer's head that is sure to fit into one frame
READ: Final = (
    64 * 1024
)  # bytes of a file that are read at a time, and sent before other streams have their turn
JOIN_THRESHOLD: Final = 1024  # bytes of a piece of a request body that is joined with the one before it


class Stream(StreamState):
    """One request and its answer.

    Attributes:
        gone: the client will not see the answer
        received: bytes of the body that have arrived
        head_size: bytes of its block of fields, decoded
        room: done when a window may have grown
        turn: the turn of the connection in which its head arrived
        held: bytes of a response body that wait in memory
    """

    __slots__ = (
        "body",
        "connection",
        "gone",
        "head",
        "head_size",
        "held",
        "received",
        "room",
        "task",
        "tick",
    )

    def __init__(
        self,
        number: int,
        connection: Connection,
        head: Head,
        body: RequestBody,
        *,
        ended: bool,
    ) -> None:
        super().__init__(number, ended)
        self.connection, self.head, self.body = connection, head, body
        self.gone = False
        self.received = self.held = self.head_size = self.tick = 0
        self.room: asyncio.Future[None] | None = None
        self.task: asyncio.Task[None] | None = None

    @property
    def waits(self) -> bool:
        """Whether the client has to do something first."""
        return self.room is not None or (isinstance(self.body, StreamBody) and self.body.wanted)

    def wake(self) -> None:
        """Perhaps there is room in the window."""
        room, self.room = self.room, None
        if room is not None and not room.done():
            room.set_result(None)


class StreamBody(RequestBody):
    """The body of a stream: what is read of it may be sent again, so that a client is never further ahead than one window."""

    __slots__ = ("_session", "_stream", "wanted")

    def __init__(self, length: int | None, session: Http2Connection, number: int) -> None:
        super().__init__(length, self._demand)
        self._session, self._stream = session, number
        self.wanted = False
        self._done = False  # even a length of 0 ends with the stream only

    def feed(self, data: bytes) -> None:
        """As `RequestBody.feed`; small pieces are joined, since each is an object of its own."""
        chunks = self._chunks
        if chunks and len(data) < JOIN_THRESHOLD and len(chunks[-1]) < JOIN_THRESHOLD:
            self.received += len(data)
            chunks[-1] += data
        else:
            super().feed(data)

    def _demand(self) -> None:
        self._session.interim(self._stream)

    async def read(self) -> bytes:
        session = self._session
        self.wanted = not self._chunks and not self._done
        session.waiting += self.wanted
        if self.wanted:
            session.set_deadline()
        try:
            data = await super().read()
        finally:
            session.waiting -= self.wanted
            self.wanted = False
        session.release_window(self._stream, len(data))
        session.flush()
        return data

    async def discard(self, limit: int = 0) -> None:
        """Nothing: the stream ends without the rest of its body, as httpd ends it."""


class Sender:
    """Sends the answers of one connection's streams."""

    def __init__(self, session: Http2Connection) -> None:
        self.session, self.wire = session, session.wire
        settings = session.settings
        self.padding = (1 << settings.padding) - 1
        self.largest = settings.max_data or 1 << 24

    def send(self, stream: Stream, answer: Response) -> None:
        """Send *answer*: at once what has room, the rest as the client takes it."""
        if stream.gone:
            self._drop(stream, answer)
            return
        parts, wire = answer.parts, self.wire
        block = wire.encoder.head(answer.head_prefix, self.session.service.date_field(), answer.head_suffix)
        if answer.stream is None and not any(isinstance(part, FileSegment) for part in parts):
            body = b"".join(cast(list[bytes], parts))
            wire.send_head(stream.number, block, end=not body)
            count = self._now(stream, body)
            if count == len(body):
                self.finish(stream, answer, count)
                return
            answer.parts = [body]
            stream.held = len(body) - count
            self.session.held += stream.held
        else:
            count = 0
            wire.send_head(stream.number, block, end=False)
        stream.task = self.session.service.loop.create_task(self._rest(stream, answer, count))

    def _now(self, stream: Stream, body: bytes) -> int:
        """Send what has room of a whole body; how many bytes that is."""
        at = 0
        while at < len(body):
            size = self.fits(stream, len(body) - at)
            if size <= 0 or self.session.is_full:
                break
            self.frame(stream, body[at : at + size], end=at + size == len(body))
            at += size
        return at

    def fits(self, stream: Stream, size: int) -> int:
        """How much of *size* bytes the next frame may have."""
        room = self.wire.fits(stream, MAX_SENT_FRAME) - (self.padding + 1 if self.padding else 0)
        return min(room, size, self.largest)

    def frame(self, stream: Stream, data: bytes, *, end: bool) -> None:
        """One DATA frame, padded as H2Padding wants it."""
        padding = random.randrange(self.padding + 1) if self.padding else None
        self.wire.send_data(stream, data, end=end, padding=padding)

    async def _rest(self, stream: Stream, answer: Response, count: int) -> None:
        """What can't be sent at once; a failure resets the stream, so that the client sees that something is missing."""
        session = self.session
        try:
            async for piece in _pieces(answer, count):
                count += await self._piece(stream, piece)
                if stream.gone:
                    break
                await asyncio.sleep(0)
            if not stream.gone:
                self.wire.send_data(stream, b"", end=True)
        except Exception as problem:
            if not isinstance(problem, ConnectionError):
                session.service.report(problem)
            if not stream.gone:
                stream.connection.aborted = True
                session.wire.reset(stream.number, ErrorCode.INTERNAL_ERROR)
                session.forget(stream)
        finally:
            await _close(answer)
        self.finish(stream, answer, count)
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

    def _drop(self, stream: Stream, answer: Response) -> None:
        stream.task = self.session.service.loop.create_task(self._dropped(stream, answer))

    async def _dropped(self, stream: Stream, answer: Response) -> None:
        await _close(answer)
        self.finish(stream, answer, 0)

    def finish(self, stream: Stream, answer: Response, count: int) -> None:
        """The answer is out as far as it goes: log it and go on."""
        service, request = self.session.service, answer.request
        self.session.held -= stream.held
        stream.held = 0
        if request.header_only and request.status == 200:
            length = request.headers_out.get("Content-Length") or ""
            count = (
                decimal(length) if is_digits(length) else count
            )  # as httpd counts it: the body that was not sent
            request.set_uncacheable()
        stream.connection.is_draining = (
            False  # it was set so that the answer counts as a connection's last; it may still be kept
        )
        service.requests += 1
        service.sent += count
        service.duration += max(0.0, time() - answer.received_at) * 1000.0
        try:
            answer.on_sent(count)
        except Exception as problem:
            service.report(problem)
        self.session.done(stream)


async def _pieces(answer: Response, start: int) -> AsyncIterator[bytes]:
    """The body of an answer in pieces of moderate size; of bytes, from *start* on."""
    for part in answer.parts:
        if isinstance(part, FileSegment):
            at = 0
            while at < part.length:
                data = os.pread(part.handle, min(READ, part.length - at), part.offset + at)
                if not data:
                    raise ConnectionError("the file became shorter")
                at += len(data)
                yield data
        else:
            for at in range(start, len(part), READ):
                yield part[at : at + READ]
    if answer.stream is not None:
        async for data in answer.stream:
            if data:
                yield data


async def _close(answer: Response) -> None:
    """Give back what an answer holds."""
    for part in answer.parts:
        if isinstance(part, FileSegment):
            os.close(part.handle)
    close = getattr(answer.stream, "aclose", None)
    if close is not None:
        await close()
