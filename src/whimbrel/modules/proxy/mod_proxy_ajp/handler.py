"""The handler of the scheme ajp: one request, one back end (proxy_ajp_handler, ap_proxy_ajp_request)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from whimbrel.backends.ajp import MESSAGE_SIZE, ajp_message, forward_request
from whimbrel.backends.ajp_reader import AjpReader
from whimbrel.backends.connection import BackendConnection
from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import BackendError, ResponseHead
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.core.filters_by_type import set_content_type
from whimbrel.modules.proxy.mod_proxy.backend import (
    Route,
    WorkerBackend,
    is_debugged,
    log_message,
    printed,
)
from whimbrel.modules.proxy.mod_proxy.canonical_url import ReverseMaps
from whimbrel.modules.proxy.mod_proxy.program_exchange import (
    ProgramScheme,
    connection_of,
    is_timeout,
    override,
    serve,
)
from whimbrel.modules.proxy.mod_proxy.reverse import cookie_reverse_map, location_reverse_map
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy_ajp.exchange import AjpExchange, ping, request_of
from whimbrel.registry.phases import DECLINED, OK, HookStatus

_MODULE: Final = "proxy_ajp"
_SCHEME: Final = ProgramScheme(_MODULE, "AJP", "AH00896", has_port=False, ends_apart=True)
_MAX_SIZE: Final = 65536  # AJP_MAX_BUFFER_SZ
_UNIT: Final = 1024
_OVERHEAD: Final = 6  # bytes of a message with a body beside its data
_LOCATIONS: Final = frozenset(("location", "content-location", "uri", "destination"))
_IDEMPOTENT: Final = frozenset(("GET", "HEAD", "DELETE", "PUT", "OPTIONS", "TRACE"))
_PINGS: Final = 2


def handle(call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
    """Answer `call.r` by an AJP back end; DECLINED for URLs of other schemes."""
    r = call.r
    url = call.url
    is_own = lower(url[:4]) == "ajp:"
    if is_debugged(r):
        text, code = ("serving URL", "AH00895") if is_own else ("declining URL", "AH00894")
        r.log("debug", f"{text} {url}", code=code, module=_MODULE)
    return serve(call, _SCHEME, _serve) if is_own else DECLINED


async def _serve(call: ProxyCall, backend: WorkerBackend, route: Route) -> HookStatus:
    connection = await _checked_connection(call, backend, route)
    if isinstance(connection, int):
        return connection
    return await _exchange(call, backend, route, connection)


async def _checked_connection(
    call: ProxyCall, backend: WorkerBackend, route: Route
) -> BackendConnection | HookStatus:
    """Return a connection whose back end has answered a CPing, if ``ping=`` is set; else the status."""
    limit = backend.worker.parameters.ping
    for _ in range(_PINGS):
        connection = await connection_of(call, _SCHEME, backend, route)
        if isinstance(connection, int) or limit is None:
            return connection
        try:
            await ping(connection, server_of(route), limit)
        except BackendError as problem:
            connection.close()
            connection.reader = None
            for message in problem.reasons:
                log_message(call.r, message)
        else:
            return connection
    return 503


def server_of(route: Route) -> str:
    """Return the back end as messages name it: address, then name."""
    endpoint = route.endpoint
    return f"{printed(endpoint.addresses[0])} ({endpoint.server})"


def _message_size(call: ProxyCall) -> int:
    """Return the longest message (ProxyIOBufferSize)."""
    size = min(max(call.conf.io_buffer_size or 0, MESSAGE_SIZE), _MAX_SIZE)
    return -(-size // _UNIT) * _UNIT


async def _exchange(
    call: ProxyCall, backend: WorkerBackend, route: Route, connection: BackendConnection
) -> HookStatus:
    """Send the request and make the response of the answer."""
    r = call.r
    server = server_of(route)
    size = _message_size(call)
    exchange = AjpExchange(call, _SCHEME, backend, route, connection)
    keeps = backend.is_reusable and "proxy-nokeepalive" not in r.env
    coding = r.headers_in.get_list("Transfer-Encoding")
    if coding is not None and lower(coding) != "chunked":
        connection.close()
        r.log("error", f"{coding} Transfer-Encoding is not supported", code="AH10396", module=_MODULE)
        return 500
    try:
        head = forward_request(request_of(r, backend.worker, route), server, size)
        exchange.start(AjpReader(server, size), head, min(size - _OVERHEAD, 0xFFFF), keeps_open=keeps)
        if coding is None and r.main is None and r.body_in.length and not await exchange.send_first():
            text = f"read zero bytes, expecting {r.body_in.length} bytes"
            r.log("error", text, code="AH00877", module=_MODULE)
            exchange.abort()
            return 400
        answer = await exchange.begun()
    except BackendError as problem:
        if connection.reader is None:  # before `start`
            connection.close()
            exchange.log_reasons(problem)
            return problem.status
        exchange.log_failure(problem)
        exchange.abort()
        return _failed(exchange, problem)
    except BodyError:
        exchange.abort()
        raise
    except BaseException:
        connection.close()
        raise
    return await _respond(exchange, answer)


def _failed(exchange: AjpExchange, problem: BackendError) -> HookStatus:
    """Return the status of an answer that cannot be read: 503 if another back end may be tried."""
    r = exchange.r
    if is_timeout(problem) and exchange.backend.worker.parameters.ping is not None:
        return 504
    if problem.status == 500 and not exchange.has_sent_body and r.method in _IDEMPOTENT and not r.args:
        return 503
    return problem.status


async def _respond(exchange: AjpExchange, head: ResponseHead) -> HookStatus:
    """Make the response of an answer whose head has arrived."""
    call = exchange.call
    r = exchange.r
    original = r.status
    line = r.status_line
    _read_head(r, head)
    conf = call.dir_conf
    if conf.overrides(r.status):
        return await _override(exchange)
    if conf.overrides(original):
        r.status = original
        r.status_line = line
    if exchange.reader.done and is_debugged(r):
        exchange.log(ajp_message("AH00892", f"got response from {server_of(exchange.route)}", level="debug"))
    exchange.take_body()
    return OK


async def _override(exchange: AjpExchange) -> HookStatus:
    """Replace the answer by the server's own page (ProxyErrorOverride)."""
    r = exchange.r
    if r.status == 401:
        challenge = r.headers_out.get_list("WWW-Authenticate")
        if challenge is not None:
            r.err_headers_out.set("WWW-Authenticate", challenge)
        else:
            text = "ap_proxy_ajp_request: origin server sent 401 without WWW-Authenticate header"
            r.log("debug", text, code="AH00885", module=_MODULE)
    await exchange.discard()
    return override(r)


def _read_head(r: Request, head: ResponseHead) -> None:
    """Set status and fields (ajp_unmarshal_response)."""
    r.status = head.status
    r.status_line = None if head.reason is None else f"{head.status} {head.reason}"
    maps: ReverseMaps | None = None
    out = Headers([("Set-Cookie", value) for value in r.headers_out.get_all("Set-Cookie")])
    for name, value in head.fields.entries().values():
        low = lower(name)
        if low == "content-length" and not r.plan.dialect.wire_22:
            continue  # the messages delimit the body
        if low == "set-cookie" or low in _LOCATIONS:
            maps = maps or ReverseMaps(r)
            value = (cookie_reverse_map if low == "set-cookie" else location_reverse_map)(r, maps, value)
        out.add(name, value)
        if low == "content-type":
            set_content_type(r, value)
    r.headers_out = out
