"""One client connection: HTTP/1.0 and 1.1 with keep-alive, pipelining, bodies, lingering close.

`CachedResponder` answers complete heads by their bytes. All other input goes through `process`, which reads
one head after another and calls the engine.

Responses are sent in the order of the requests. While one is computed or sent, input waits in `Input.buffer`
or goes to the body, and reading pauses above a bound. Pipelined requests also wait when the client does not
read, or when this tick has no room for more.

RFC 9112; manual: mod/core.html (TimeOut, KeepAlive...).
"""

from __future__ import annotations

import asyncio
from functools import partial
from operator import is_
from typing import TYPE_CHECKING, ClassVar, Final, cast

from whimbrel.engine.abandon import abandon, close_sources
from whimbrel.engine.connection import Takeover
from whimbrel.engine.coroutines import drive
from whimbrel.engine.response import Response
from whimbrel.engine.runtime import ScoreboardRow
from whimbrel.http.http2.protocol import PREFACE
from whimbrel.http.syntax.head import Head
from whimbrel.http.syntax.line_reader import InputState
from whimbrel.server.connection.addresses import client_connection
from whimbrel.server.http1.cached_responses import CachedResponder
from whimbrel.server.http1.input import MAX_AHEAD, Input, unreadable
from whimbrel.server.http1.relay import Relayer
from whimbrel.server.http1.sender import Sender
from whimbrel.server.http1.state import BEGIN, BODY_LEFT, BUSY, DISCARD, DONE, END, LINGER, READY, TRANSITIONS
from whimbrel.server.worker.accounting import account_response
from whimbrel.server.worker.cancellation import Cancellable, cancel
from whimbrel.server.worker.scoreboard import connection_row, shown_host
from whimbrel.server.worker.state import FOREVER, TimedConnection, WorkerState

if TYPE_CHECKING:
    from whimbrel.server.http1.state import ConnectionState, Event
    from whimbrel.server.http2.connection import Http2Connection

LINGER_TIME: Final = 2.0  # seconds between the end of our side of the connection and the client's
SWITCHING: Final = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
SWITCHED: Final = "switched-to"  # note that core's protocols.py sets
LETTERS: Final = {BUSY: "W", LINGER: "C"}  # of the scoreboard; others depend on the requests so far
CANCEL_DELAY: Final = 0.5  # seconds that a request has to end with an unreadable body


