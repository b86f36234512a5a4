"""One HTTP/2 connection: frames in, requests to the engine, answers out under the client's flow control.

`HttpProtocol` hands a connection over when it begins with the preface or after an answer of 101; TLS may do so after its handshake.  Streams are
answered side by side where they wait; an answer that needs no waiting is sent at once.  Memory is bounded: by the number of streams and of requests
still worked on, their windows, the size of a block of fields, and by reading nothing while the client does
not read.  A turn of the loop does a bounded amount of work for a connection; what is left of its input waits
for the next one.

RFC 9113; manual: mod/mod_http2.html.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from typing import Any, Final

from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.request import Connection
from whimbrel.engine.response import Response
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.http2.connection import ServerH2Connection
from whimbrel.http.http2.hpack import FieldBlock
from whimbrel.http.http2.protocol import (
    ConnectionFault,
    ErrorCode,
    LogMessage,
    MalformedRequest,
    RawField,
    check_trailers,
    client_settings,
    read_request,
    upgraded,
)
from whimbrel.http.syntax.head import Head
from whimbrel.server.http2.cache_path import CachedResponder
from whimbrel.server.http2.sender import Sender
from whimbrel.server.http2.stream import Stream, StreamBody
from whimbrel.server.worker.scoreboard import connection_row
from whimbrel.server.worker.state import FOREVER, ListenerConfig, TimedConnection, WorkerState

WRITE_AHEAD: Final = 64 * 1024  # bytes that wait for the client before nothing more is read or sent
LINGER: Final = 2.0  # seconds between our end of the connection and the client's
MAX_WORK: Final = 256  # units of `Wire.work` in one turn of the loop
MAX_BEGUN: Final = 8  # requests of one turn that the engine works on
MAX_HELD: Final = 256 * 1024  # bytes of response bodies that wait, before further requests wait too
FIRST_PENDING: Final = 6  # requests that wait for their handlers at one time, at first (mod_http2's limit)
MAX_HEADS: Final = 384 * 1024  # bytes of the heads of requests, before further ones are refused
MAX_RESETS: Final = 1000  # streams that ended before their answer, beyond those that got one
CONTINUE: Final[list[RawField]] = [(b":status", b"100")]


class Http2Connection(asyncio.Protocol, TimedConnection):
    """See the module.  *settings* is mod_http2's record of the server that the connection's address belongs to."""

    def __init__(
        self,
        service: WorkerState,
        transport: asyncio.Transport,
        connection: Connection,
        listener: ListenerConfig,
        settings: Any,
        *,
        tls: bool = False,
    ) -> None:
        TimedConnection.__init__(self)
        self.service, self.transport, self.connection, self.listener, self.settings, self.tls = (
            service,
            transport,
            connection,
            listener,
            settings,
            tls,
        )
        self.wire: ServerH2Connection[Stream] = ServerH2Connection(
            self, settings.max_streams, settings.window
        )
        self.streams = self.wire.streams
        self.running = 0  # requests that are worked on, those of streams that are gone included
        self.waiting = 0  # streams that wait for the client: for its window or its body
        self.paused = self.leaving = self.ended = False
        self.drained: asyncio.Future[None] | None = None
        self.answered = self.resets = self.held = self.heads = self.pending = 0
        self.max_pending = FIRST_PENDING
        self.sender = Sender(self)
        self.repeater = CachedResponder(self, self.sender)
        connection.served = 1
        connection.is_draining = False
        self._begun: deque[Stream] = deque()  # requests that the engine has not seen yet
        self._input = b""  # what has arrived and was not worked on yet
        self._has_preface = self._has_tick = self._has_window = False
        self._is_reading, self._turns = True, 0

    # the connection -------------------------------------------------------------------------------------------------------------------------------
    def start(self, data: bytes) -> None:
        """Begin with *data*, which starts with the client's preface."""
        self.transport.set_write_buffer_limits(high=WRITE_AHEAD)
        self.service.connections.add(self)
        self.wire.begin()
        self.data_received(data)

    def start_upgraded(self, head: Head, data: bytes) -> None:
        """Begin after an answer of 101 to *head*, which becomes stream 1; *data* is what came behind it."""
        self.transport.set_write_buffer_limits(high=WRITE_AHEAD)
        self.service.connections.add(self)
        payload = client_settings(head.headers.get("HTTP2-Settings") or "")
        self.wire.begin()
        try:
            if payload is None:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR)
            self.wire.apply(payload)
        except ConnectionFault as fault:
            self.close(fault.code)
            return
        self.wire.highest = 1
        self._respond(self._stream(1, upgraded(head, self.listener.rules), RequestBody(0), ended=True))
        self.data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        self.deadline = FOREVER
        for stream in list(self.streams.values()):
            self.forget(stream)
        self._input = b""
        self._wake()
        self.service.remove(self)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self.paused = True
        self._read_on(wanted=False)
        self.set_deadline()

    def resume_writing(self) -> None:
        self.paused = False
        self._wake()
        self._schedule_tick()
        self.set_deadline()

    def _wake(self) -> None:
        drained, self.drained = self.drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    @property
    def is_full(self) -> bool:
        """True if the client has to take something before more is sent."""
        return self.paused or len(self.wire.out) + self.transport.get_write_buffer_size() > WRITE_AHEAD

    async def drain_output(self) -> None:
        """Wait until the client may have taken something."""
        if self.paused:
            self.drained = self.drained or self.service.loop.create_future()
            await asyncio.shield(self.drained)
        else:
            await asyncio.sleep(0)

    # what arrives ---------------------------------------------------------------------------------------------------------------------------------
    def data_received(self, data: bytes) -> None:
        if self.ended:
            return
        self._input = self._input + data if self._input else data
        if not self._has_tick:
            self._tick()

    def _schedule_tick(self) -> None:
        if not self._has_tick:
            self._has_tick = True
            self.service.loop.call_soon(self._tick)

    def _tick(self) -> None:
        """Do the work of one turn of the loop, and have another one where more is to be done."""
        self._has_tick = False
        if self.ended or self.paused:
            return
        try:
            self._turns += 1
            more = self._read_frames()
            self._begin_some(more=more)
        except ConnectionFault as fault:
            self.close(fault.code)
            return
        except Exception as problem:
            self.service.report(problem)
            self.transport.abort()
            return
        if self._has_window:
            self._has_window = False
            for stream in list(self.streams.values()):
                stream.wake()
        self._read_on(wanted=not more)
        self.flush()
        if more or (self._begun and self._may_begin):
            self._schedule_tick()

    def _read_on(self, *, wanted: bool) -> None:
        """Read from the client, or stop that."""
        if wanted is not self._is_reading and not self.transport.is_closing():
            self._is_reading = wanted
            (self.transport.resume_reading if wanted else self.transport.pause_reading)()

    def _read_frames(self) -> bool:
        """Take frames from the input, as many as one turn may; True if there are more."""
        wire, data, at = self.wire, self._input, 0
        wire.work = 0
        if not self._has_preface:
            at = wire.skip_preface(data, at)
            self._has_preface = wire.has_preface
        size = len(data)
        try:
            while wire.work < MAX_WORK and size - at >= 9 and not self.ended and len(wire.out) < WRITE_AHEAD:
                start = at
                at = self.repeater.fast_path(data, at, MAX_WORK)
                if at > start:
                    continue
                end = wire.frame_end(data, at)
                if end > size:
                    return False
                wire.receive(data, at, end)
                at = end
            return size - at >= 9 and size >= wire.frame_end(data, at)
        finally:
            self._input = data[at:] if not self.ended else b""

    def flush(self) -> None:
        """Write what there is to write, and see how long the client may take from here on."""
        if self.wire.out and not self.ended and not self.transport.is_closing():
            self.transport.write(self.wire.take())
        self.set_deadline()

    def set_deadline(self) -> None:
        """Between requests the keep-alive time, while something depends on the client Timeout, else no end."""
        listener = self.listener
        if self.ended:
            return
        if self.paused or self.waiting or not (self.answered or self.streams):
            seconds = self.settings.stream_timeout or listener.timeout
        elif self.streams:
            self.deadline = FOREVER
            return
        else:
            seconds = listener.keep_alive
        self.deadline = self.service.clock + seconds

    def on_window(self) -> None:
        """Streams that wait for a window go on at the end of the turn, once for all frames in it."""
        self._has_window = True

    def on_goaway(self) -> None:
        """The client opens no more streams: the connection ends with the last one."""
        self.leaving = True
        if not self.streams:
            self.close()

    # requests -------------------------------------------------------------------------------------------------------------------------------------
    def on_request(self, number: int, block: FieldBlock, *, ended: bool) -> None:
        """A request whose head is complete; *ended*: so is the request."""
        most = self.settings.max_streams
        if self.leaving or self.running >= most or len(self.streams) >= most or self.heads > MAX_HEADS:
            self._refuse(number, ErrorCode.REFUSED_STREAM)
            return
        raw = block.raw_head(self.wire.takes_push) if ended else b""
        if raw and self.repeater.try_cache(number, raw):
            return
        try:
            head = read_request(block.fields, self.listener.limits, self.listener.rules, raw=raw, ended=ended)
        except MalformedRequest as problem:
            self._refuse(number, problem.code)
            return
        if ended and head.length:
            self._refuse(number, ErrorCode.PROTOCOL_ERROR)
            return
        self.wire.idle = 0
        body = RequestBody(0) if ended else StreamBody(head.length, self, number)
        stream = self._stream(number, head, body, ended=ended)
        stream.head_size, stream.tick = block.size, self._turns
        self.heads += block.size
        self._begun.append(stream)

    def _refuse(self, number: int, code: ErrorCode) -> None:
        self.wire.reset(number, code)
        self._count_reset()

    def _count_reset(self) -> None:
        self.resets += 1
        if self.resets > MAX_RESETS:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM)

    @property
    def _may_begin(self) -> bool:
        """True if another request may be worked on: the client takes what it has got so far."""
        return self.held < MAX_HELD and self.pending < self.max_pending and not self.is_full

    def _begin_some(self, *, more: bool) -> None:
        """Work on requests that have arrived, but not on those that the client has taken back.

        Where there is *more* input, a request of this turn waits for the next one: the frame behind it may
        take it back.
        """
        begun, left = self._begun, MAX_BEGUN
        while begun and left and self._may_begin and not self.ended:
            if more and begun[0].tick == self._turns:
                break
            stream = begun.popleft()
            left -= 1
            self._respond(stream)

    def _stream(self, number: int, head: Head, body: RequestBody, *, ended: bool) -> Stream:
        one, service = self.connection, self.service
        tag = f"{service.engine.runtime.pid}-{one.id}-{number}"
        push = "on" if self.settings.push and self.wire.takes_push else "off"
        notes = {**one.notes, "http2-id": str(number), "http2-tag": tag, "http2-push": push}
        connection = Connection(
            one.client_ip,
            one.client_port,
            one.local_ip,
            one.local_port,
            served=1,
            id=one.id,
            is_draining=True,
            notes=notes,
        )
        self.running += 1
        stream = Stream(number, connection, head, body, ended=ended)
        self.wire.open(stream)
        return stream

    def _respond(self, stream: Stream) -> None:
        stream.connection.notes.pop("switched-to", None)
        try:
            answer = self.service.engine.respond(stream.connection, stream.head, stream.body)
        except Exception as problem:
            self._failed(stream, problem)
            return
        if isinstance(answer, Response):
            self.sender.send(stream, answer)
        else:
            self.pending += 1
            stream.task = self.service.loop.create_task(self._later(stream, answer))

    async def _later(self, stream: Stream, waiting: Awaitable[Response]) -> None:
        try:
            answer = await waiting
        except Exception as problem:
            self._failed(stream, problem)
        else:
            self.sender.send(stream, answer)
        finally:
            self._adapt_pending()
        self.flush()

    def _adapt_pending(self) -> None:
        """A handler has ended: a client that takes all responses may have twice as many at work.

        Responses are in memory before the client takes them, so one that does not read gets few.
        """
        self.pending -= 1
        self.max_pending = (
            FIRST_PENDING if self.held else min(2 * self.max_pending, self.settings.max_streams)
        )
        if self._begun:
            self._schedule_tick()

    def _failed(self, stream: Stream, problem: BaseException) -> None:
        """A fault of the server's own: the client gets a 500 without a body."""
        self.service.report(problem)
        if not stream.gone:
            self.wire.send_head(stream.number, self.wire.encoder.encode([(b":status", b"500")]), end=True)
        self.done(stream)

    def interim(self, number: int) -> None:
        """Send 100 Continue to a client that waits for it before it sends its body."""
        stream = self.streams.get(number)
        if stream is not None and not stream.gone and stream.head.expect_continue:
            stream.head.expect_continue = False
            self.wire.send_head(number, self.wire.encoder.encode(CONTINUE), end=False)
            self.flush()

    # bodies ---------------------------------------------------------------------------------------------------------------------------------------
    def on_data(self, stream: Stream, data: bytes) -> None:
        """Bytes of a body, perhaps the last ones."""
        stream.received += len(data)
        length = stream.head.length
        if length is not None and (stream.received > length or (stream.ended and stream.received != length)):
            self._end(stream, ErrorCode.PROTOCOL_ERROR)
            return
        if data:
            stream.body.feed(data)
        if stream.ended:
            stream.body.end()

    def release_window(self, number: int, size: int) -> None:
        """*size* bytes of a body were read: the client may send as many again."""
        stream = self.streams.get(number)
        if size and stream is not None and not self.ended:
            self.wire.consume(stream, size)

    def on_trailers(self, stream: Stream, block: FieldBlock) -> None:
        """The end of a body."""
        try:
            check_trailers(block.fields)
        except MalformedRequest as problem:
            self._end(stream, problem.code)
        else:
            self.on_data(stream, b"")

    # the end of streams ---------------------------------------------------------------------------------------------------------------------------
    def _end(self, stream: Stream, code: ErrorCode) -> None:
        """End a stream from our side, for what the client did."""
        self.wire.reset(stream.number, code)
        self.on_broken(stream)

    def on_broken(self, stream: Stream) -> None:
        """The client has broken the rules of a stream."""
        self.forget(stream)
        self._count_reset()

    def on_reset(self, stream: Stream) -> None:
        """The client has given up a stream."""
        self.forget(stream)
        self._count_reset()
        if self.leaving and not self.streams:
            self.close()

    def forget(self, stream: Stream) -> None:
        """The client will not see an answer of *stream*; what works on it finds out when it reads or writes."""
        stream.gone = True
        stream.connection.aborted = True
        if stream in self._begun:
            self._begun.remove(stream)
            self.heads -= stream.head_size
            self.running -= 1  # at once: what comes in the same piece of data may have its place
        if isinstance(stream.body, StreamBody):
            self.wire.consume(stream, stream.body.buffered)
        self.wire.drop(stream)
        if not stream.body.ended:
            stream.body.fail(BodyError(400, LogMessage("", "", "", "(104)Connection reset by peer")))
        stream.wake()

    def done(self, stream: Stream) -> None:
        """The answer is out, or can't be sent any further."""
        self.running -= 1
        self.heads -= stream.head_size
        self.answered += 1
        for name, value in stream.connection.notes.items():
            if name[:6] != "http2-":
                self.connection.notes[name] = value
        if stream.gone:
            return
        self.resets = max(0, self.resets - 1)
        self.release_window(stream.number, stream.body.buffered)
        if stream.ended:
            self.wire.drop(stream)
        else:
            self.wire.reset(stream.number, ErrorCode.NO_ERROR)
        if self._begun:
            self._schedule_tick()
        if self.leaving and not self.streams:
            self.close()

    # ends -----------------------------------------------------------------------------------------------------------------------------------------
    def close(self, code: ErrorCode = ErrorCode.NO_ERROR, *, text: bytes = b"") -> None:
        """Say goodbye and close our side; the client has a moment to read it."""
        if self.ended or self.transport.is_closing():
            return
        self.wire.farewell(code, text)
        self.transport.write(self.wire.take())
        self.ended = True
        for stream in list(self.streams.values()):
            self.forget(stream)
        self._read_on(wanted=True)
        if not self.transport.can_write_eof():
            self.transport.close()
            return
        try:
            self.transport.write_eof()
        except OSError:
            self.transport.abort()
        self.deadline = self.service.clock + LINGER

    def expire(self) -> None:
        """The client took too long: what waits for its body is answered, what waits for its window ends, an idle connection is closed."""
        self.deadline = FOREVER
        if self.ended or self.paused:
            self.transport.abort()
            return
        late = [stream for stream in self.streams.values() if stream.waits]
        for stream in late:
            if stream.room is None and not stream.body.ended:
                stream.body.fail(
                    BodyError(408, LogMessage("", "", "", "(70007)The timeout specified has expired"))
                )
            else:
                self.wire.reset(stream.number, ErrorCode.CANCEL)
                self.forget(stream)
        if late:
            self.flush()
        elif not self.streams:
            self.close(text=b"timeout")

    def drain(self) -> None:
        """Take no further streams, and end with the last one; a client asks again elsewhere for what it sent later (RFC 9113, 6.8)."""
        if not self.leaving and not self.ended:
            self.leaving = True
            if self.streams:
                self.wire.farewell(ErrorCode.NO_ERROR)
                self.flush()
            else:
                self.close()

    def close_now(self) -> None:
        """The server stops: what is being answered may end."""
        self.drain()

    def scoreboard_row(self) -> dict[str, Any]:
        """What the scoreboard says about this connection."""
        last = next(reversed(self.streams.values()), None)
        line, vhost = (last.head.line or "", last.head.hostname or "") if last is not None else ("", "")
        state = "W" if self.running else "C" if self.ended else "K"
        return connection_row(
            state,
            self.connection.client_ip,
            "http/2",
            line,
            vhost,
            self.answered,
            tail=self.service.shows_request_tail,
        )
