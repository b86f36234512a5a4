"""One client connection: HTTP/1.0 and 1.1 with keep-alive, pipelining, bodies, lingering close.

The fast road is `data_received` -> `_quick`: exact bytes of a head that were answered before are answered from what was kept.  Everything else goes
through `_next`, which reads one head and asks the engine.  Answers leave in the order of the requests: while one is being made or sent, what arrives
waits in `_buffer` (or goes to the body), and reading stops when it is too much.

RFC 9112; manual: mod/core.html (TimeOut, KeepAlive...).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from time import time
from typing import Any, Final, cast

from whimbrel.http.chunked import BodyError, ChunkedBody, LengthBody
from whimbrel.http.head import Ending, Head, read_head
from whimbrel.http.lines import Reason
from whimbrel.request.answer import Answer
from whimbrel.request.body import RequestBody
from whimbrel.request.record import Connection
from whimbrel.server.answering import WRITE_AHEAD, Answering, State
from whimbrel.server.service import FOREVER, Service

MAX_AHEAD: Final = 64 * 1024          # bytes that a client may send beyond the request that is being answered
MAX_BODY_AHEAD: Final = 256 * 1024    # bytes of a body that wait for their reader
MAX_DISCARD: Final = 16 * 1024 * 1024  # bytes of an unread body for which the connection is kept
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class HttpProtocol(Answering):
    """See the module."""

    __slots__ = ("_body", "_buffer", "_discarded", "_expects", "_head", "_parser", "_reading", "_seen")

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self._buffer = b""
        self._seen = self._discarded = 0
        self._expects = False
        self._reading = True
        self._head: Head | None = None
        self._body: RequestBody | None = None
        self._parser: ChunkedBody | LengthBody | None = None

    # the connection ---------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        client, local = transport.get_extra_info("peername"), transport.get_extra_info("sockname")
        self.connection = Connection(_plain(client[0]), client[1], _plain(local[0]), local[1], ident=self.service.accepted)
        self._manners = self.service.manners(self.connection.local_ip, self.connection.local_port)
        self.transport.set_write_buffer_limits(high=WRITE_AHEAD)
        self.service.enter(self)
        self._wait(self._manners.timeout)

    def connection_lost(self, exc: Exception | None) -> None:
        self.connection.aborted = self.connection.aborted or self._state is not State.LINGER
        self._state = State.LINGER
        if self._body is not None and not self._body.ended:
            self._body.fail(_unreadable(400, "(104)Connection reset by peer"))
        self._parser = None
        self._paused = False
        self._wake()
        if self._file is not None:
            self._file.stop()
        elif self._then is not None:
            self._send_files()
        if self._out is not None:
            self._out.close()
        self.service.leave(self)

    def eof_received(self) -> bool:
        self._eof = True
        if self._state is State.LINGER:
            return False
        if self._parser is not None:
            self._truncated()
        elif self._state is State.READY and self._buffer:
            self._last_head(Ending.EOF)
        if self._state is State.READY:
            self._end()
        return not self.transport.is_closing()

    # what arrives -----------------------------------------------------------------------------
    def data_received(self, data: bytes) -> None:
        if self._state is State.READY and not self._paused:
            if self._buffer:
                self._buffer += data
            else:
                done = self._quick(data)
                if done == len(data):
                    return
                self._buffer = data[done:] if done else data
            self._proceed()
        else:
            self._arrived(data)

    def _arrived(self, data: bytes) -> None:
        """Bytes that come while an answer is made or sent, or after the last one."""
        if self._state is State.LINGER:
            return
        self._buffer += data
        if self._parser is not None and not self._expects:
            self._feed()
        elif len(self._buffer) > MAX_AHEAD:
            self._stop_reading()

    def _stop_reading(self) -> None:
        if self._reading and not self.transport.is_closing():
            self._reading = False
            self.transport.pause_reading()

    def _go_on_reading(self) -> None:
        if not self._reading and not self.transport.is_closing():
            self._reading = True
            self.transport.resume_reading()

    # the fast road ----------------------------------------------------------------------------
    def _quick(self, data: bytes) -> int:
        """Answer what was kept for the heads at the front of *data*; how many bytes of it are done."""
        service, connection = self.service, self.connection
        if service.draining:
            return 0
        engine, size = service.engine, len(data)
        quick = engine.quick
        done = 0
        out: list[bytes] = []
        closes = False
        while done < size and not closes:
            end = data.find(b"\r\n\r\n", done) + 4
            if end < 4:
                break
            kept = quick(connection, data if end == size and not done else data[done:end])
            if kept is None:
                break
            now = time()
            date = service.date if service.second - 1.0 <= now < service.second else service.renew_date(now)
            out.append(kept.wire(connection, date))
            engine.repeated(kept, connection)
            connection.served += 1
            service.requests += 1
            service.sent += len(kept.body)
            closes = kept.close
            done = end
        if out:
            self.transport.write(out[0] if len(out) == 1 else b"".join(out))
            if not self._paused:
                self.deadline = service.clock + self._manners.keep_alive
            if closes:
                self._end()
                return size
        return done

    # the whole road ---------------------------------------------------------------------------
    def _proceed(self) -> None:
        """Answer the complete heads in the buffer, in order, until something has to be waited for."""
        while self._state is State.READY and not self._paused and self._buffer:
            if not self._next():
                break
        if self._state is State.READY:
            if self._eof and not self._paused:
                self._end()
            elif len(self._buffer) <= MAX_AHEAD:
                self._go_on_reading()

    def _next(self) -> bool:
        """Answer the head at the front of the buffer; False when it is not complete."""
        data = self._buffer
        if not self._seen:
            done = self._quick(data)
            if done:
                self._buffer = data[done:]
                return True
            self._wait(self._manners.timeout)
        manners = self._manners
        head = read_head(data, manners.limits, manners.rules, seen=self._seen)
        if head is None:
            self._seen = len(data)
            return False
        self._begin(head)
        return True

    def _last_head(self, ending: Ending) -> None:
        """No more bytes will come: what there is of a head counts."""
        head = read_head(self._buffer, self._manners.limits, self._manners.rules, ending=ending)
        self._buffer = self._buffer if head is not None else b""
        if head is not None:
            self._begin(head)

    def _begin(self, head: Head) -> None:
        self._seen = 0
        self._buffer = self._buffer[head.end:]
        self.connection.ending = self.service.draining
        self._state = State.BUSY
        self.deadline = FOREVER
        self._head = head
        self._body = body = self._make_body(head)
        try:
            answer = self.service.engine.respond(self.connection, head, body)
        except Exception as problem:
            self._failed(problem)
            return
        if isinstance(answer, Answer):
            self._send(answer)
        else:
            self._task = self.service.loop.create_task(self._later(answer))

    async def _later(self, waiting: Awaitable[Answer]) -> None:
        try:
            answer = await waiting
        except Exception as problem:
            self._failed(problem)
        else:
            self._send(answer)
            self._proceed()

    # bodies -----------------------------------------------------------------------------------
    def _make_body(self, head: Head) -> RequestBody:
        self._expects = False
        if head.error is not None or not (head.chunked or head.length):
            self._parser = None
            return RequestBody(0)
        body = RequestBody(None if head.chunked else head.length, self._wanted)
        self._body = body
        self._parser = ChunkedBody(self._manners.limits, self._manners.rules) if head.chunked else LengthBody(head.length or 0)
        self._expects = head.expect_continue
        if not self._expects:
            self._feed()
        return body

    def _wanted(self) -> None:
        """A handler waits for its request's body."""
        if self._expects and self._head is not None:
            self._expects = self._head.expect_continue = False
            self.transport.write(CONTINUE)
            self._feed()
        self._wait(self._manners.timeout)
        self._go_on_reading()

    def _feed(self) -> None:
        """Give the bytes in the buffer to the body, or drop them when nobody will read it."""
        parser, body, data = self._parser, self._body, self._buffer
        if parser is None or not data:
            return
        self._buffer = b""
        if self.deadline != FOREVER:
            self._wait(self._manners.timeout)
        try:
            piece = parser.feed(data)
        except BodyError as problem:
            self._spoil(problem)
            return
        if self._state is State.DISCARD:
            self._discarded += len(piece)
        elif piece and body is not None:
            body.feed(piece)
        if parser.done:
            self._buffer, self._parser = parser.rest, None
            self._body_ended()
        elif self._state is State.DISCARD:
            if self._discarded > MAX_DISCARD:
                self._end()
        elif body is not None and body.buffered > MAX_BODY_AHEAD:
            self._stop_reading()

    def _body_ended(self) -> None:
        if self._body is not None:
            self._body.end()
        if self._state is State.DISCARD:
            self._ready()
            self._proceed()
        elif self._state is State.BUSY:
            self.deadline = FOREVER

    def _spoil(self, failure: BodyError) -> None:
        """The rest of the body can't be read: neither can a further request."""
        self._parser = None
        self._buffer = b""
        if self._head is not None:
            self._head.close = True
        if self._body is not None:
            self._body.fail(failure)
        if self._state is State.DISCARD:
            self._end()
        self._eof = True

    def _truncated(self) -> None:
        try:
            if self._parser is not None:
                self._parser.close()
        except BodyError as problem:
            self._spoil(problem)

    # between requests -------------------------------------------------------------------------
    def _answered(self) -> None:
        if self._eof and not self._buffer:
            self._end()
        elif self._parser is not None:
            self._state = State.DISCARD
            self._discarded = 0
            self._wait(self._manners.timeout)
            self._go_on_reading()
            self._feed()
        else:
            self._ready()

    def _ready(self) -> None:
        """The next request may come."""
        if self.service.stopping:
            self._end()
            return
        self._state = State.READY
        self._head = self._body = self._task = None
        if not self._paused:
            self._wait(self._manners.keep_alive)

    def _forget(self) -> None:
        self._buffer = b""
        self._parser = None
        self._go_on_reading()

    # ends -------------------------------------------------------------------------------------
    def expire(self) -> None:
        """Timeouts: an idle connection is closed without a word, a client that stopped sending its request is answered."""
        self.deadline = FOREVER
        if self._paused or self._file is not None or self._state is State.LINGER:
            self.transport.abort()
        elif self._state is State.DISCARD:
            self._end()
        elif self._state is State.BUSY:
            self._spoil(_unreadable(408, "(70007)The timeout specified has expired"))
        elif self._buffer:
            self._last_head(Ending.TIMEOUT)
            if self._state is State.READY:
                self._end()
        else:
            self._end()

    def drain(self) -> None:
        """Idle connections stay open until their keep-alive time is over, so that no request meets a closed door; the answer to it then ends them."""
        if self._state is State.READY and not self.connection.served and not self._buffer:
            self._wait(min(self._manners.keep_alive, self._manners.timeout))

    def close_now(self) -> None:
        """The server stops: idle connections end at once, busy ones after their answer (see `_ready`)."""
        if self._state in (State.READY, State.LINGER):
            self._state = State.LINGER
            self.transport.close()

    def row(self) -> dict[str, Any]:
        """What the scoreboard says about this connection."""
        head = self._head
        state = "W" if self._state is State.BUSY else "C" if self._state is State.LINGER else "K" if self.connection.served else "R"
        return {
            "state": state, "client": self.connection.client_ip, "protocol": head.protocol.lower() if head is not None else "",
            "request": (head.line or "") if head is not None else "", "vhost": (head.hostname or "") if head is not None else "",
            "served": self.connection.served,
        }


def _plain(address: str) -> str:
    """An address without IPv6's wrapping of IPv4 and without scope."""
    return address[7:] if address.startswith("::ffff:") and "." in address else address.partition("%")[0]


def _unreadable(status: int, cause: str) -> BodyError:
    return BodyError(status, Reason("info", "AH01590", "Error reading/parsing chunk  ", cause))
