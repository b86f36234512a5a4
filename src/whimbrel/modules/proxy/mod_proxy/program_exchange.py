"""One request to a back end that speaks FastCGI, SCGI, uwsgi or AJP: what these schemes share.

`serve` and `connection_of` acquire a connection with httpd's log lines; a scheme then calls `begin`,
`send_body` and `head`, sets the head of the response, and ends with `take_body`, `discard` or `abort`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from whimbrel.backends.connection import FOREVER, BackendBody, BackendConnection
from whimbrel.backends.pool import PoolExhausted
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import decimal, is_digits
from whimbrel.engine.body import Aborted
from whimbrel.engine.live_source import FLUSH_WAIT
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import TIMEOUT, AnswerReader, BackendError, BackendMessage, ResponseHead
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.proxy.mod_proxy.backend import (
    Route,
    WorkerBackend,
    acquire,
    answer_timeout,
    backend_of,
    connect,
    determine,
    is_debugged,
    log_message,
    log_server,
)
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.support.body_sender import BodyInput, BodySender
from whimbrel.modules.support.cgi.script_head import ScriptHead
from whimbrel.registry.phases import OK, HookStatus

_CHUNKED_REFUSED: Final = "AH01593"
MAX_DIGITS: Final = 18  # of a length


@dataclass(frozen=True, slots=True)
class ProgramScheme:
    """The words of one scheme.

    Attributes:
        module: the short name in the log.
        function: the name in mod_proxy's messages (``FCGI``).
        unconnected: the code of the line about a connection that could not be made.
        has_port: that line names the port.
        flushes: if a pause of the answer is a flush: always, never, or as the parameter flushpackets has it.
        ends_apart: a record of its own ends the answer, so httpd does not know the length of a short body.
    """

    module: str
    function: str
    unconnected: str
    has_port: bool = True
    flushes: bool | None = None
    ends_apart: bool = False


class ExchangeBody(BackendBody):
    """The body of an answer that is not complete with its head.

    A client is sent *length* bytes, or the response is aborted; None for a body of any length.
    """

    __slots__ = ("_draining", "_exchange", "_left")

    def __init__(self, connection: BackendConnection, exchange: ProgramExchange, length: int | None) -> None:
        super().__init__(connection, exchange.flush_wait)
        self._exchange = exchange
        self._left = length
        self._draining: asyncio.Task[None] | None = None
        exchange.r.connection.open_sources.add(self)

    def read_now(self) -> bytes | None:
        """See BackendBody.read_now; log what the back end has reported."""
        exchange = self._exchange
        exchange.log_pending()
        data = super().read_now()
        if data:
            exchange.received += len(data)
        return data if self._left is None else self._counted(data, self._left)

    def _counted(self, data: bytes | None, left: int) -> bytes | None:
        """Return *data*, of which *left* bytes may follow. Raises Aborted for fewer or more."""
        if data is None and not left:
            return None
        if data is None or (data and not left):
            self._end()
            raise Aborted("the body has another length than its head declares")
        data = data[:left]
        self._left = left - len(data)
        return data

    async def wait(self) -> None:
        """See LiveSource; do what the back end requests meanwhile."""
        if not await self._exchange.attend():
            await self._connection.changed()

    def failed(self, problem: BackendError) -> None:
        self._exchange.log_failure(problem)

    def drop(self) -> None:
        """Let the program finish, but discard what it writes (HEAD, 304); in all it has one time limit."""
        if not self._finished:
            self._draining = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        exchange = self._exchange
        connection = self._connection
        try:
            async with asyncio.timeout(None if connection.timeout == FOREVER else connection.timeout):
                while not exchange.reader.done and connection.failure is None:
                    exchange.reader.take()
                    exchange.log_pending()
                    if not await exchange.attend():
                        await connection.changed()
        except TimeoutError:
            pass  # nobody waits for the rest
        finally:
            self._end()

    def _end(self) -> None:
        if not self._finished:
            exchange = self._exchange
            exchange.r.connection.open_sources.discard(self)
            exchange.log_pending()
            exchange.stop_sending()
            exchange.account()
            super()._end()
            draining, self._draining = self._draining, None
            if draining is not None and draining is not asyncio.current_task():
                draining.cancel()


class ProgramExchange:
    """One request on one connection.

    Attributes:
        sent, received: bytes, for the counters of the worker.
    """

    __slots__ = (
        "_sender",
        "backend",
        "call",
        "connection",
        "r",
        "reader",
        "received",
        "route",
        "scheme",
        "sent",
    )
    reader: AnswerReader

    def __init__(
        self,
        call: ProxyCall,
        scheme: ProgramScheme,
        backend: WorkerBackend,
        route: Route,
        connection: BackendConnection,
    ) -> None:
        self.call = call
        self.scheme = scheme
        self.backend = backend
        self.route = route
        self.r: Request = call.r
        self.connection = connection
        self.sent = 0
        self.received = 0
        self._sender: BodySender | None = None

    @property
    def server(self) -> str:
        """Return ``host:port`` of the URL, as messages name it."""
        return self.route.endpoint.server

    # the request ----------------------------------------------------------------------------------
    def begin(self, reader: AnswerReader, data: bytes, *, keeps_open: bool = False) -> None:
        """Send *data*, the beginning of the request, whose answer *reader* reads."""
        self.reader = reader
        timeout = answer_timeout(self.call, self.backend.worker)
        self.connection.begin(reader, timeout, keeps_open=keeps_open)
        self.write(data)

    def write(self, data: bytes) -> None:
        """Send a part of the request."""
        self.sent += len(data)
        self.connection.write(data)

    async def send_body(
        self, frame: Callable[[bytes], bytes], end: bytes = b"", body: BodyInput | None = None
    ) -> None:
        """Send *body* or the request's rest in *frame*'s form, then *end*, while the answer comes."""
        self._sender = BodySender(self.connection, self.write, frame, end)
        await self._sender.send(self.r.body_in if body is None else body)

    def stop_sending(self) -> None:
        """Stop sending the request: the answer is complete, or not wanted."""
        if self._sender is not None:
            self._sender.stop()

    def body_problem(self) -> BodyError | None:
        """Return the error because of which the body of the request was not read to its end."""
        return None if self._sender is None else self._sender.problem

    def unsent(self, code: str) -> HookStatus:
        """Log that the back end has not taken the request in time, end the exchange, return the status."""
        text = f"sending data to {self.server} failed"
        self.r.log("error", text, code=code, module=self.scheme.module, cause=TIMEOUT)
        self.abort()
        return 503

    # the answer -----------------------------------------------------------------------------------
    async def head(self) -> ResponseHead:
        """Return the answer's head. Raises BackendError; BodyError if the body cannot be read."""
        reader = self.reader
        connection = self.connection
        while reader.head is None:
            self.log_pending()
            problem = self.body_problem()
            if problem is not None:
                raise problem
            if connection.failure is not None:
                raise connection.failure
            if not await self.attend():
                await connection.changed()
        self.log_pending()
        return reader.head

    @property
    def flush_wait(self) -> float | None:
        """Return the seconds without bytes that are a flush; None if no pause is."""
        given = self.backend.worker.parameters
        if self.scheme.flushes is None:
            return {"on": FLUSH_WAIT, "auto": given.flushwait}.get(given.flushpackets)
        return FLUSH_WAIT if self.scheme.flushes else None

    async def attend(self) -> bool:
        """Do what the back end has requested of the caller (AJP); return False if that is nothing."""
        return False

    def take_body(self) -> None:
        """Give the response its body: the bytes that are there, and a source for the rest."""
        reader = self.reader
        r = self.r
        length = declared_length(r)
        if reader.buffered and self.scheme.ends_apart:
            r.chunked = True
        if reader.done:
            data = reader.take()
            if data:
                r.body = [data]
                if length not in (None, len(data)):
                    r.headers_out.unset("Content-Length")
            self.received += len(data)
            self.end()
        else:
            r.body = [ExchangeBody(self.connection, self, None if r.header_only else length)]

    async def discard(self) -> None:
        """Read the rest of the answer and discard it, so that the program can finish."""
        reader = self.reader
        connection = self.connection
        while not reader.done and connection.failure is None:
            reader.take()
            if not await self.attend():
                await connection.changed()
            self.log_pending()
        if connection.failure is not None:
            self.log_failure(connection.failure)
        self.end()

    def end(self) -> None:
        """Return the connection to its pool."""
        self.stop_sending()
        self.account()
        self.connection.finish()

    def abort(self) -> None:
        """Close the connection, before or after `begin`: no answer is wanted any more."""
        self.stop_sending()
        self.account()
        self.connection.close()
        self.connection.finish()

    def account(self) -> None:
        """Add the bytes to the counters of the worker."""
        self.backend.state.count(self.sent, self.received)
        self.sent = 0
        self.received = 0

    # the log --------------------------------------------------------------------------------------
    def log_pending(self) -> None:
        """Log what the back end has reported so far."""
        reader = self.reader
        if reader.errors:
            errors, reader.errors = reader.errors, []
            for text in errors:
                self.log_error(text)
        if reader.messages:
            messages, reader.messages = reader.messages, []
            for message in messages:
                self.log(message)

    def log_error(self, text: str) -> None:
        """Log a record of the program's standard error."""
        self.r.log("error", f"Got error '{text}'", code="AH01071", module=self.scheme.module)

    def log(self, message: BackendMessage) -> None:
        """Log a line of the reader."""
        log_message(self.r, message)

    def log_failure(self, problem: BackendError) -> None:
        """Log why the answer cannot be read."""
        self.log_pending()
        self.log_reasons(problem)

    def log_reasons(self, problem: BackendError) -> None:
        """Log the lines of *problem* alone."""
        for message in problem.reasons:
            self.log(message)


