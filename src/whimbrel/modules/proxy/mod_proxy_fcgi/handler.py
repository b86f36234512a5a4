"""The handler of the scheme fcgi: one request, one back end (proxy_fcgi_handler)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from whimbrel.backends.connection import BackendConnection
from whimbrel.backends.fastcgi import END_STDIN, PROXY_FCGI, FastcgiReader, begin_request, params, stdin
from whimbrel.base.numbers import lower
from whimbrel.engine import identity
from whimbrel.engine.input.body import EARLY_BODY_NOTE
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import TIMEOUT, AnswerReader, BackendError, BackendMessage, ResponseHead
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.proxy.mod_proxy.backend import Route, WorkerBackend, is_debugged, log_message
from whimbrel.modules.proxy.mod_proxy.program_exchange import (
    ProgramExchange,
    ProgramScheme,
    connection_of,
    is_timeout,
    log_released,
    override,
    reach,
    read_script_head,
)
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy_fcgi.environment import FixupError, add_variables
from whimbrel.modules.proxy.mod_proxy_fcgi.relay import FcgiRelayExchange, offer_relay, one_piece_reader
from whimbrel.modules.support.body_sender import SpooledInput
from whimbrel.modules.support.cgi.script_head import has_bare_status
from whimbrel.registry.phases import DECLINED, OK, HookStatus

_MODULE: Final = "proxy_fcgi"
_SCHEME: Final = ProgramScheme(_MODULE, "FCGI", "AH01079", has_port=False, ends_apart=True)
MAX_PREFETCH: Final = 16384  # MAX_MEM_SPOOL: bytes of a chunked body that are read before the length is given
_BEGIN_CLOSING = begin_request()
_BEGIN_KEEPING = begin_request(keep=True)
_DISPATCH: Final = "Error dispatching request to "


class FcgiExchange(ProgramExchange):
    """One request to a FastCGI application."""

    __slots__ = ()

    def continue_with(self, relay: FcgiRelayExchange, reader: AnswerReader) -> None:
        """Read the answer to the request that *relay* has sent by *reader*."""
        self.sent = len(relay.sent)
        self.reader = reader
        self.connection.keeps_open = relay.keeps
        relay.continue_as(reader)

    def log(self, message: BackendMessage) -> None:
        """Log a line of the reader; that about the request names the port of this server."""
        if message.text.startswith(_DISPATCH):
            detail = message.text[len(_DISPATCH) + 2 :]
            message = message._replace(text=f"{_DISPATCH}{port_text(self.r)}: {detail}")
        log_message(self.r, message)

    def log_failure(self, problem: BackendError) -> None:
        """Log why the answer cannot be read; a silent back end has one line of its own."""
        if not is_timeout(problem):
            super().log_failure(problem)
            return
        self.log_pending()
        self.log_dispatch(TIMEOUT, "(polling)")

    def log_dispatch(self, cause: str, detail: str = "") -> None:
        """Log the line that ends the log of a failure."""
        text = f"{_DISPATCH}{port_text(self.r)}: {detail}"
        self.r.log("error", text, code="AH01075", module=_MODULE, cause=cause)


def port_text(r: Request) -> str:
    """Return the port of this server, with a colon, unless it is the default of the request's scheme."""
    port = identity.server_port(r)
    return "" if port == identity.DEFAULT_PORTS.get(identity.scheme(r), 80) else f":{port}"


