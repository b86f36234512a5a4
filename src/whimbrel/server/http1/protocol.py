"""One client connection: HTTP/1.0 and 1.1 with keep-alive, pipelining, bodies, lingering close.

The fast path, `_try_cache`, answers complete heads from the response cache by their bytes. All other input
goes through `_process_buffer`, which reads one head and calls the engine.

Responses are sent in the order of the requests. While one is computed or sent, input waits in `_buffer` or
goes to the body, and reading pauses above a bound. Pipelined requests also wait when the client does not
read, or when this tick has no room for more.

RFC 9112; manual: mod/core.html (TimeOut, KeepAlive...).
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from socket import IPPROTO_TCP, TCP_INFO
from typing import TYPE_CHECKING, Final, cast

from whimbrel.engine.abandon import abandon, close_sources
from whimbrel.engine.cache.index import ResponseCache
from whimbrel.engine.coroutines import drive
from whimbrel.engine.input.body import EARLY_BODY_NOTE, RequestBody, invalid_length_body
from whimbrel.engine.output.headers import final_request
from whimbrel.engine.response import Response
from whimbrel.engine.runtime import ScoreboardRow
from whimbrel.http.http1.chunked import BodyError, ChunkedBody, LengthBody
from whimbrel.http.http1.response import interim_bytes
from whimbrel.http.http2.protocol import PREFACE
from whimbrel.http.semantics.headers import Pair
from whimbrel.http.syntax.head import HTTP_1_1, Head, HeadReader, InputState, read_complete
from whimbrel.http.syntax.line_reader import LogMessage
from whimbrel.server.connection.addresses import client_connection
from whimbrel.server.http1.fast_path import FastPath
from whimbrel.server.http1.writer import READY, WRITE_AHEAD, ConnectionState
from whimbrel.server.worker.cancellation import cancel
from whimbrel.server.worker.read_timeout import ReadDeadline, start
from whimbrel.server.worker.scoreboard import connection_row, shown_host
from whimbrel.server.worker.state import FOREVER, WorkerState

if TYPE_CHECKING:
    from whimbrel.server.http2.connection import Http2Connection

MAX_AHEAD: Final = 64 * 1024  # bytes that a client may send ahead of the current response
MAX_BODY_AHEAD: Final = 64 * 1024  # bytes of a body that wait for their reader
SUCCESS: Final = 2  # first digit of statuses
MAX_DISCARD: Final = 16 * 1024 * 1024  # bytes of an unread body up to which the connection stays open
SWITCHING: Final = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
SWITCHED: Final = "switched-to"  # note that core's protocols.py sets
RESET_CHECK: Final = 0.5  # seconds between two checks of a connection that is not read
TCP_CLOSE: Final = 7  # tcpi_state of a connection that was reset
CANCEL_DELAY: Final = 0.5  # seconds that a request has to end with an unreadable body


class HttpProtocol(FastPath):
    """Protocol of a client connection with the general path."""

    __slots__ = (
        "_body",
        "_discarded",
        "_empty",
        "_expects",
        "_body_bytes",
        "_parser",
        "_postponed",
        "_read_deadline",
        "_reader",
        "_has_reset_check",
        "_is_held",
        "_row",
        "_is_poisoned",
    )

    def __init__(self, service: WorkerState) -> None:
        super().__init__(service)
        # reader of an incomplete head; `_buffer` is its data then, a bytearray
        self._reader: HeadReader | None = None
        self._discarded = 0
        self._body_bytes = 0
        self._expects = False
        self._is_held = False
        self._is_poisoned = False
        self._postponed = False
        self._has_reset_check = False
        self._read_deadline: ReadDeadline | None = None
        self._body: RequestBody | None = None
        # shared body of requests without one, as long as it is unchanged
        self._empty: RequestBody | None = None
        self._parser: ChunkedBody | LengthBody | None = None
        self._row: tuple[Head | None, int, ConnectionState, Head | None, ScoreboardRow] | None = None

    # the connection ---------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        connection = client_connection(transport)
        self.connection = connection
        connection.id = self.service.accepted
        connection.send_interim = self._send_interim
        if connection.tls is not None:
            connection.has_pipelined = self._has_pipelined
        self._listener = self.service.listener(self.connection.local_ip, self.connection.local_port)
        self.connection.peeked = self._listener.peeked
        self._index = self.service.engine.response_cache.index(
            self.connection.local_ip, self.connection.local_port, self.connection.tls
        )
        self._by_head = {} if self._listener.announces else self._index.by_head
        self._relays = self.service.engine.relays.table(self.connection)
        self.transport.set_write_buffer_limits(high=WRITE_AHEAD)
        self.service.add(self)
        self._wait(self._listener.timeout)

    def set_proxied(self, address: str, port: int) -> None:
        """Set the client that a PROXY header names; the response cache knows the proxy alone."""
        connection = self.connection
        connection.proxied = (address, port)
        connection.useragent_ip = address
        connection.user_port = port
        self._index = ResponseCache().index("", 0)
        self._relays = {}
        self._by_head = self._index.by_head

    def connection_lost(self, exc: Exception | None) -> None:
        self._gathered = b""
        self.connection.aborted = self.connection.aborted or self._state is not ConnectionState.LINGER
        self._state = ConnectionState.LINGER
        self.connection.send_interim = None
        self.connection.has_pipelined = None
        is_incomplete = self._body is not None and not self._body.ended
        if self._body is not None and is_incomplete:
            self._body.fail(_unreadable(400, "(104)Connection reset by peer"))
        if self._task is not None:
            cancel(self._task, self.service.loop, CANCEL_DELAY if is_incomplete else 0.0)
        self._parser = None
        self._paused = False
        self._wake()
        if self._file is not None:
            self._file.stop()
        elif self._pending_file is not None:
            self._send_files()
        if self._out is not None:
            self._out.close()
        self.service.remove(self)

    def eof_received(self) -> bool:
        self._eof = True
        if self._state is ConnectionState.LINGER:
            return False
        if self._parser is not None:
            if not self._is_held:  # else the buffer has what there is of the body
                self._truncated()
        elif self._state is ConnectionState.READY:
            self._process_buffer()
        return not self.transport.is_closing()

    # input --------------------------------------------------------------------------------------
    def data_received(self, data: bytes) -> None:
        if self._state is not READY or self._paused or self._postponed:
            self._arrived(data)
        elif self._buffer:
            self._buffer += data
            self._process_buffer()
        elif (
            (cached := self._by_head.get(data)) is not None
            and cached.ready_tick == self.service.tick
            and cached.line_client == self.connection.client_ip
            and self.connection.served < cached.max_served
        ):
            self._reply(cached, None)
        else:
            done = self._try_cache(data, cached)
            if done != len(data):
                self._buffer = data[done:] if done else data
                self._process_buffer(cache_missed=not done, more=done > 0)

    def _arrived(self, data: bytes) -> None:
        """Handle bytes that arrive while a response is computed or sent, or after the last one."""
        if self._state is ConnectionState.LINGER or self._is_poisoned:
            return
        self._buffer += data
        if self._parser is not None and not self._is_held:
            self._feed()
        elif len(self._buffer) > MAX_AHEAD:
            self._stop_reading()

    def _stop_reading(self) -> None:
        if self._reading and not self.transport.is_closing():
            self._reading = False
            self.transport.pause_reading()
            if not self._has_reset_check:
                self._has_reset_check = True
                self.service.loop.call_later(RESET_CHECK, self._check_reset)

    def _check_reset(self) -> None:
        """End the connection if the client has reset it, which the loop does not report while reading is
        paused.
        """
        if self._reading or self.transport.is_closing():
            self._has_reset_check = False
            return
        client = self.transport.get_extra_info("socket")
        if client is None or client.getsockopt(IPPROTO_TCP, TCP_INFO, 1)[0] != TCP_CLOSE:
            self.service.loop.call_later(RESET_CHECK, self._check_reset)
        else:
            self.transport.abort()

    def _go_on_reading(self) -> None:
        if not self._reading and not self.transport.is_closing():
            self._reading = True
            self.transport.resume_reading()

    # the general path ---------------------------------------------------------------------------
    def _process_buffer(self, *, cache_missed: bool = False, more: bool = False) -> None:
        """Answer the complete heads in the buffer, in order, until one has to wait.

        *cache_missed*: `_try_cache` has missed for the first one. *more*: a request before it was answered in
        this tick.
        """
        if self._postponed:
            return
        while self._state is ConnectionState.READY and not self._paused and self._buffer:
            if more and not self.service.takes_more():
                self._postponed = True
                self.deadline = FOREVER
                self.service.postpone(self)
                return
            if not self._read_next(cache_missed=cache_missed):
                break
            cache_missed = False
            more = True
        if self._state is ConnectionState.READY:
            if self._eof and not self._paused:
                if self._buffer:
                    self._last_head(InputState.EOF)
                if self._state is ConnectionState.READY:
                    self._end()
            elif not self._reading and len(self._buffer) <= MAX_AHEAD:
                self._go_on_reading()

    def resume(self) -> None:
        """Continue with the pipelined requests that waited for this tick."""
        self._postponed = False
        if self._state is ConnectionState.READY:
            if not self._paused:
                self.deadline = self.service.clock + self._listener.keep_alive
            self._process_buffer()

    def _read_next(self, *, cache_missed: bool) -> bool:
        """Answer the head at the front of the buffer; return False if it is incomplete."""
        data = self._buffer
        listener = self._listener
        reader = self._reader
        head = None
        if (
            listener.direct
            and self.connection.tls is None
            and data[:3] == b"PRI"
            and not self.connection.served
            and PREFACE.startswith(bytes(data[: len(PREFACE)]))
        ):
            if len(data) >= len(PREFACE):
                self._hand_over().start(bytes(data))
            return False
        if reader is None:
            if not cache_missed:
                done = self._try_cache(data, self._by_head.get(data))
                if done:
                    self._buffer = data[done:]
                    return True
            head = read_complete(data, listener.limits, listener.rules, listener.fields)
        if head is None:
            reader = reader or HeadReader(data, listener.limits, listener.rules)
            head = reader.read()
            if head is None:
                self._reader = reader
                self._buffer = reader.data  # type: ignore[assignment]
                self._arm_read_timeout(len(data))
                return False
        self._start_request(head)
        return True

    def begin_http2(self) -> None:
        """Speak HTTP/2, which the client has chosen by ALPN."""
        self._hand_over().start(b"")

    def _hand_over(self) -> Http2Connection:
        """Hand the rest of the connection to HTTP/2."""
        from whimbrel.server.http2.connection import Http2Connection  # needs an optional package

        self._state = ConnectionState.LINGER
        self._buffer = b""
        self.deadline = FOREVER
        self.connection.peeked = (0, 0)
        self.service.connections.discard(self)
        http2 = Http2Connection(
            self.service, self.transport, self.connection, self._listener, self._listener.http2
        )
        self.connection.send_interim = None
        self.connection.has_pipelined = None
        self.transport.set_protocol(http2)
        return http2

    def _switches(self, response: Response) -> bool:
        if self._head is None or self.transport.is_closing() or not self.connection.notes.pop(SWITCHED, ""):
            return False
        self.transport.write(SWITCHING)
        response.head_prefix = b""
        response.head_suffix = b""
        response.on_sent(0, len(SWITCHING))
        head = self._head
        rest = self._buffer
        self._hand_over().start_upgraded(head, rest)
        return True

    def _take_input(self) -> bytes:
        data, self._buffer = self._buffer, b""
        self._go_on_reading()
        return data

    def _last_head(self, ending: InputState) -> None:
        """Process an incomplete head at the end of the input."""
        reader = self._reader or HeadReader(self._buffer, self._listener.limits, self._listener.rules)
        head = reader.read(ending)
        if head is not None:
            self._start_request(head)
        else:
            self._buffer = b""
            self._reader = None

    def _arm_read_timeout(self, count: int) -> None:
        """Set the deadline for the rest of a head or body of which *count* bytes are there.

        TimeOut applies, and RequestReadTimeout where it ends earlier: of the request's host for a body.
        """
        r = self.connection.request
        listener = self._listener if r is None else self.service.settings_of(r.server)
        self._wait(listener.timeout)
        if listener.reading is not None:
            if self._read_deadline is None:
                self._read_deadline = start(listener.reading, body=self._state is not ConnectionState.READY)
            self.deadline = min(self.deadline, self._read_deadline.deadline_for(count) - self.service.period)

    def _start_request(self, head: Head) -> None:
        self._body_bytes = 0
        peeked = self.connection.peeked
        if peeked[0] and peeked[0] > len(self._buffer):
            self.connection.peeked = len(self._buffer), peeked[1]
        self._read_deadline = None
        self._reader = None
        rest = self._buffer[head.end :]
        self._buffer = rest if rest.__class__ is bytes else bytes(rest)
        self.connection.is_draining = self.service.draining
        self._state = ConnectionState.BUSY
        self.deadline = FOREVER
        self._head = head
        self._has_final_head = False
        if head.length or head.chunked or head.length_bad:
            body = self._make_body(head)
        else:
            self._expects, self._parser, empty = False, None, self._empty
            if empty is None or empty.failure is not None:
                empty = RequestBody(0)
                self._empty = empty
            body = empty
        self._body = body
        try:
            response = self.service.engine.respond(self.connection, head, body)
        except Exception as problem:
            if self.connection.open_sources:
                self._task = self.service.loop.create_task(close_sources(self.connection))
            self._failed(problem)
            return
        if response.__class__ is Response or isinstance(response, Response):
            self._send(response)
        else:
            self._task = drive(response, self.service.loop, self._responded)

    def _responded(self, response: Response | None, problem: BaseException | None) -> None:
        """Send a response that the engine had to wait for."""
        if response is not None:
            self._send(response)
            self._process_buffer()
        else:
            self._task = self.service.loop.create_task(self._ended_without_response(problem))

    async def _ended_without_response(self, problem: BaseException | None) -> None:
        if isinstance(problem, Exception):
            await close_sources(self.connection)
            self._failed(problem)
        else:  # cancelled
            self._on_sent(await abandon(self.connection), 0, broken=True)

    # bodies -----------------------------------------------------------------------------------
    def _make_body(self, head: Head) -> RequestBody:
        self._expects = False
        if head.error is not None or not (head.chunked or head.length):
            self._parser = None
            if head.length_bad:
                head.close = True
                return invalid_length_body()
            return RequestBody(0)
        body = RequestBody(None if head.chunked else head.length, self._wanted)
        self._body = body
        self._parser = (
            ChunkedBody(self._listener.limits, self._listener.rules)
            if head.chunked
            else LengthBody(head.length or 0)
        )
        self._expects = head.expect_continue
        # of a tunnel, whose bytes have no framing, unless a handler reads it as a body
        self._is_held = self._expects or head.method == "CONNECT"
        if not self._is_held:
            self._feed()
        return body

    def _wanted(self) -> None:
        """Note that a handler reads the request body; one of an ErrorDocument finds it empty while the client
        awaits 100 Continue.
        """
        if self._expects:
            r = self.connection.request
            if r is not None and self._body is not None and final_request(r).status // 100 != SUCCESS:
                self._body.end()
                return
            if r is None or EARLY_BODY_NOTE not in r.notes or not self._buffer:
                self._send_interim(100)
            self._expects = False
        if self._is_held:
            self._release_body()
        self._arm_read_timeout(self._body_bytes)
        self._go_on_reading()

    def _has_pipelined(self) -> bool:
        return bool(self._buffer)

    def _send_interim(self, status: int, fields: Iterable[Pair] = (), reason: str | None = None) -> None:
        """Send an interim response to the present request; see `Request.interim`."""
        head = self._head
        if head is None or self._has_final_head or self._state is not ConnectionState.BUSY:
            return
        if head.version < HTTP_1_1:
            return  # its client keeps the mark of one that waits: the connection ends
        if status == 100:
            self._expects = False
            head.expect_continue = False
        if not self.transport.is_closing():
            data = interim_bytes(status, fields, reason)
            self.connection.interim_bytes += len(data)
            self.transport.write(data)
        if status == 100:
            self._release_body()

    def _release_body(self) -> None:
        """Parse what has arrived of the body, and all that follows."""
        self._is_held = False
        self._feed()

    def _feed(self) -> None:
        """Pass the buffered bytes to the body, or drop them if it has no reader.  They are the last ones if
        the client has closed its side.
        """
        if self._parser is not None and self._buffer:
            self._feed_buffered(self._parser)
        if self._eof and self._parser is not None:
            self._truncated()

    def _feed_buffered(self, parser: ChunkedBody | LengthBody) -> None:
        body, data, self._buffer = self._body, self._buffer, b""
        self._body_bytes += len(data)
        if self.deadline != FOREVER:
            self._arm_read_timeout(self._body_bytes)
        try:
            piece = parser.feed(data)
        except BodyError as problem:
            self._poison(problem)
            return
        if self._state is ConnectionState.DISCARD:
            self._discarded += len(piece)
        elif piece and body is not None:
            body.feed(piece)
        if parser.done:
            if body is not None:
                body.framing = self._body_bytes - len(parser.rest) - body.received
                if len(parser.trailers):
                    body.trailers = parser.trailers
            self._buffer = parser.rest
            self._parser = None
            self._body_ended()
        elif self._state is ConnectionState.DISCARD:
            if self._discarded > MAX_DISCARD:
                self._end()
        elif body is not None and body.buffered > MAX_BODY_AHEAD:
            self._stop_reading()

    def _body_ended(self) -> None:
        if self._body is not None:
            self._body.end()
        if self._state is ConnectionState.DISCARD:
            self._ready()
            self._process_buffer()
        elif self._state is ConnectionState.BUSY:
            self.deadline = FOREVER

    def _poison(self, failure: BodyError) -> None:
        """Fail the rest of the body; no further request is read."""
        self._parser = None
        self._buffer = b""
        if self._body is not None:
            self._body.fail(failure)
        if self._state is ConnectionState.DISCARD:
            self._end()
        self._is_poisoned = True

    def _truncated(self) -> None:
        try:
            if self._parser is not None:
                self._parser.close()
        except BodyError as problem:
            self._poison(problem)

    # between requests -------------------------------------------------------------------------
    def _answered(self) -> None:
        if self._is_poisoned or (self._eof and not self._buffer):
            self._end()
        elif self._parser is not None:
            self._state = ConnectionState.DISCARD
            self._discarded = 0
            self._arm_read_timeout(self._body_bytes)
            self._go_on_reading()
            self._release_body()
        else:
            self._ready()

    def _ready(self) -> None:
        """Wait for the next request."""
        if self.service.stopping:
            self._end()
            return
        self._state = ConnectionState.READY
        self._head = None
        self._body = None
        self._task = None
        if not self._paused:
            self.deadline = self.service.clock + self._listener.keep_alive

    def _discard_input(self) -> None:
        self._buffer = b""
        self._parser = None
        self._reader = None
        self._go_on_reading()

    # ends -------------------------------------------------------------------------------------
    def expire(self) -> None:
        """Handle a timeout: close an idle connection silently, answer an incomplete request."""
        late, self._read_deadline = self._read_deadline, None
        self.deadline = FOREVER
        if self._paused or self._file is not None or self._state is ConnectionState.LINGER:
            self.transport.abort()
            return
        listener = self._listener
        if late is not None and late.is_expired():
            self.service.engine.log_connection(
                self.connection, listener.server, late.line(listener.rules.version22)
            )
        if self._state is ConnectionState.DISCARD:
            self._end()
        elif self._state is ConnectionState.BUSY:
            self._poison(
                _unreadable(
                    400 if listener.rules.version22 else 408, "(70007)The timeout specified has expired"
                )
            )
        elif self._buffer:
            partial = len(self._buffer)
            self._last_head(InputState.TIMEOUT)
            if self._state is ConnectionState.READY:
                self.service.engine.log_timeout(self.connection, partial)
                self._end()
        else:
            self._end()

    def drain(self) -> None:
        """Drain: an idle connection stays open for its keep-alive time, and its next response closes it."""
        if self._state is ConnectionState.READY and not self.connection.served and not self._buffer:
            self._wait(min(self._listener.keep_alive, self._listener.timeout))

    def close_now(self) -> None:
        """Close an idle connection now, a busy one after its response (see `_ready`)."""
        if self._state in (ConnectionState.READY, ConnectionState.LINGER):
            self._state = ConnectionState.LINGER
            self.transport.close()

    def scoreboard_row(self) -> ScoreboardRow:
        """Return the scoreboard row of this connection; the same object if it is unchanged."""
        answering = self.connection.rendering
        served = self.connection.served
        if self._last_raw:
            self._head, self._last_raw = self._head or self._parsed(self._last_raw), b""
        head = self._head or answering
        known = self._row
        if (
            known is not None
            and known[0] is head
            and known[1] == served
            and known[2] is self._state
            and known[3] is answering
        ):
            return known[4]
        busy = self._state is ConnectionState.BUSY or answering is not None
        if busy:
            state = "W"
        elif self._state is ConnectionState.LINGER:
            state = "C"
        elif served:
            state = "K"
        else:
            state = "R"
        protocol, line = ("http/1.1", head.line or "") if head is not None else ("", "")
        row = connection_row(
            state,
            self.connection.client_ip,
            protocol,
            line,
            shown_host(self.service.engine, self.connection, head),
            served,
            tail=self.service.shows_request_tail,
        )
        self._row = (head, served, self._state, answering, row)
        return row


def _unreadable(status: int, cause: str) -> BodyError:
    return BodyError(status, LogMessage("", "", "", cause))
