"""The handler of CONNECT: a tunnel to the host that the request names (proxy_connect_handler)."""

from __future__ import annotations

from typing import Any, Final

from whimbrel.backends.tunnel import Tunnel
from whimbrel.base.errors import apr_error
from whimbrel.base.latin1 import to_bytes
from whimbrel.engine import identity
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.engine.request import Request
from whimbrel.engine.runtime import Address
from whimbrel.http.client.answer import TIMEOUT
from whimbrel.http.syntax.target import split_hostinfo
from whimbrel.modules.proxy.mod_proxy.backend import log_server, lookup, printed
from whimbrel.modules.proxy.mod_proxy.errors import proxy_error, refuse_blocked
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig
from whimbrel.modules.proxy.mod_proxy.tunnels import PlainOrigin, begin_tunnel
from whimbrel.modules.proxy.mod_proxy_connect.settings import ConnectServerConfig
from whimbrel.registry.phases import DECLINED, DONE, OK, HookStatus

_MODULE: Final = "proxy_connect"
_log = module_log(_MODULE)
DEFAULT_PORTS: Final = ((443, 443), (563, 563))
_UNKNOWN_NAME: Final = "(EAI 2)Name or service not known"
_BLOCKED: Final = "Connect to remote machine blocked"


def canonicalize(_r: Request, _url: str) -> HookStatus:
    """Return DECLINED: the target of CONNECT has no canonical form."""
    return DECLINED


async def handle(call: ProxyCall) -> HookStatus:
    """Join the client with the host of `call.url`, by way of the proxy of ProxyRemote if there is one."""
    r = call.r
    old = call.r.plan.dialect.proxy_22
    r.log("debug" if old else "trace1", f"{_prefix(r)}serving URL {call.url}", module=_MODULE)
    target = split_target(call.url)
    if target is None:
        return proxy_error(r, 400, f"URI cannot be parsed: {call.url}")
    host, port = target
    r.log("debug", f"{_prefix(r)}connecting {call.url} to {host}:{port}", code="AH01019", module=_MODULE)
    name, number = (host, port) if call.proxy is None else (call.proxy.hostname, call.proxy.port)
    found = await lookup(r, name)
    if not found and not old:
        text = f"failed to resolve hostname '{name}'"
        _log(r, "error", "AH02327", text, _UNKNOWN_NAME)
        return proxy_error(r, 502, f"DNS lookup failure for: {name}")
    status = refuse_blocked(r, call.conf, host, tuple(found) if call.proxy is None else ())
    if status != OK:
        return status
    text = f"{_prefix(r)}connecting to remote proxy {name} on port {number}"
    r.log("debug" if old else "trace1", text, module=_MODULE)
    if not is_allowed(r, port):
        return 403 if old else proxy_error(r, 403, _BLOCKED)
    if not found:
        return proxy_error(r, 502, f"DNS lookup failure for: {name}")
    origin = await _connect(call, name, [(address, number) for address in found])
    if origin is None:
        return DECLINED if call.proxy is not None else 503
    _begin(call, origin, name)
    return DONE


def split_target(target: str) -> tuple[str, int] | None:
    """Return host and port of the target of CONNECT, None if it has not both (apr_uri_parse_hostinfo)."""
    parts = split_hostinfo(target)
    return (parts.hostname, parts.port) if parts is not None and parts.hostname else None


def is_allowed(r: Request, port: int) -> bool:
    """Return True if AllowCONNECT admits *port*."""
    if r.plan.dialect.proxy_22:
        known: Any = r.server.config(ProxyServerConfig).connect_ports
        ranges = [(each, each) for each in known]
    else:
        ranges = r.server.config(ConnectServerConfig).ports
    return any(first <= port <= last for first, last in ranges or DEFAULT_PORTS)


def _prefix(r: Request) -> str:
    return "proxy: CONNECT: " if r.plan.dialect.proxy_22 else ""


async def _connect(call: ProxyCall, name: str, addresses: list[Address]) -> PlainOrigin | None:
    """Return a connection to the first address that accepts one (ap_proxy_connect_to_backend)."""
    r = call.r
    timeout = call.conf.timeout
    for at, address in enumerate(addresses):
        try:
            return await r.engine.runtime.connect(
                PlainOrigin,
                address,
                timeout=r.plan.server_core.timeout if timeout is None else timeout,
                source=call.conf.source_address,
            )
        except TimeoutError:
            cause = TIMEOUT
        except OSError as problem:
            cause = apr_error(problem)
        level = "error" if at + 1 == len(addresses) else "debug"
        text = f"CONNECT: attempt to connect to {printed(address)} ({name}) failed"
        if r.plan.dialect.proxy_22:
            log_server(r, level, text, "", cause=cause)
        else:
            r.log(level, text, code="AH00939", module="proxy", cause=cause)
    return None


def _begin(call: ProxyCall, origin: PlainOrigin, name: str) -> None:
    r = call.r
    old = call.r.plan.dialect.proxy_22
    level = "debug" if old else "trace2"
    agent = to_bytes(f"Proxy-agent: {identity.server_tokens(r)}\r\n\r\n")
    if call.proxy is None:
        _log(r, "debug" if old else "trace1", "", f"{_prefix(r)}Returning 200 OK{' Status' if old else ''}")
        head = b"HTTP/1.0 200 Connection Established\r\n" + agent
    else:
        r.log(level, f"{_prefix(r)}sending the CONNECT request to the remote proxy", module=_MODULE)
        origin.transport.write(to_bytes(f"CONNECT {r.uri} HTTP/1.0\r\n") + agent)
        head = b""
    r.status = 200
    r.status_line = None
    if r.connection.is_http2:
        r.headers_out.set("Proxy-agent", identity.server_tokens(r))

    def closed(tunnel: Tunnel) -> None:
        if tunnel.has_expired:
            _log(r, "error", "AH10224", "tunnel timed out")
            if not tunnel.client.count:
                r.status = 504

    limit = float("inf") if old else r.plan.server_core.timeout
    begin_tunnel(r, origin, head, timeout=limit, is_half_closing=not old, closed=closed)