class Http1Connection(asyncio.Protocol, TimedConnection):
    """Protocol of a client connection, and the owner of its parts.

    Attributes:
        state: see `change`
        is_paused: the client has to take what was written before more is
        head: of the present request. `last_raw`: that of the request that is relayed, or that the last
            response answers from the cache, unparsed.
        task: what works on the present response
    """

    __slots__ = (
        "_is_postponed",
        "_row",
        "cached",
        "connection",
        "head",
        "input",
        "is_paused",
        "last_raw",
        "listener",
        "relayer",
        "sender",
        "service",
        "state",
        "task",
    )
    input_type: ClassVar[type[Input]] = Input

    def __init__(self, service: WorkerState) -> None:
        TimedConnection.__init__(self)
        self.service = service
        self.state = READY
        self.is_paused = False
        self.head: Head | None = None
        self.last_raw = b""
        self.task: Cancellable | None = None
        self._is_postponed = False
        self._row: tuple[tuple[Head | None, Head | None, int, ConnectionState], ScoreboardRow] | None = None

    # the connection -----------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        service = self.service
        transport = cast(asyncio.Transport, transport)
        connection = client_connection(transport)
        connection.id = service.accepted
        self.connection = connection
        self.listener = service.listener(connection.local_ip, connection.local_port)
        connection.peeked = self.listener.peeked
        self.input = self.input_type(self)
        self.sender = Sender(self, transport)
        self.relayer = Relayer(self)
        self.cached = CachedResponder(self)
        connection.send_interim = self.sender.send_interim
        if connection.tls is not None:
            connection.has_pipelined = self._has_pipelined
        service.add(self)
        self.wait(self.listener.timeout)

    def set_proxied(self, address: str, port: int) -> None:
        """Set the client that a PROXY header names; the response cache knows the proxy alone."""
        connection = self.connection
        connection.proxied = (address, port)
        connection.useragent_ip = address
        connection.user_port = port
        self.cached.disable()

    def connection_lost(self, exc: Exception | None) -> None:
        connection = self.connection
        sender = self.sender
        sender.gathered = b""
        connection.aborted = connection.aborted or self.state is not LINGER
        self.change(END)
        connection.send_interim = None
        connection.has_pipelined = None
        is_incomplete = self.input.abandon()
        if self.task is not None:
            cancel(self.task, self.service.loop, CANCEL_DELAY if is_incomplete else 0.0)
        self.is_paused = False
        sender.close()
        self.service.remove(self)

    @property
    def is_busy(self) -> bool:
        """True from the head of a request to the end of its response."""
        return self.state is BUSY

    def eof_received(self) -> bool:
        was_open = self.state is not LINGER
        self.input.receive_end()
        if self.state is READY:
            self.process()
        return was_open and not self.sender.transport.is_closing()

    def pause_writing(self) -> None:
        self.is_paused = True
        self.wait(self.listener.timeout)

    def resume_writing(self) -> None:
        self.is_paused = False
        listener = self.listener
        waits = {READY: listener.keep_alive, BUSY: FOREVER, DISCARD: listener.timeout, LINGER: LINGER_TIME}
        self.wait(waits[self.state])
        self.sender.resume()
        if self.state is READY:
            self.process()

    def change(self, event: Event) -> None:
        """Change the state, and the deadline with it."""
        state = TRANSITIONS[self.state][event]
        self.state = state
        if state is BUSY:
            self.deadline = FOREVER
        elif state is READY and not self.is_paused:
            self.deadline = self.service.clock + self.listener.keep_alive

    def wait(self, seconds: float) -> None:
        """Set the deadline."""
        self.deadline = self.service.clock + seconds

    # requests -----------------------------------------------------------------------------------
    def data_received(self, data: bytes) -> None:
        if self.state is not READY or self.is_paused or self._is_postponed:
            if self.state is not LINGER:
                self.input.receive(data)
        elif self.input.buffer:
            self.input.buffer += data
            self.process()
        else:
            rest = self.cached.answer(data)
            if rest:
                self.input.buffer = rest
                self.process(cache_missed=rest is data, more=rest is not data)

    def process(self, *, cache_missed: bool = False, more: bool = False) -> None:
        """Answer the complete heads in the buffer, in order, until one has to wait.

        *cache_missed*: the cache has no response to the first one. *more*: a request before it was answered
        in this tick.
        """
        if self._is_postponed:
            return
        source = self.input
        while self.state is READY and not self.is_paused and source.buffer:
            if more and not self.service.takes_more():
                self._is_postponed = True
                self.deadline = FOREVER
                self.service.postpone(self)
                return
            data = source.buffer
            if self.listener.direct and data[:3] == b"PRI" and self._begins_http2(data):
                break
            if not cache_missed and source.reader is None:
                source.buffer = self.cached.answer(data)
            if source.buffer is data:
                head = source.read_head()
                if head is None:
                    break
                self.respond(head)
            cache_missed = False
            more = True
        if self.state is READY:
            if source.is_ended and not self.is_paused:
                self._respond_to_last(InputState.EOF)
                if self.state is READY:
                    self.end()
            elif not source.is_reading and len(source.buffer) <= MAX_AHEAD:
                source.read_on()

    def resume(self) -> None:
        """Continue with the pipelined requests that waited for this tick."""
        self._is_postponed = False
        if self.state is READY:
            if not self.is_paused:
                self.wait(self.listener.keep_alive)
            self.process()

    def _respond_to_last(self, ending: InputState) -> None:
        """Answer an incomplete head at the end of the input, if it has an answer."""
        head = self.input.read_head(ending) if self.input.buffer else None
        if head is not None:
            self.respond(head)

    def respond(self, head: Head) -> None:
        """Answer the request whose *head* is at the front of the buffer."""
        service = self.service
        connection = self.connection
        connection.is_draining = service.draining
        self.change(BEGIN)
        self.head = head
        self.sender.has_final_head = False
        body = self.input.begin_body(head)
        try:
            response = service.engine.respond(connection, head, body)
        except Exception as problem:
            if connection.open_sources:
                self.task = service.loop.create_task(close_sources(connection))
            self.sender.send_failure(problem)
            return
        if response.__class__ is Response or isinstance(response, Response):
            self.send(response)
        else:
            self.task = drive(response, service.loop, self._responded)

    def _responded(self, response: Response | None, problem: BaseException | None) -> None:
        """Send a response that the engine had to wait for; a connection that cannot be written ends."""
        if response is not None:
            try:
                self.send(response)
                self.process()
            except Exception as failure:
                self.service.report(failure)
                self.sender.transport.abort()
        else:
            self.task = self.service.loop.create_task(self._ended_without_response(problem))

    async def _ended_without_response(self, problem: BaseException | None) -> None:
        if isinstance(problem, Exception):
            await close_sources(self.connection)
            self.sender.send_failure(problem)
        else:  # cancelled
            self.on_sent(await abandon(self.connection), 0, broken=True)

    def send(self, response: Response) -> None:
        """Send *response*, or hand the connection to the protocol that it announces."""
        self.sender.has_final_head = True
        r = response.request
        if r.takeover is not None:
            self._hand_to(r.takeover, response)
        elif r.status != 101 or not self._switches(response):
            self.sender.send(response)

    def on_sent(self, response: Response, count: int, more: int = 0, *, broken: bool = False) -> None:
        """Account for a sent or failed response; *count* and *more* are those of `Response.on_sent`."""
        account_response(self.service, self.connection, response, count, more)
        self.connection.request = None
        if self.state is LINGER:
            return
        if broken or response.close:
            self.end()
        else:
            self.answered()

    def answered(self) -> None:
        """Wait for the next request on a persistent connection, or for the rest of the body of this one."""
        source = self.input
        if source.is_poisoned or (source.is_ended and not source.buffer):
            self.end()
        elif source.parser is not None:
            self.change(BODY_LEFT)
            source.discard_body()
        elif self.service.stopping:
            self.end()
        else:
            self.change(DONE)
            self.head = None
            self.task = None
            source.body = None

    def _has_pipelined(self) -> bool:
        return bool(self.input.buffer)

    # other protocols ----------------------------------------------------------------------------
    def begin_http2(self) -> None:
        """Speak HTTP/2, which the client has chosen by ALPN."""
        self._hand_over().start(b"")

    def _begins_http2(self, data: bytes) -> bool:
        """Return True if *data* is the preface of HTTP/2 or a part of it; that begins HTTP/2 if complete."""
        connection = self.connection
        begins = connection.tls is None and not connection.served and PREFACE.startswith(data[: len(PREFACE)])
        if begins and len(data) >= len(PREFACE):
            self._hand_over().start(bytes(data))
        return begins

    def _switches(self, response: Response) -> bool:
        """Return True if *response*, a 101 response, has handed the connection over to HTTP/2."""
        transport = self.sender.transport
        if self.head is None or transport.is_closing() or not self.connection.notes.pop(SWITCHED, ""):
            return False
        transport.write(SWITCHING)
        response.head_prefix = b""
        response.head_suffix = b""
        response.on_sent(0, len(SWITCHING))
        rest = self.input.buffer
        self._hand_over().start_upgraded(self.head, rest)
        return True

    def _hand_over(self) -> Http2Connection:
        """Hand the rest of the connection to HTTP/2."""
        from whimbrel.server.http2.connection import Http2Connection  # needs an optional package

        self.change(END)
        self.input.buffer = b""
        self.deadline = FOREVER
        connection = self.connection
        connection.peeked = (0, 0)
        self.service.connections.discard(self)
        transport = self.sender.transport
        http2 = Http2Connection(self.service, transport, connection, self.listener, self.listener.http2)
        connection.send_interim = None
        connection.has_pipelined = None
        transport.set_protocol(http2)
        return http2

    def _hand_to(self, takeover: Takeover, response: Response) -> None:
        """Send the head of *response* and hand the connection to another protocol, until that has ended."""

        ended = partial(self._taken_back, response)
        transport = self.sender.transport
        self.task = None
        self.deadline = FOREVER
        if transport.is_closing():
            takeover(transport, ended).connection_lost(None)
            return
        transport.write(response.head(self.service.date_of(response.received_at)))
        protocol = takeover(transport, ended)
        transport.set_protocol(protocol)
        source = self.input
        data, source.buffer = source.buffer, b""
        source.read_on()
        if data:
            protocol.data_received(data)
        if source.is_ended:
            protocol.eof_received()

    def _taken_back(self, response: Response, sent: int, received: int) -> None:
        """Account for a protocol that had taken the connection over and has ended."""
        response.request.body_in.framing += received
        account_response(self.service, self.connection, response, sent)
        self.connection.request = None
        self.change(END)
        self.service.remove(self)

    # ends ---------------------------------------------------------------------------------------
    def end(self) -> None:
        """Close our side and give the client a moment to read and close its own (ap_lingering_close)."""
        self.change(END)
        self.input.discard()
        transport = self.sender.transport
        if transport.is_closing():
            return
        if self.input.is_ended or not transport.can_write_eof():
            transport.close()
            return
        try:
            transport.write_eof()
        except OSError:
            transport.abort()
            return
        self.wait(self.listener.timeout if self.is_paused else LINGER_TIME)

    def expire(self) -> None:
        """Handle a timeout: close an idle connection silently, answer an incomplete request."""
        source = self.input
        late, source.read_deadline = source.read_deadline, None
        self.deadline = FOREVER
        if self.is_paused or self.sender.file is not None or self.state is LINGER:
            self.sender.transport.abort()
            return
        listener = self.listener
        if late is not None and late.is_expired():
            self.service.engine.log_connection(
                self.connection, listener.server, late.line(listener.rules.version22)
            )
        if self.state is BUSY:
            status = 400 if listener.rules.version22 else 408
            source.poison(unreadable(status, "(70007)The timeout specified has expired"))
        elif self.state is DISCARD or not source.buffer:
            self.end()
        else:
            partial_size = len(source.buffer)
            self._respond_to_last(InputState.TIMEOUT)
            if self.state is READY:
                self.service.engine.log_timeout(self.connection, partial_size)
                self.end()

    def drain(self) -> None:
        """Drain: an idle connection stays open for its keep-alive time, and its next response closes it."""
        if self.state is READY and not self.connection.served and not self.input.buffer:
            self.wait(min(self.listener.keep_alive, self.listener.timeout))

    def close_now(self) -> None:
        """Close an idle connection now, a busy one after its response (see `answered`)."""
        if self.state is READY or self.state is LINGER:
            self.change(END)
            self.sender.transport.close()

    def scoreboard_row(self) -> ScoreboardRow:
        """Return the scoreboard row of this connection; the same object if it is unchanged."""
        answering = self.connection.rendering
        served = self.connection.served
        if self.last_raw:
            self.head, self.last_raw = self.head or self.input.parse(self.last_raw), b""
        head = self.head or answering
        key = (head, answering, served, self.state)
        if self._row is not None and all(map(is_, self._row[0], key)):
            return self._row[1]
        shown = self.state if answering is None else BUSY
        letter = LETTERS.get(shown) or ("K" if served else "R")
        protocol, line = ("http/1.1", head.line or "") if head is not None else ("", "")
        row = connection_row(
            letter,
            self.connection.client_ip,
            protocol,
            line,
            shown_host(self.service.engine, self.connection, head),
            served,
            tail=self.service.shows_request_tail,
        )
        self._row = (key, row)
        return row