def declared_length(r: Request) -> int | None:
    """Return the length that the head of the answer declares; fields that are not one number are removed."""
    out = r.headers_out
    if "content-length" not in out.entries():
        return None
    values = out.get_all("Content-Length")
    if len(values) == 1 and is_digits(values[0]) and len(values[0]) <= MAX_DIGITS:
        return decimal(values[0])
    out.unset("Content-Length")
    return None


def is_timeout(problem: BackendError) -> bool:
    """Return True if the back end was silent for too long."""
    return any(message.cause == TIMEOUT for message in problem.reasons)


def read_script_head(r: Request, head: ResponseHead, module: str, *, is_late: bool = False) -> HookStatus:
    """Set the head of the response as a program has written it; return OK or the status of an error.

    304 and 412: a condition of the request decides.  *is_late*: the rest of the head did not come in time.
    """
    reader = ScriptHead(r, module)
    for line in head.script_lines or ():
        status = reader.line(line)
        if status is not None:
            return status
    return reader.timed_out() if is_late else reader.ended()


def override(r: Request) -> HookStatus:
    """Return the status of the answer, for which this server's own page is sent (ProxyErrorOverride)."""
    status = r.status
    line = r.status_line
    r.status = 200
    if line is not None and len(line) <= 4:
        r.status_line = f"{line[:3]} Unknown Reason"
    r.notes["proxy-error-override"] = "1"
    return status


