"""One HTTP/2 connection: frames in, requests to the engine, responses out under the client's flow control.

`Http1Connection` hands a connection over when it begins with the preface or after a 101 response; TLS may do
so after its handshake. Streams that wait are served concurrently; a response that needs no waiting is sent
immediately.

Memory is bounded: by the number of streams and running requests, their windows, the size of a field block,
and by pausing reads while the client does not read. Each tick does a bounded amount of work for a connection.
The rest of its input waits for a later tick, in a queue with the other connections of the worker.

RFC 9113; manual: mod/mod_http2.html.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, Final

from whimbrel.engine.abandon import abandon, close_sources, failed_response
from whimbrel.engine.coroutines import drive
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.request import Connection
from whimbrel.engine.response import Response
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.http2.connection import ServerH2Connection
from whimbrel.http.http2.hpack import MAX_SENT_LIST, FieldBlock
from whimbrel.http.http2.protocol import (
    ConnectionFault,
    ErrorCode,
    MalformedRequest,
    check_trailers,
    client_settings,
    read_request,
    upgraded,
)
from whimbrel.http.http2.websocket import KEY, is_extended_connect, read_extended
from whimbrel.http.syntax.head import Head
from whimbrel.http.syntax.line_reader import LogMessage
from whimbrel.server.http2.cached_responses import CachedResponder
from whimbrel.server.http2.push import Pusher
from whimbrel.server.http2.security import is_suitable
from whimbrel.server.http2.sender import Sender
from whimbrel.server.http2.stream import Stream, StreamBody, TunnelBody, stream_connection
from whimbrel.server.worker.cancellation import cancel
from whimbrel.server.worker.scoreboard import connection_row, shown_host
from whimbrel.server.worker.state import FOREVER, ListenerConfig, TimedConnection, WorkerState

WRITE_AHEAD: Final = 64 * 1024  # bytes that wait for the client before reading and sending pause
LINGER: Final = 2.0  # seconds between the end of our side of the connection and the client's
MAX_WORK: Final = 256  # units of `wire.work` in one tick
MAX_BEGUN: Final = 8  # requests that are passed to the engine in one tick
ROUND_SHARE: Final = 0.25  # of the worker's round, after which no further one is passed in this tick
MAX_HELD: Final = 256 * 1024  # bytes of response bodies that wait, before further requests wait too
FIRST_PENDING: Final = 6  # initial limit of requests that wait for their handlers (mod_http2's)
MAX_HEADS: Final = 384 * 1024  # bytes of request heads, before further requests are refused
MAX_RESETS: Final = 1000  # streams that ended before their response, beyond those that got one
CANCEL_DELAY: Final = 0.5  # seconds that a request has to end with an unreadable body


class Http2Connection(asyncio.Protocol, TimedConnection):
    """Protocol of one connection; *settings* is mod_http2's record of the default server of its address."""

    def __init__(
        self,
        service: WorkerState,
        transport: asyncio.Transport,
        connection: Connection,
        listener: ListenerConfig,
        settings: Any,
    ) -> None:
        TimedConnection.__init__(self)
        self.service = service
        self.transport = transport
        self.connection = connection
        self.listener = listener
        self.settings = settings
        self.wire: ServerH2Connection[Stream] = ServerH2Connection(
            self, settings.max_streams, settings.window
        )
        self.wire.encoder.limit = settings.max_head or MAX_SENT_LIST
        self.wire.max_errors = settings.max_errors
        self.wire.takes_protocols = settings.websockets
        self.streams = self.wire.streams
        self.running = 0  # requests that are worked on, including those of reset streams
        self.waiting = 0  # streams that wait for the client: for its window or its body
        self.paused = False
        self.leaving = False
        self.ended = False
        self.drained: asyncio.Future[None] | None = None
        self.served = 0
        self.resets = 0
        self.held = 0
        self.heads = 0
        self.pending = 0
        self.max_pending = FIRST_PENDING
        self.pusher, self.sender = Pusher(self), Sender(self)
        self.cached = CachedResponder(self)
        connection.served = 1
        connection.is_draining = False
        self._begun: deque[Stream] = deque()  # requests that were not passed to the engine yet
        self._input = b""  # received bytes that were not processed yet
        self._has_preface = False
        self._has_tick = False
        self._has_window = False
        self._is_reading = True
        self._turns = 0

    # the connection -----------------------------------------------------------------------------
    def start(self, data: bytes) -> None:
        """Begin with *data*, which starts with the client's preface."""
        self.transport.set_write_buffer_limits(high=WRITE_AHEAD)
        self.service.connections.add(self)
        self.wire.begin()
        if self.settings.modern_tls_only and not is_suitable(self.connection.tls):
            return self.close(ErrorCode.INADEQUATE_SECURITY)
        self.data_received(data)

    def start_upgraded(self, head: Head, data: bytes) -> None:
        """Begin after a 101 response to *head*, which becomes stream 1; *data* is what followed it."""
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
        self._has_window = True  # tunnels that waited go on
        self._wake()
        self._schedule_tick()
        self.set_deadline()

    def _wake(self) -> None:
        drained, self.drained = self.drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    @property
    def is_full(self) -> bool:
        """True if the client has to take data before more is sent."""
        return self.paused or len(self.wire.out) + self.transport.get_write_buffer_size() > WRITE_AHEAD

    async def drain_output(self) -> None:
        """Wait until the client may have taken data."""
        if self.paused:
            self.drained = self.drained or self.service.loop.create_future()
            await asyncio.shield(self.drained)
        else:
            await asyncio.sleep(0)

    # input --------------------------------------------------------------------------------------
    def data_received(self, data: bytes) -> None:
        if self.ended:
            return
        self._input = self._input + data if self._input else data
        if self._has_tick:
            self._read_on(wanted=False)
        else:
            self.resume()

    def _schedule_tick(self) -> None:
        if not self._has_tick:
            self._has_tick = True
            self.service.postpone(self)

    def resume(self) -> None:
        """Do the work of one tick, and schedule another one if work remains."""
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
            self.pusher.begin()
            for stream in list(self.streams.values()):
                stream.wake()
        self._read_on(wanted=not more)
        self.flush()
        # a transport that is full may empty in this tick: it pauses and resumes this protocol only otherwise
        if more or (self._begun and (self._may_begin or (self.is_full and not self.paused))):
            self._schedule_tick()

    def _read_on(self, *, wanted: bool) -> None:
        """Resume or pause reading from the client."""
        if wanted is not self._is_reading and not self.transport.is_closing():
            self._is_reading = wanted
            (self.transport.resume_reading if wanted else self.transport.pause_reading)()

    def _read_frames(self) -> bool:
        """Process as many frames of the input as one tick may; return True if there are more."""
        wire = self.wire
        data = self._input
        at = 0
        wire.work = 0
        if not self._has_preface:
            at = wire.skip_preface(data, at)
            self._has_preface = wire.has_preface
        size = len(data)
        try:
            while wire.work < MAX_WORK and size - at >= 9 and not self.ended and len(wire.out) < WRITE_AHEAD:
                start = at
                at = self.cached.answer_frames(data, at, MAX_WORK)
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
        """Write the pending frames and renew the deadline."""
        if self.wire.out and not self.ended and not self.transport.is_closing():
            try:
                frames = self.wire.take()
            except MemoryError:  # nothing else may call this: the client would wait
                self.transport.abort()
                raise
            self.transport.write(frames)
        self.set_deadline()

    def set_deadline(self) -> None:
        """Set the deadline: KeepAliveTimeout between requests, Timeout for the client, else none."""
        listener = self.listener
        if self.ended:
            return
        if self.paused or self.waiting or not (self.served or self.is_busy):
            seconds = self.settings.stream_timeout or listener.timeout
        elif self.streams and self.is_busy:
            self.deadline = FOREVER
            return
        else:
            seconds = listener.keep_alive
        self.deadline = self.service.clock + seconds

    @property
    def is_busy(self) -> bool:
        """True if a stream is open, other than promised ones that the client does not let respond."""
        return len(self.streams) > len(self.pusher.waiting)

    def on_window(self) -> None:
        """Note that the client takes more: what waits for that is woken once, at the end of the tick."""
        self._has_window = True

    def on_goaway(self) -> None:
        """Close the connection after the last stream, since the client opens no more."""
        self.leaving = True
        if not self.is_busy:
            self.close()

    # requests -----------------------------------------------------------------------------------
    def on_request(self, number: int, block: FieldBlock, *, ended: bool) -> None:
        """Accept a request with a complete head; *ended* if it has no body."""
        most = self.settings.max_streams
        if self.leaving or self.running >= most or self.wire.requests >= most or self.heads > MAX_HEADS:
            self._refuse(number, ErrorCode.REFUSED_STREAM)
            return
        raw = block.raw_head(self.wire.takes_push) if ended else b""
        if raw and self.cached.answer(number, raw):
            return
        limits = self.listener.limits
        rules = self.listener.rules
        is_extended = self.wire.takes_protocols and is_extended_connect(block.fields)
        try:
            if is_extended:
                head = read_extended(block.fields, limits, rules)
            else:
                head = read_request(block.fields, limits, rules, raw=raw, ended=ended)
        except MalformedRequest as problem:
            self._log_reasons(number, problem.reasons)
            self._refuse(number, problem.code)
            return
        if head.error is not None:
            self._log_reasons(number, head.error.reasons)
            head.error = replace(head.error, reasons=())
        if ended and head.length:
            self._refuse(number, ErrorCode.PROTOCOL_ERROR)
            return
        self.wire.idle = 0
        kind = TunnelBody if is_extended else StreamBody
        body = RequestBody(0) if ended else kind(head.length, self, number)
        stream = self._stream(number, head, body, ended=ended)
        if is_extended and head.error is None:
            stream.key = head.headers.get(KEY) or ""
        stream.head_size = block.size
        stream.tick = self._turns
        self.heads += block.size
        self._begun.append(stream)

    def _tag(self, number: int) -> str:
        return f"{self.service.engine.runtime.pid}-{self.connection.id}-{number}"

    def _log_reasons(self, number: int, reasons: Iterable[LogMessage]) -> None:
        """Log why the head of a stream is refused, as lines about the connection."""
        for reason in reasons:
            text = f"h2_stream({self._tag(number)},IDLE): {reason.text}"
            line = LogLine(reason.level, text, reason.code, reason.module)
            self.service.engine.log_connection(self.connection, self.listener.server, line)

    def _refuse(self, number: int, code: ErrorCode) -> None:
        self.wire.reset(number, code)
        self._count_reset()

    def _count_reset(self) -> None:
        self.resets += 1
        if self.resets > MAX_RESETS:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM)

    @property
    def _may_begin(self) -> bool:
        """True if another request may be started: the client takes the responses so far."""
        return self.held < MAX_HELD and self.pending < self.max_pending and not self.is_full

    def _begin_some(self, *, more: bool) -> None:
        """Start requests that have arrived, except those that the client has reset.

        If *more* input is pending, requests of this tick wait for the next one: a pending frame may reset
        them.
        """
        begun = self._begun
        left = MAX_BEGUN
        end = monotonic() + ROUND_SHARE * self.service.round
        while begun and left and self._may_begin and not self.ended and monotonic() < end:
            if more and begun[0].tick == self._turns:
                break
            stream = begun.popleft()
            left -= 1
            self._respond(stream)

    def open_promised(self, number: int, head: Head, parent: Stream) -> Stream:
        """Return the stream *number*, which was promised on *parent* for the request *head*."""
        stream = self._stream(number, head, RequestBody(0), ended=True)
        stream.parent = parent
        stream.connection.notes["http2-pushed-on"] = str(parent.number)
        return stream

    def begin_promised(self, stream: Stream) -> None:
        """Pass the request of a promised stream to the engine soon."""
        stream.tick = self._turns
        self._begun.append(stream)
        self._schedule_tick()

    def _stream(self, number: int, head: Head, body: RequestBody, *, ended: bool) -> Stream:
        received = self.wire.head_received if number & 1 and head.error is None else 0
        tag = self._tag(number)
        push = self.pusher.note(head)
        connection = stream_connection(self.connection, number, tag, push, received)
        self.running += number & 1
        stream = Stream(number, connection, head, body, ended=ended)
        connection.send_interim = partial(self.sender.interim, stream)
        self.wire.open(stream)
        return stream

    def _respond(self, stream: Stream) -> None:
        stream.connection.notes.pop("switched-to", None)
        try:
            response = self.service.engine.respond(stream.connection, stream.head, stream.body)
        except Exception as problem:
            if stream.connection.open_sources:
                stream.task = self.service.loop.create_task(close_sources(stream.connection))
            self._failed(stream, problem)
            return
        if isinstance(response, Response):
            self.sender.send(stream, response)
        else:
            self.pending += 1
            stream.task = drive(response, self.service.loop, partial(self._responded, stream))

    def _responded(self, stream: Stream, response: Response | None, problem: BaseException | None) -> None:
        """Send a response that the engine had to wait for; a connection that cannot be written ends."""
        if response is not None:
            try:
                self._adapt_pending()
                self.sender.send(stream, response)
                self.flush()
            except Exception as failure:
                self.service.report(failure)
                self.transport.abort()
        else:
            stream.task = self.service.loop.create_task(self._ended_without_response(stream, problem))

    async def _ended_without_response(self, stream: Stream, problem: BaseException | None) -> None:
        self._adapt_pending()
        if isinstance(problem, Exception):
            await close_sources(stream.connection)
            self._failed(stream, problem)
        else:  # cancelled
            self.sender.finish(stream, await abandon(stream.connection), 0)
        self.flush()

    def _adapt_pending(self) -> None:
        """Adapt the limit of running handlers when one has ended.

        Responses are in memory before the client takes them, so a client that does not read gets few.
        """
        self.pending -= 1
        self.max_pending = (
            FIRST_PENDING if self.held else min(2 * self.max_pending, self.settings.max_streams)
        )
        if self._begun:
            self._schedule_tick()

    def _failed(self, stream: Stream, problem: BaseException) -> None:
        """Respond with a 500 without a body after an internal error, and log both."""
        self.service.report(problem)
        stream.connection.send_interim = None
        if not stream.gone:
            self.wire.send_head(stream, self.wire.encoder.encode([(b":status", b"500")]), end=True)
        response = failed_response(stream.connection)
        if response is not None:
            self.sender.finish(stream, response, 0)
        else:
            self.served += 1
            self.done(stream)

    def send_continue(self, number: int) -> None:
        """Send 100 Continue to a client that waits for it before it sends its body."""
        stream = self.streams.get(number)
        if stream is not None and stream.head.expect_continue and stream.connection.send_interim is not None:
            stream.connection.send_interim(100, (), None)

    # bodies -------------------------------------------------------------------------------------
    def on_data(self, stream: Stream, data: bytes) -> None:
        """Pass data of a request body to its reader, or to the protocol that has taken the stream over."""
        stream.received += len(data)
        if stream.tunnel is not None:
            stream.tunnel.receive(data, ended=stream.ended)
            return
        length = stream.head.length
        if length is not None and (stream.received > length or (stream.ended and stream.received != length)):
            self._end(stream, ErrorCode.PROTOCOL_ERROR)
            return
        if data:
            stream.body.feed(data)
        if stream.ended:
            stream.body.end()

    def release_window(self, number: int, size: int) -> None:
        """Open the window of a stream by *size* bytes of its body that were read."""
        stream = self.streams.get(number)
        if size and stream is not None and not self.ended:
            self.wire.consume(stream, size)

    def on_trailers(self, stream: Stream, block: FieldBlock) -> None:
        """End a request body at its trailers."""
        try:
            check_trailers(block.fields, stream.received, is_announced=stream.head.length is not None)
        except MalformedRequest as problem:
            self._end(stream, problem.code)
        else:
            self.on_data(stream, b"")

    # the end of streams -------------------------------------------------------------------------
    def _end(self, stream: Stream, code: ErrorCode) -> None:
        """Reset a stream because of a fault of the client."""
        self.wire.reset(stream.number, code)
        self.on_broken(stream)

    def on_broken(self, stream: Stream) -> None:
        """Drop a stream on which the client has violated the protocol."""
        self.forget(stream)
        self._count_reset()

    def on_reset(self, stream: Stream) -> None:
        """Drop a stream that the client has reset; it may refuse any promised one."""
        self.forget(stream)
        if stream.number & 1:
            self._count_reset()
        if self.leaving and not self.is_busy:
            self.close()

    def forget(self, stream: Stream) -> None:
        """Detach *stream*, whose response the client will not see; its reader or writer fails later."""
        stream.gone = True
        stream.connection.aborted = True
        stream.connection.send_interim = None
        if stream in self._begun:
            self._begun.remove(stream)
            self._account_end(stream)  # now: a request in the same piece of data may take its place
        elif not stream.number & 1:
            self.pusher.forget(stream)
        if isinstance(stream.body, StreamBody):
            self.wire.consume(stream, stream.body.buffered)
        self.wire.drop(stream)
        delay = 0.0
        if not stream.body.ended:
            delay = CANCEL_DELAY
            stream.body.fail(BodyError(400, LogMessage("", "", "", "(104)Connection reset by peer")))
        if stream.tunnel is not None:
            stream.tunnel.detach(ConnectionResetError())
        stream.wake()
        stream.unlink()
        if stream.task is not None:
            cancel(stream.task, self.service.loop, delay)

    def _account_end(self, stream: Stream) -> None:
        """Account for the end of a request that was to be passed to the engine."""
        if stream.number & 1:
            self.running -= 1
            self.heads -= stream.head_size
        else:
            self.pusher.end()

    def done(self, stream: Stream) -> None:
        """Close a stream whose response was sent or has failed."""
        self._account_end(stream)
        for name, value in stream.connection.notes.items():
            if name[:6] != "http2-":
                self.connection.notes[name] = value
        if self._begun:  # also after a reset: what it has held back may begin
            self._schedule_tick()
        if stream.gone:
            return
        self.resets = max(0, self.resets - 1)
        self.release_window(stream.number, stream.body.buffered)
        if stream.ended:
            self.wire.drop(stream)
        else:
            self.wire.reset(stream.number, ErrorCode.NO_ERROR)
        if self.leaving and not self.is_busy:
            self.close()

    # ends ---------------------------------------------------------------------------------------
    def close(self, code: ErrorCode = ErrorCode.NO_ERROR, *, text: bytes = b"") -> None:
        """Send GOAWAY and close our side; the client has `LINGER` seconds to read it."""
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
        """Handle a timeout: fail awaited bodies, reset streams that wait for a window, or close if idle."""
        self.deadline = FOREVER
        if self.ended or self.paused:
            self.transport.abort()
            return
        late = [stream for stream in self.streams.values() if stream.waits]
        for stream in late:
            if stream.tunnel is None and stream.room is None and not stream.body.ended:
                stream.body.fail(
                    BodyError(408, LogMessage("", "", "", "(70007)The timeout specified has expired"))
                )
            else:
                self.wire.reset(stream.number, ErrorCode.CANCEL)
                self.forget(stream)
        if late:
            self.flush()
        elif not self.is_busy:
            self.close(text=b"timeout")

    def drain(self) -> None:
        """Refuse further streams, close after the last; the client repeats them (RFC 9113, 6.8)."""
        if not self.leaving and not self.ended:
            self.leaving = True
            if self.is_busy:
                self.wire.farewell(ErrorCode.NO_ERROR)
                self.flush()
            else:
                self.close()

    def close_now(self) -> None:
        """Drain the connection: running requests may end. If none runs, close it: GOAWAY is sent."""
        self.drain()
        if self.ended:
            self.transport.close()

    def scoreboard_row(self) -> dict[str, Any]:
        last = next(reversed(self.streams.values()), None)
        head = last.head if last is not None else None
        if self.running:
            state = "W"
        elif self.ended:
            state = "C"
        else:
            state = "K"
        return connection_row(
            state,
            self.connection.client_ip,
            "http/2",
            head.line or "" if head is not None else "",
            shown_host(self.service.engine, self.connection, head),
            self.served,
            tail=self.service.shows_request_tail,
        )
