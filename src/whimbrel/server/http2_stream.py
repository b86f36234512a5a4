"""One stream: its request, its body as the client sends it, and its answer on the way out under two windows."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncIterator
from time import time
from typing import TYPE_CHECKING, Final, cast

from h2.exceptions import ProtocolError

from whimbrel.http.head import Head
from whimbrel.http.http2 import Reset, answer_fields
from whimbrel.numbers import decimal, is_digits
from whimbrel.request.answer import Answer
from whimbrel.request.body import FilePart, RequestBody
from whimbrel.request.record import Connection

if TYPE_CHECKING:
    from whimbrel.server.http2 import Http2Connection

MAX_HEAD: Final = 8192    # bytes of an answer's head that is sure to fit into one frame
READ: Final = 64 * 1024   # bytes of a file that are read at a time, and sent before other streams have their turn


class Stream:
    """One request and its answer.  *gone*: the client will not see the answer; *ended*: its request is complete."""

    __slots__ = ("body", "connection", "ended", "gone", "head", "number", "received", "room", "task")

    def __init__(self, number: int, connection: Connection, head: Head, body: RequestBody) -> None:
        self.number, self.connection, self.head, self.body = number, connection, head, body
        self.gone = self.ended = False
        self.received = 0
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
        session.took(self._stream, len(data))
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

    def send(self, stream: Stream, answer: Answer) -> None:
        """Send *answer*: at once what has room, the rest as the client takes it."""
        if stream.gone:
            self._drop(stream, answer)
            return
        fields = answer_fields(answer.before, self.session.service.date_field(), answer.after)
        parts = answer.parts
        if answer.stream is None and not any(isinstance(part, FilePart) for part in parts):
            body = b"".join(cast(list[bytes], parts))
            self.wire.send_headers(stream.number, fields, end_stream=not body)
            count = self._now(stream, body)
            if count == len(body):
                self.finish(stream, answer, count)
                return
            answer.parts = [body[count:]]
        else:
            count = 0
            self.wire.send_headers(stream.number, fields, end_stream=False)
        stream.task = self.session.service.loop.create_task(self._rest(stream, answer, count))

    def whole(self, stream: Stream, answer: Answer) -> bytes:
        """The frames of an answer on a stream that the h2 package knows nothing of, and the end of it; b"" where it needs one."""
        parts, wire = answer.parts, self.wire
        if answer.stream is not None or self.padding or len(answer.after) + len(answer.before) > MAX_HEAD:
            return b""
        if any(isinstance(part, FilePart) for part in parts):
            return b""
        body = b"".join(cast(list[bytes], parts))
        if not wire.room(len(body)) or len(body) > self.largest:
            return b""
        block = wire.block(answer_fields(answer.before, self.session.service.date_field(), answer.after))
        frames = wire.answer(stream.number, block, body)
        self.finish(stream, answer, len(body))
        return frames

    def _now(self, stream: Stream, body: bytes) -> int:
        """Send what has room of a whole body; how many bytes that is."""
        at = 0
        while at < len(body):
            size = self.fits(stream.number, len(body) - at)
            if not size or self.session.paused:
                break
            self.frame(stream.number, body[at:at + size] if at or size < len(body) else body, end=at + size == len(body))
            at += size
        return at

    def fits(self, number: int, size: int) -> int:
        """How much of *size* bytes the next frame may have."""
        room = min(self.wire.local_flow_control_window(number), self.wire.max_outbound_frame_size)
        return min(size, self.largest, room - (self.padding + 1 if self.padding else 0))

    def frame(self, number: int, data: bytes, *, end: bool) -> None:
        """One DATA frame, padded as H2Padding wants it."""
        self.wire.send_data(number, data, end_stream=end, pad_length=random.randrange(self.padding + 1) if self.padding else None)

    async def _rest(self, stream: Stream, answer: Answer, count: int) -> None:
        """What can't be sent at once; a failure resets the stream, so that the client sees that something is missing."""
        session = self.session
        try:
            async for piece in _pieces(answer):
                count += await self._piece(stream, piece)
                if stream.gone:
                    break
                await asyncio.sleep(0)
            if not stream.gone:
                self.wire.end_stream(stream.number)
        except Exception as problem:
            if not isinstance(problem, (ProtocolError, ConnectionError)):
                session.service.report(problem)
            if not stream.gone:
                stream.connection.aborted = True
                session.reset(stream.number, Reset.INTERNAL_ERROR)
        finally:
            await _close(answer)
        self.finish(stream, answer, count)
        session.flush()

    async def _piece(self, stream: Stream, piece: bytes) -> int:
        session, at = self.session, 0
        while at < len(piece) and not stream.gone:
            size = self.fits(stream.number, len(piece) - at)
            if session.paused:
                session.drained = session.drained or session.service.loop.create_future()
                await asyncio.shield(session.drained)
            elif size > 0:
                self.frame(stream.number, piece[at:at + size], end=False)
                at += size
            else:
                await self._room(stream)
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

    def _drop(self, stream: Stream, answer: Answer) -> None:
        stream.task = self.session.service.loop.create_task(self._dropped(stream, answer))

    async def _dropped(self, stream: Stream, answer: Answer) -> None:
        await _close(answer)
        self.finish(stream, answer, 0)

    def finish(self, stream: Stream, answer: Answer, count: int) -> None:
        """The answer is out as far as it goes: log it and go on."""
        service, request = self.session.service, answer.request
        if request.header_only and request.status == 200:
            length = request.headers_out.get("Content-Length") or ""
            count = decimal(length) if is_digits(length) else count  # as httpd counts it: the body that was not sent
            request.outside()
        stream.connection.ending = False  # it was set so that the answer counts as a connection's last; it may still be kept
        service.requests += 1
        service.sent += count
        service.duration += max(0.0, time() - answer.begun) * 1000.0
        try:
            answer.sent(count)
        except Exception as problem:
            service.report(problem)
        self.session.done(stream)


async def _pieces(answer: Answer) -> AsyncIterator[bytes]:
    """The body of an answer in pieces of moderate size."""
    for part in answer.parts:
        if isinstance(part, FilePart):
            at = 0
            while at < part.length:
                data = os.pread(part.handle, min(READ, part.length - at), part.offset + at)
                if not data:
                    raise ConnectionError("the file became shorter")
                at += len(data)
                yield data
        else:
            for start in range(0, len(part), READ):
                yield part[start:start + READ]
    if answer.stream is not None:
        async for data in answer.stream:
            if data:
                yield data


async def _close(answer: Answer) -> None:
    """Give back what an answer holds."""
    for part in answer.parts:
        if isinstance(part, FilePart):
            os.close(part.handle)
    close = getattr(answer.stream, "aclose", None)
    if close is not None:
        await close()
