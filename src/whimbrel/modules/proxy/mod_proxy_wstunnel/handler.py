"""The handler of ws URLs: the request goes to the back end, and both connections are joined behind it."""

from __future__ import annotations

from typing import Final

from whimbrel.backends.connection import BackendConnection
from whimbrel.backends.pool import PoolExhausted
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.http.client.answer import AnswerReader
from whimbrel.http.client.request_writer import UnsafeRequest
from whimbrel.modules.proxy.mod_proxy.backend import Route, acquire, backend_of, connect, determine
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy.tunnels import begin_tunnel
from whimbrel.modules.proxy.mod_proxy_http.canonical import CanonicalCodes, canonical_url
from whimbrel.modules.proxy.mod_proxy_http.request_head import (
    field_lines,
    forwarded_fields,
    request_line,
)
from whimbrel.modules.proxy.mod_proxy_http.upgrade import UpgradedOrigin, may_upgrade
from whimbrel.registry.phases import DECLINED, DONE, OK, HookStatus

_MODULE: Final = "proxy_wstunnel"
_CODES: Final = CanonicalCodes(_MODULE, "AH02439", "AH10419", "AH10409")
_FOREVER: Final = float("inf")


class EarlyBytes(AnswerReader):
    """Holds what the back end sends before the tunnel begins; the client gets it unread."""

    __slots__ = ()

    def feed(self, data: bytes) -> None:
        self.rest += data

    def eof(self, cause: str = "") -> None:
        """Accept any end: the tunnel ends with it."""


def canonicalize(r: Request, url: str) -> HookStatus:
    """Set `r.filename` to ``proxy:`` and the canonical form of *url* (proxy_wstunnel_canon)."""
    if lower(url.partition(":")[0]) not in ("ws", "wss"):
        return DECLINED
    return canonical_url(r, url, _CODES)


async def handle(call: ProxyCall) -> HookStatus:
    """Pass the request of *call* on and join both connections (proxy_wstunnel_handler)."""
    r = call.r
    worker = call.worker
    url = call.url
    assert worker is not None
    is_secure = lower(url[:4]) == "wss:"
    function = "WSS" if is_secure else "WS"
    r.log("trace1", f"serving URL {url}", module=_MODULE)
    wanted = r.headers_in.get_list("Upgrade")
    if wanted is None or not may_upgrade(worker, wanted, url):
        expected = worker.parameters.upgrade or "WebSocket"
        text = (
            f"require upgrade for URL {url} "
            f"(Upgrade header is {'missing' if wanted is None else wanted}, expecting {expected})"
        )
        r.log("info", text, code="AH02900", module=_MODULE)
        r.err_headers_out.set("Connection", "Upgrade")
        r.err_headers_out.set("Upgrade", expected)
        return 426
    r.log("debug", f"serving URL {url}", code="AH02451", module=_MODULE)
    backend = backend_of(r.engine, worker)
    status = acquire(call, backend, function)
    if status != OK:
        return status
    route = await determine(call, backend, function)
    if not isinstance(route, Route):
        return route
    try:
        head = _head(call, route, wanted if worker.parameters.upgrade else "WebSocket")
        connection = await connect(call, backend, route.endpoint, function, fresh=True)
    except UnsafeRequest:
        return 400
    except PoolExhausted:
        return 503
    if connection is None:
        text = f"failed to make connection to backend: {route.endpoint.name}"
        r.log("error", text, code="AH02452", module=_MODULE)
        return 503
    _begin(r, connection, head)
    return DONE


def _head(call: ProxyCall, route: Route, wanted: str) -> bytes:
    """Return the head of the request; raises UnsafeRequest."""
    fields = forwarded_fields(call, route.host_field, expects=False, version22=False)
    option = b"Upgrade: %b\r\nConnection: Upgrade\r\n\r\n" % to_bytes(wanted)
    return request_line(call.r.method, route.target, "1.1") + field_lines(fields) + option


def _begin(r: Request, connection: BackendConnection, head: bytes) -> None:
    """Send the request; everything that follows it passes the tunnel, which has no time limit."""
    connection.begin(EarlyBytes(), _FOREVER, keeps_open=False)
    connection.write(head)
    r.body_in.take_buffered()  # the head announces no body
    begin_tunnel(r, UpgradedOrigin(connection), b"", timeout=_FOREVER, is_half_closing=False)
