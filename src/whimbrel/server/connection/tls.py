"""TLS: a layer between the socket and HTTP, over `ssl.MemoryBIO`.

The layer reads the client's first message itself. Its server name and protocols choose the virtual host, the
context and the protocol above before the handshake begins (`TlsHosts`). After the handshake, bytes pass
through in both directions; the protocol above never sees the socket, so sendfile cannot bypass TLS.

RFC 8446; manual: mod/mod_ssl.html.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, cast

from whimbrel.engine.tls import PLAIN_NOTE, PLAIN_REQUEST, TlsChoice, TlsHosts, TlsObject
from whimbrel.http.syntax.client_hello import RECORD_HANDSHAKE, ClientHello, ClientHelloReader, NotClientHello
from whimbrel.server.connection.addresses import CLIENT_CONNECTION, client_connection
from whimbrel.server.connection.handshakes import COPIES, OBJECT_BYTES, Handshakes
from whimbrel.server.connection.layer import ConnectionLayer
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.read_timeout import ReadDeadline
from whimbrel.server.worker.scoreboard import connection_row
from whimbrel.server.worker.state import FOREVER, TimedConnection, WorkerState

if TYPE_CHECKING:
    from collections.abc import Iterable

READ_SIZE: Final = 16 * 1024  # bytes of a read, the most that a record has
WRITE_SIZE: Final = 60 * 1024  # bytes that are encrypted in one step; see server/worker/memory.py
HTTP2: Final = "h2"
UNKNOWN_HELLO: Final = ClientHello("", (), 0)
FIRST_BYTES: Final = 5  # by which OpenSSL tells HTTP from other input
# In the place of a closed connection's: the library keeps a buffer as large as the most that was in one.
_NO_BYTES: Final = ssl.MemoryBIO()
_HTTP: Final = (b"GET ", b"POST ", b"HEAD ", b"PUT ")


Outcome = bytes | Exception | None  # of a step of the library


def _attempt(tls: TlsObject) -> Outcome:
    """Take a step of a handshake; return the exception that it raises, None at the end."""
    try:
        tls.do_handshake()
    except ssl.SSLError as problem:
        return problem
    return None


def _read(tls: TlsObject) -> Outcome:
    """Return decrypted bytes, b"" after close_notify, or the exception that reading raises."""
    try:
        data = tls.read(READ_SIZE)
    except ssl.SSLError as problem:
        return problem
    # The library cuts an object of READ_SIZE bytes. Where a cache keeps it, as it keeps heads, the rest of
    # these bytes is a hole in the heap, too small for the next read.
    return bytes(memoryview(data))


class Handshake(TimedConnection):
    """Entry of the worker for a connection whose handshake has not ended."""

    __slots__ = ("_layer", "limit", "received")

    def __init__(self, layer: TlsLayer) -> None:
        super().__init__()
        self._layer = layer
        self.limit: ReadDeadline | None = None
        self.received = 0

    def receive(self, count: int) -> None:
        """Extend the deadline for *count* bytes more."""
        if self.limit is not None:
            self.received += count
            service = self._layer.service
            self.deadline = min(self.deadline, self.limit.deadline_for(self.received) - service.period)

    def expire(self) -> None:
        """End a handshake that takes too long."""
        self.deadline = FOREVER
        self._layer.expire(self.limit)

    def drain(self) -> None:
        """Let the handshake go on: the worker ends after its connections."""

    def close_now(self) -> None:
        """Close a connection that has sent no request."""
        self._layer.outer.close()

    def scoreboard_row(self) -> dict[str, Any]:
        return connection_row("R", self._layer.connection.client_ip, "", "", "", 0)


class TlsLayer(ConnectionLayer):
    """One TLS connection, or a plain one on an address without TLS, which goes to the protocol above.

    Attributes:
        connection: the client's.
        choice: what the client's first message has selected.
    """

    __slots__ = (
        "_first",
        "_handshake",
        "_handshakes",
        "_hello",
        "_hosts",
        "_input",
        "_is_plain",
        "_is_postponed",
        "_is_shut",
        "_make_inner",
        "_output",
        "_proxied",
        "_received",
        "_tls",
        "choice",
        "connection",
        "service",
    )

    def __init__(
        self,
        service: WorkerState,
        hosts: TlsHosts,
        handshakes: Handshakes,
        make_inner: Callable[[], asyncio.Protocol],
    ) -> None:
        self.service = service
        self._hosts = hosts
        self._make_inner = make_inner
        self._handshakes = handshakes
        self._input = ssl.MemoryBIO()
        self._output = ssl.MemoryBIO()
        self._hello: ClientHelloReader | None = ClientHelloReader()
        self._first = b""
        self._received = UNKNOWN_HELLO
        self._tls: TlsObject | None = None
        self._is_shut = False
        self._is_plain = False
        self._is_postponed = False
        self._handshake: Handshake | None = None
        self._proxied: tuple[str, int] | None = None
        self.choice: TlsChoice | None = None

    def make_inner(self) -> asyncio.Protocol:
        return self._make_inner()

    # protocol of the socket -----------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.outer = cast(asyncio.Transport, transport)
        connection = client_connection(transport)
        self.connection = connection
        if not self._hosts.is_enabled(connection.local_ip, connection.local_port):
            inner = self.make_inner()
            transport.set_protocol(inner)
            inner.connection_made(transport)
            return
        handshake = Handshake(self)
        self._handshake = handshake
        self.service.add(handshake)
        listener = self.service.listener(connection.local_ip, connection.local_port)
        handshake.deadline = self.service.clock + listener.timeout
        if listener.reading is not None and listener.reading.handshake.first:
            handshake.limit = ReadDeadline("handshake", listener.reading.handshake)
            handshake.receive(0)

    def data_received(self, data: bytes) -> None:
        if self._is_plain:
            return  # the response to the first request is the last one
        self._input.write(data)
        if self._handshake is None:
            if self._is_open and not self._is_postponed:  # not after a handshake that has failed
                self._decrypt()
            return
        self._handshake.receive(len(data))
        self._handshakes.grow(self, len(data) * COPIES)
        if self._handshake is None:
            return
        if self._hello is not None:
            self._read_hello(data)
        elif not self._is_postponed:
            self._begin_step()

    def _begin_step(self) -> None:
        """Take the next step of the handshake, in a later tick if others have taken the time of this one."""
        if self.service.has_time():
            self._shake_hands()
            return
        self._is_postponed = True
        self.outer.pause_reading()
        self.service.postpone(self)

    def resume(self) -> None:
        """Take the step of the handshake that has waited for this tick."""
        self._is_postponed = False
        if self._handshake is not None:
            self.outer.resume_reading()
            self._shake_hands()

    def _read_hello(self, data: bytes) -> None:
        reader = cast(ClientHelloReader, self._hello)
        first = self._first
        if len(first) < FIRST_BYTES:
            first = first + data[: FIRST_BYTES - len(first)]
            self._first = first
        try:
            if first[0] != RECORD_HANDSHAKE:
                if len(first) < FIRST_BYTES:
                    return
                if first.startswith(_HTTP):
                    self._answer_http()
                    return
            hello = reader.feed(data)
        except NotClientHello:
            hello = UNKNOWN_HELLO  # the library answers with its alert
        if hello is None:
            return
        self._hello = None
        self._received = hello
        self.choice = self._hosts.choose(self.connection, hello)
        self._tls = self.choice.context.wrap_bio(self._input, self._output, server_side=True)
        self._handshakes.grow(self, OBJECT_BYTES)
        if self._handshake is not None:
            self._begin_step()

    def _answer_http(self) -> None:
        """Let the protocol above answer a plain request with 400, without TLS."""
        self._hosts.spoke_http(self.service.engine, self.connection)
        self._is_plain = True
        self.connection.notes[PLAIN_NOTE] = "1"
        self._connect_inner()
        self.inner.data_received(PLAIN_REQUEST)

    def _shake_hands(self) -> None:
        choice = cast(TlsChoice, self.choice)
        tls = cast(TlsObject, self._tls)
        if choice.may_block is None or not choice.may_block():
            self._finish_step(_attempt(tls))
        else:
            self._run_in_thread(_attempt, self._finish_step)

    def _run_in_thread(self, work: Callable[[TlsObject], Outcome], finish: Callable[[Outcome], None]) -> None:
        """Call *work* in a thread and *finish* with its result; nothing is read meanwhile."""
        self._is_postponed = True
        self.outer.pause_reading()
        future = self.service.loop.run_in_executor(self._handshakes.threads, work, cast(TlsObject, self._tls))

        def done(future: asyncio.Future[Outcome]) -> None:
            self._is_postponed = False
            if self._tls is None or self.outer.is_closing():
                return
            self.outer.resume_reading()
            finish(future.result())
            if self._tls is not None:
                cast(Any, self._tls).resolve_waiter()  # only OpenSslObject works in threads

        future.add_done_callback(done)

    def _finish_step(self, outcome: Outcome) -> None:
        """Go on after a step of the handshake."""
        self._flush()
        if outcome.__class__ is ssl.SSLWantReadError:
            return
        if isinstance(outcome, Exception):
            self._fail(outcome)
            return
        choice = cast(TlsChoice, self.choice)
        tls = cast(TlsObject, self._tls)
        if choice.may_block is not None:
            self._hosts.report(self.service.engine, self.connection, choice, tls)
        self.connection.tls = self._hosts.session(choice, tls, self._received, self._flush_all)
        self._connect_inner()
        if choice.protocol == HTTP2:
            self._http().begin_http2()
        self._decrypt()

    def _connect_inner(self) -> None:
        self.inner = self.make_inner()
        self.inner.connection_made(self)
        self._end_handshake()
        if self._proxied is not None:
            super().set_proxied(*self._proxied)

    def _http(self) -> Http1Connection:
        above = self.inner
        while isinstance(above, ConnectionLayer):
            above = above.inner
        return cast(Http1Connection, above)

    def set_proxied(self, address: str, port: int) -> None:
        """Set the client that a PROXY header names; it comes before the handshake."""
        self._proxied = address, port

    def _decrypt(self) -> None:
        """Pass what has arrived to the protocol above."""
        tls = cast(TlsObject, self._tls)
        source = self._input
        choice = cast(TlsChoice, self.choice)
        while source.pending or tls.pending():
            if (
                choice.may_block is not None
                and getattr(tls, "waiter", None) is not None
                and choice.may_block()
            ):
                self._run_in_thread(_read, self._finish_read)
                return
            if not self._pass_on(_read(tls)):
                return
            if self.service.gathering and (source.pending or tls.pending()):
                self.service.write_gathered()  # the next record may end the session, or need a thread
        if self._output.pending:
            self._flush()

    def _finish_read(self, outcome: Outcome) -> None:
        """Go on after a step of a further handshake."""
        if self._pass_on(outcome):
            self._decrypt()

    def _pass_on(self, outcome: Outcome) -> bool:
        """Pass decrypted bytes to the protocol above; return False if nothing more can be read at present."""
        if isinstance(outcome, bytes):
            if outcome:
                self.inner.data_received(outcome)
                return True
            if not self.inner.eof_received():  # close_notify
                self.close()
            return False
        if outcome.__class__ is not ssl.SSLWantReadError:  # not authentic: the alert is the last that is sent
            self._is_shut = True
            tls = cast(TlsObject, self._tls)
            self._hosts.report(self.service.engine, self.connection, cast(TlsChoice, self.choice), tls)
            self._flush()
            self.outer.close()
            return False
        self._flush()
        return False

    def _flush(self) -> None:
        data = self._output.read()
        if data and not self.outer.is_closing():
            self.outer.write(data)

    def _flush_all(self) -> None:
        """Send the responses that were gathered, then what the library has written."""
        self.service.write_gathered()
        self._flush()

    def expire(self, limit: ReadDeadline | None) -> None:
        """End a handshake that takes too long."""
        listener = self.service.listener(self.connection.local_ip, self.connection.local_port)
        if limit is not None and limit.is_expired():
            line = limit.line(listener.rules.version22)
            self.service.engine.log_connection(self.connection, listener.server, line)
        self.outer.abort()

    def drop(self) -> None:
        """End a handshake whose memory newer ones need."""
        self._hosts.failed(self.service.engine, self.connection, self.choice, self._tls, None)
        self._end_handshake()
        self._is_shut = True
        self.outer.abort()

    def _fail(self, problem: Exception) -> None:
        self._hosts.failed(self.service.engine, self.connection, self.choice, self._tls, problem)
        self._end_handshake()
        self._is_shut = True
        self.outer.close()

    def _end_handshake(self) -> None:
        handshake, self._handshake = self._handshake, None
        if handshake is not None:
            self._handshakes.remove(self)
            self.service.remove(handshake)

    def eof_received(self) -> bool | None:
        if self._is_open:
            return self.inner.eof_received()
        if self._handshake is not None:
            self._fail(EOFError())
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_shut = True
        if self._is_open:
            is_answering = bool(getattr(self._http(), "is_busy", True))  # a tunnel is logged at its end
            self.inner.connection_lost(exc)
            if self.connection.tls is not None:
                self.connection.tls.end(is_answering=is_answering)
        else:
            self._end_handshake()
        self._tls = None
        self._input = _NO_BYTES
        self._output = _NO_BYTES

    def pause_writing(self) -> None:
        if self._is_open:  # a client that does not read in the handshake
            self.inner.pause_writing()

    def resume_writing(self) -> None:
        if self._is_open:
            self.inner.resume_writing()

    @property
    def _is_open(self) -> bool:
        """True once the protocol above is connected."""
        return hasattr(self, "inner")

    # transport of the protocol above --------------------------------------------------------------
    def get_extra_info(self, name: str, default: object = None) -> object:
        return self.connection if name == CLIENT_CONNECTION else super().get_extra_info(name, default)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._is_plain:
            self.outer.write(data)
            return
        if self._is_shut or not data:
            return
        if self._is_postponed:  # the library works in a thread, for a request that waits no longer
            self._is_shut = True
            self.outer.abort()
            return
        try:
            self._encrypt(data)
        except ssl.SSLError:  # the session has failed, or the client does not go on with a handshake
            self._is_shut = True
            self._flush()
            self.outer.close()
        except MemoryError:  # bytes are missing, for which the client would wait
            self.outer.abort()
            raise

    def _encrypt(self, data: bytes | bytearray | memoryview) -> None:
        """Send *data* in steps; raises ssl.SSLError."""
        tls = cast(TlsObject, self._tls)
        outer = self.outer
        output = self._output
        if len(data) <= WRITE_SIZE:
            tls.write(data)
            outer.write(output.read())
            return
        view = memoryview(data)
        for at in range(0, len(view), WRITE_SIZE):
            tls.write(view[at : at + WRITE_SIZE])
            outer.write(output.read())

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        """Send close_notify, then the end of the stream."""
        self._shut()
        self.outer.write_eof()

    def close(self) -> None:
        self._shut()
        self.outer.close()

    def _shut(self) -> None:
        """Send close_notify, once."""
        if self._is_shut or self._is_postponed or self._tls is None or self.outer.is_closing():
            return
        self._is_shut = True
        try:
            self._tls.unwrap()
        except ssl.SSLError:
            pass
        self._flush()


def layer_factory(
    service: WorkerState, hosts: TlsHosts, make_inner: Callable[[], asyncio.Protocol]
) -> Callable[[], asyncio.Protocol]:
    """Return the function that makes the layer of a new connection; all share one bound of handshakes."""
    handshakes = Handshakes()

    def tls() -> asyncio.Protocol:
        return TlsLayer(service, hosts, handshakes, make_inner)

    return tls