def handle(call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
    """Answer `call.r` by a FastCGI application; DECLINED for URLs of other schemes."""
    r = call.r
    url = call.url
    is_own = lower(url[:5]) == "fcgi:"
    if is_debugged(r):
        name, port = ("(null)", 0) if call.proxy is None else (call.proxy.hostname, call.proxy.port)
        r.log("debug", f"url: {url} proxyname: {name} proxyport: {port}", code="AH01076", module=_MODULE)
        text, code = ("serving URL", "AH01078") if is_own else ("declining URL", "AH01077")
        r.log("debug", f"{text} {url}", code=code, module=_MODULE)
    return _serve(call) if is_own else DECLINED


async def _serve(call: ProxyCall) -> HookStatus:
    reached = await reach(call, _SCHEME)
    if isinstance(reached, int):
        return reached
    backend, route = reached
    body = RequestInput(call.r)
    try:
        await body.prepare()
        relay = call.r.connection.exchange
        if isinstance(relay, FcgiRelayExchange):
            call.r.connection.exchange = None
            call.r.time = relay.time
            return await _exchange(call, backend, route, relay.connection, body, relay)
        connection = await connection_of(call, _SCHEME, backend, route)
        if isinstance(connection, int):
            return connection
        return await _exchange(call, backend, route, connection, body)
    finally:
        body.close()
        log_released(call, _SCHEME)


class RequestInput:
    """The beginning of the body of a request, which decides about CONTENT_LENGTH.

    Attributes:
        first: bytes that were read before the connection was made.
        spooled: all of it, if it was read before (``proxy-sendcl``).
    """

    __slots__ = ("first", "r", "spooled")

    def __init__(self, r: Request) -> None:
        self.r = r
        self.first = b""
        self.spooled: SpooledInput | None = None

    async def prepare(self) -> None:
        """Read what must be known of the body; Content-Length if that is all. Raises BodyError."""
        r = self.r
        body = r.body_in
        r.notes[EARLY_BODY_NOTE] = "1"
        if (body.length is not None and not body.is_filtered) or r.main is not None:
            return
        pieces = []
        size = 0
        while size < MAX_PREFETCH:
            piece = await body.read()
            if not piece:
                break
            pieces.append(piece)
            size += len(piece)
        self.first = b"".join(pieces)
        if size < MAX_PREFETCH:
            self._set_length(size)
        elif "proxy-sendcl" in r.env:
            await self._spool()

    def _set_length(self, size: int) -> None:
        fields = self.r.headers_in
        fields = fields.copy()
        self.r.headers_in = fields
        fields.set("Content-Length", str(size))
        fields.unset("Transfer-Encoding")

    async def _spool(self) -> None:
        """Read the rest too, so that the length is known."""
        self.spooled = SpooledInput()
        self.spooled.write(self.first)
        self.first = b""
        await self.spooled.fill(self.r)
        self._set_length(self.spooled.length)

    async def send(self, exchange: FcgiExchange) -> None:
        """Send the body behind the variables."""
        if self.first:
            exchange.write(stdin(self.first))
        await exchange.send_body(stdin, END_STDIN, self.spooled)

    def close(self) -> None:
        """Remove the spooled body."""
        if self.spooled is not None:
            self.spooled.close()


async def _exchange(
    call: ProxyCall,
    backend: WorkerBackend,
    route: Route,
    connection: BackendConnection,
    body: RequestInput,
    relay: FcgiRelayExchange | None = None,
) -> HookStatus:
    """Send the request, unless that of *relay* is the same, and make the response of the answer."""
    r = call.r
    given = backend.worker.parameters
    keeps = backend.is_reusable and "disablereuse" in given.given and "proxy-nokeepalive" not in r.env
    exchange = FcgiExchange(call, _SCHEME, backend, route, connection)
    try:
        await add_variables(r)
        records, left_out = params(r.env.items())
        for name in left_out:
            text = f"couldn't encode envvar '{name}' in 16384 bytes"
            r.log("warn", text, code="AH02536", module=_MODULE)
        begin = _BEGIN_KEEPING if keeps else _BEGIN_CLOSING
        sent = b""
        if not body.first and body.spooled is None and r.body_in.ended and not r.body_in.buffered:
            sent = begin + records + END_STDIN
            if relay is not None and relay.sent == sent and relay.state is backend.state:
                exchange.continue_with(relay, one_piece_reader(keep=keeps))
            elif relay is not None:
                relay.close()
                return await _anew(call, backend, route, body)
            else:
                exchange.begin(one_piece_reader(keep=keeps), sent, keeps_open=keeps)
        else:
            exchange.begin(FastcgiReader(PROXY_FCGI, keep=keeps), begin + records, keeps_open=keeps)
            await body.send(exchange)
        head = await exchange.head()
    except FixupError:
        exchange.connection.close()
        cause = "(20014)Internal error (specific information not available)"
        text = f"Failed writing Environment to {port_text(r)}:"
        r.log("error", text, code="AH01074", module=_MODULE, cause=cause)
        return 503
    except BackendError as problem:
        exchange.log_failure(problem)
        exchange.abort()
        return 504 if is_timeout(problem) else problem.status
    except BodyError as problem:
        exchange.abort()
        exchange.log_dispatch(problem.reason.cause, "(reading input brigade)")
        raise
    except BaseException:
        exchange.abort()
        raise
    return await _respond(exchange, head, sent, keeps=keeps)


async def _anew(call: ProxyCall, backend: WorkerBackend, route: Route, body: RequestInput) -> HookStatus:
    """Send the request on another connection: the settings have changed since one was sent."""
    connection = await connection_of(call, _SCHEME, backend, route)
    if isinstance(connection, int):
        return connection
    return await _exchange(call, backend, route, connection, body)


async def _respond(exchange: FcgiExchange, head: ResponseHead, sent: bytes, *, keeps: bool) -> HookStatus:
    """Make the response of an answer whose head has arrived."""
    call = exchange.call
    r = exchange.r
    status = read_script_head(r, head, _MODULE) if head.script_lines is not None else OK
    if status in (304, 412):
        r.status = status
        await exchange.discard()
        return OK
    if status != OK:
        r.status = status
        r.log("error", "Error parsing script headers", code="AH01070", module=_MODULE)
        exchange.log_dispatch("(22)Invalid argument")
        exchange.abort()
        return OK
    if r.initial and call.dir_conf.overrides(r.status):
        await exchange.discard()
        if r.status_line is None and has_bare_status(head.script_lines or ()):
            r.status_line = f"{r.status}"
        return override(r)
    exchange.take_body()
    if exchange.reader.done:
        r.chunked &= head.script_lines is not None  # an output without a head comes with its end
        body = b"".join([part for part in r.body if isinstance(part, bytes)])
        offer_relay(exchange, sent, body, keeps=keeps)
    return OK
