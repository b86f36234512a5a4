"""The handler of the schemes h2 and h2c (proxy_http2_handler)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final, cast

from whimbrel.backends.pool import PoolExhausted
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import lower
from whimbrel.engine.tls import BackendTlsParameters
from whimbrel.http.client.request_writer import UnsafeRequest
from whimbrel.modules.proxy.mod_proxy.backend import (
    Route,
    WorkerBackend,
    acquire,
    answer_timeout,
    backend_of,
    connect,
    determine,
    is_debugged,
    log_server,
    printed,
)
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy.tls import TlsRefused, is_possible, parameters
from whimbrel.modules.proxy.mod_proxy_http.exchange import IDEMPOTENT
from whimbrel.modules.proxy.mod_proxy_http.request_head import field_lines, forwarded_fields, request_line
from whimbrel.modules.proxy.mod_proxy_http2.connection import MultiplexedConnection, StreamError
from whimbrel.modules.proxy.mod_proxy_http2.exchange import Http2Exchange
from whimbrel.modules.proxy.mod_proxy_http2.sessions import BackendSession, session_of
from whimbrel.registry.phases import DECLINED, OK, HookStatus

_MODULE: Final = "proxy_http2"
ATTEMPTS: Final = 2
_ALPN: Final = "h2"

Fields = list[tuple[bytes, bytes]]


def handle(call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
    """Answer `call.r` by the back end; DECLINED for URLs of other schemes."""
    scheme = lower(call.url.partition(":")[0])
    if scheme == "h2c" or (scheme == "h2" and is_possible(call.r)):
        return _serve(call, scheme)
    return DECLINED


async def _serve(call: ProxyCall, function: str) -> HookStatus:
    r = call.r
    worker = call.worker
    assert worker is not None
    backend = backend_of(r.engine, worker)
    status = acquire(call, backend, function)
    if status != OK:
        return status
    try:
        route = await determine(call, backend, function)
        if not isinstance(route, Route):
            return 503  # whatever the reason, which is logged
        tls = None
        if function == "h2":
            where = printed(route.endpoint.addresses[0])
            tls = parameters(call, route.host, where, _ALPN)
            if tls is None:
                text = f"{function}: failed to enable ssl support for {where} ({route.endpoint.name})"
                log_server(r, "error", text, "AH00961")
                return 500
        has_body = r.main is None and r.body_in.length != 0
        fields = request_fields(call, route, secure=tls is not None, has_body=has_body)
        return await _attempts(call, (backend, route, tls), function, fields, has_body)
    except UnsafeRequest:
        return 400
    except (PoolExhausted, TlsRefused):
        return 503
    finally:
        if is_debugged(r):
            text = f"{function}: has released connection for ({worker.hostname}:{worker.port})"
            log_server(r, "debug", text, "AH00943")


def request_fields(call: ProxyCall, route: Route, *, secure: bool, has_body: bool) -> Fields:
    """Return the head of a request to the back end; raises UnsafeRequest."""
    r = call.r
    fields = forwarded_fields(call, route.host_field, expects=r.expecting_100, version22=False)
    authority = fields.get("Host") or ""
    fields.unset("Host")
    fields.unset("HTTP2-Settings")
    if has_body and r.body_in.length is not None and not r.body_in.is_filtered:
        fields.set("Content-Length", str(r.body_in.length))
    field_lines(fields)
    target = route.target or "/"
    request_line(r.method, target, "2")
    head = [
        (b":method", to_bytes(r.method)),
        (b":scheme", b"https" if secure else b"http"),
        (b":authority", to_bytes(authority)),
        (b":path", to_bytes(target)),
    ]
    fields.set("TE", "trailers")
    pairs = fields.entries().values()
    return head + [(to_bytes(name.lower()), to_bytes(value.strip(" \t"))) for name, value in pairs]


async def _attempts(
    call: ProxyCall,
    place: tuple[WorkerBackend, Route, BackendTlsParameters | None],
    function: str,
    fields: Fields,
    has_body: bool,
) -> HookStatus:
    """Send the request; once more, without a body, if the back end has not processed it: on a connection that
    no other request can break.
    """
    r = call.r
    (backend, route, tls) = place
    endpoint = route.endpoint
    timeout = answer_timeout(call, backend.worker)
    session = BackendSession()
    is_exclusive = not backend.is_reusable
    if not is_exclusive:
        key = (backend.worker, endpoint.name, endpoint.port, endpoint.addresses[0], tls)
        session = session_of(r.engine, key)

    async def open_connection() -> MultiplexedConnection | None:
        opened = await connect(
            call, backend, endpoint, function, fresh=True, tls=tls, make=MultiplexedConnection
        )
        if opened is not None and tls is not None:
            peer = opened.transport.get_extra_info("ssl_object")
            if peer.selected_alpn_protocol() != _ALPN:
                opened.close()
                raise TlsRefused
        return cast(MultiplexedConnection | None, opened)

    attempts = 0
    while True:
        attempts += 1
        try:
            connection = await session.acquire(open_connection, timeout)
            if connection is None:
                text = f"H2: failed to make connection to backend: {endpoint.name}"
                r.log("debug", text, code="AH03352", module=_MODULE)
                return 503
            stream = connection.begin_stream(fields, timeout, ends=not has_body)
            if is_exclusive:
                connection.is_draining = True
            return await Http2Exchange(call, backend, stream).run(has_body=has_body)
        except StreamError as problem:
            may_repeat = problem.is_untouched or (problem.is_lost and r.method in IDEMPOTENT)
            if has_body or not may_repeat:
                return problem.status
            if attempts == ATTEMPTS:
                text = f"giving up after {attempts} reconnects, request-done=1"
                r.log("debug", text, code="AH10023", module=_MODULE)
                return problem.status
            session.retire()
            session = BackendSession()
            is_exclusive = True
