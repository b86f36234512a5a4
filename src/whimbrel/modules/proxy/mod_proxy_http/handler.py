"""The handler of the schemes http and ws: one request, one back end (proxy_http_handler)."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from whimbrel.backends.connection import BackendConnection
from whimbrel.backends.pool import PoolExhausted
from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.http.client.request_writer import UnsafeRequest
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.proxy.mod_proxy.backend import (
    Route,
    WorkerBackend,
    acquire,
    backend_of,
    connect,
    determine,
    is_debugged,
    log_server,
    printed,
)
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy.tls import TlsRefused, is_possible, parameters
from whimbrel.modules.proxy.mod_proxy_http.exchange import IDEMPOTENT, Exchange, StaleConnection
from whimbrel.modules.proxy.mod_proxy_http.relay import HttpRelayExchange
from whimbrel.modules.proxy.mod_proxy_http.request_body import (
    OutgoingBody,
    UnsupportedCoding,
    has_body,
    prefetch,
)
from whimbrel.modules.proxy.mod_proxy_http.request_head import (
    field_lines,
    forwarded_fields,
    request_line,
)
from whimbrel.modules.proxy.mod_proxy_http.rules import HttpRules, rules_of
from whimbrel.registry.phases import DECLINED, OK, REVERSE_PROXY, HookStatus

_MODULE: Final = "proxy_http"
FORCE_10: Final = "force-proxy-request-1.0"
NO_KEEPALIVE: Final = "proxy-nokeepalive"
NOT_POOLED: Final = "proxy-initial-not-pooled"
_NO_BODY: Final = OutgoingBody()
_KEEP: Final = b"Connection: Keep-Alive\r\n"
_CLOSE: Final = b"Connection: close\r\n"


def handle(call: ProxyCall) -> HookStatus | Awaitable[HookStatus]:
    """Answer `call.r` by the back end; DECLINED for URLs of other schemes."""
    url = call.url
    if url[:7] != "http://" or len(url) == 7:
        scheme, _, rest = url.partition(":")
        scheme = lower(scheme)
        is_ours = (
            scheme in ("http", "ws")
            or (scheme in ("https", "wss") and is_possible(call.r))
            or (scheme == "ftp" and call.proxy is not None)
        )
        if not is_ours or rest[:2] != "//" or len(rest) == 2:
            _log_declined(call, scheme)
            return DECLINED
    return _serve(call)


def _log_declined(call: ProxyCall, scheme: str) -> None:
    is_secure = scheme in ("https", "wss")
    code, why = ("AH01112", " (mod_ssl not configured?)") if is_secure else ("AH01113", "")
    call.r.log("debug", f"HTTP: declining URL {call.url}{why}", code=code, module=_MODULE)


async def _serve(call: ProxyCall) -> HookStatus:
    r = call.r
    worker = call.worker
    assert worker is not None
    rules = rules_of(call)
    backend = backend_of(r.engine, worker)
    status = acquire(call, backend, rules.function)
    if status != OK:
        return status
    route = await determine(call, backend, rules.function)
    if not isinstance(route, Route):
        return route
    exchange = Exchange(call, rules, backend, route)
    if rules.is_secure:
        where = printed(route.endpoint.addresses[0])
        exchange.tls = parameters(call, route.host, where)
        if exchange.tls is None:
            text = f"{rules.function}: failed to enable ssl support for {where} ({route.endpoint.name})"
            log_server(r, "error", text, "AH00961")
            return 500
    env = r.env
    force10 = FORCE_10 in env
    exchange.force10 = force10
    exchange.keeps_open = backend.is_reusable and not force10 and NO_KEEPALIVE not in env and r.main is None
    try:
        status = await _prepare(call, rules, exchange)
        if status != OK:
            return status
        fresh = NOT_POOLED in env and r.proxy == REVERSE_PROXY and not r.connection.served
        return await _attempt(call, rules, backend, exchange, fresh)
    except PoolExhausted:
        return 503
    except TlsRefused:
        return exchange.refuse_tls()
    finally:
        if exchange.body.file is not None and call.body is None:
            exchange.body.close()
        if is_debugged(r):
            name = f"{worker.hostname}:{worker.port}" if r.plan.dialect.messages_24 else worker.hostname
            log_server(r, "debug", f"{rules.function}: has released connection for ({name})", "AH00943")


async def _prepare(call: ProxyCall, rules: HttpRules, exchange: Exchange) -> HookStatus:
    """Read the beginning of the body and make the head of the request."""
    r = call.r
    route = exchange.route
    force10 = exchange.force10
    line = b""
    try:
        line = request_line(r.method, route.target, "1.0" if force10 else "1.1")
        has_upgrade = exchange.has_upgrade(call)  # of requests with a body too
        is_bodiless = not has_upgrade and not has_body(r) and not r.expecting_100
        if not is_bodiless:
            if rules.old and force10 and r.expecting_100:
                return 417
            exchange.expects = not force10 and _expects(call, rules)
        fields = forwarded_fields(call, route.host_field, expects=exchange.expects, version22=rules.old)
        lines = field_lines(fields)
        if is_bodiless:
            exchange.body = _NO_BODY
        elif isinstance(call.body, OutgoingBody):
            exchange.body = call.body  # of the member that failed before
        else:
            exchange.body = await prefetch(r, is_waiting=exchange.expects, force10=force10)
            if call.balancer is not None:
                call.body = exchange.body
    except UnsafeRequest:
        return 400
    except UnsupportedCoding:
        return 500
    except BodyError as problem:
        _log_prefetch(r, exchange, problem)
        raise
    framing = exchange.body.framing
    if force10:
        option = b""
    elif exchange.keeps_open:
        option = _KEEP
    else:
        option = _CLOSE
    if exchange.upgrade:
        option = b"Connection: Upgrade\r\nUpgrade: %b\r\n" % exchange.upgrade.encode("latin-1")
    order = (option, framing) if rules.old else (framing, option)
    exchange.head = b"".join((line, lines, *order, b"\r\n"))
    return OK


def _expects(call: ProxyCall, rules: HttpRules) -> bool:
    """Return True if the body waits for 100 Continue: the client does, or ``ping=`` is set (2.4)."""
    r = call.r
    worker = call.worker
    assert worker is not None
    if rules.old:
        return False
    if r.expecting_100 and call.dir_conf.forwards_continue:
        return True
    return worker.parameters.ping is not None and r.proxy == REVERSE_PROXY and r.body_in.length != 0


def _log_prefetch(r: Request, exchange: Exchange, problem: BodyError) -> None:
    endpoint = exchange.route.endpoint
    client = r.connection.client_ip
    where = f"{printed(endpoint.addresses[0])} ({endpoint.name}) from {client} ()"
    old = not r.plan.dialect.messages_24
    text = f"{'proxy: ' if old else ''}prefetch request body failed to {where}"
    if old:
        log_server(r, "error", text[7:], "", cause=problem.reason.cause, module=_MODULE)
    else:
        r.log("error", text, code="AH01095", module="proxy", cause=problem.reason.cause)


async def _attempt(
    call: ProxyCall, rules: HttpRules, backend: WorkerBackend, exchange: Exchange, fresh: bool
) -> HookStatus:
    """Send the request; once more on a new connection if one that was used before turns out to be closed."""
    r = call.r
    endpoint = exchange.route.endpoint
    tls = exchange.tls
    may_repeat = exchange.body is _NO_BODY and r.method in IDEMPOTENT
    relay = _relay_of(exchange)
    while True:
        if relay is not None:
            connection: BackendConnection | None = relay.connection
        else:
            connection = await connect(call, backend, endpoint, rules.function, fresh=fresh, tls=tls)
        if connection is None:
            if not rules.old:
                text = f"HTTP: failed to make connection to backend: {endpoint.name}"
                r.log("error", text, code="AH01114", module=_MODULE)
            return 503
        try:
            return await exchange.run(connection, may_repeat=may_repeat and not fresh, relay=relay)
        except StaleConnection:
            fresh = True
            relay = None


def _relay_of(exchange: Exchange) -> HttpRelayExchange | None:
    """Return the relay that has sent the bytes of *exchange*, which takes it over; None without one."""
    r = exchange.call.r
    relay = r.connection.exchange
    if (
        not isinstance(relay, HttpRelayExchange)
        or exchange.body is not _NO_BODY
        or relay.sent != exchange.head
        or relay.state is not exchange.backend.state
    ):
        return None
    r.connection.exchange = None
    r.time = relay.time
    return relay