def refuse_chunked(r: Request) -> HookStatus:
    """Return 411 for a chunked body, else OK (ap_setup_client_block)."""
    if r.body_in.length is not None:
        return OK
    text = f"chunked Transfer-Encoding forbidden: {r.uri}"
    r.log("error" if r.plan.dialect.proxy_22 else "info", text, code=_CHUNKED_REFUSED, module="http")
    return 411


async def reach(call: ProxyCall, scheme: ProgramScheme) -> tuple[WorkerBackend, Route] | HookStatus:
    """Return the back end and the way to it, or the status of a refusal."""
    r = call.r
    worker = call.worker
    assert worker is not None
    backend = backend_of(r.engine, worker)
    status = acquire(call, backend, scheme.function)
    if status != OK:
        return status
    route = await determine(call, backend, scheme.function)
    if isinstance(route, Route):
        return backend, route
    log_released(call, scheme)
    return route


async def serve(
    call: ProxyCall,
    scheme: ProgramScheme,
    exchange: Callable[[ProxyCall, WorkerBackend, Route], Awaitable[HookStatus]],
) -> HookStatus:
    """Return the status of *exchange* with the back end, or that of a refusal."""
    reached = await reach(call, scheme)
    if isinstance(reached, int):
        return reached
    try:
        return await exchange(call, *reached)
    finally:
        log_released(call, scheme)


async def connection_of(
    call: ProxyCall, scheme: ProgramScheme, backend: WorkerBackend, route: Route
) -> BackendConnection | HookStatus:
    """Return a connection, or 503, which is logged."""
    try:
        connection = await connect(call, backend, route.endpoint, scheme.function)
    except PoolExhausted:
        return 503
    if connection is not None:
        return connection
    name = route.endpoint.server if scheme.has_port else route.endpoint.name
    text = f"failed to make connection to backend: {name}"
    call.r.log("error", text, code=scheme.unconnected, module=scheme.module)
    return 503


def log_released(call: ProxyCall, scheme: ProgramScheme) -> None:
    """Log the end of the use of a connection (ap_proxy_release_connection)."""
    r = call.r
    worker = call.worker
    if worker is not None and is_debugged(r):
        name = worker.hostname if r.plan.dialect.proxy_22 else f"{worker.hostname}:{worker.port}"
        log_server(r, "debug", f"{scheme.function}: has released connection for ({name})", "AH00943")
