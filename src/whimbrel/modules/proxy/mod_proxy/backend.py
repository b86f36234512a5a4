"""Connections of scheme handlers to their back ends: what all schemes share (httpd's proxy_util.c).

A handler calls `acquire`, `determine`, `connect` in this order, and `log_message` for the lines of readers.
Pools of connections and addresses belong to a worker in one process (`Engine.worker_state`).
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Final, NamedTuple

from whimbrel.backends.connection import BackendConnection
from whimbrel.backends.pool import ConnectionPool, PoolExhausted, PoolLimits
from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.errors import apr_error
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import is_digits
from whimbrel.config.addresses import is_ipv6
from whimbrel.engine.identity import DEFAULT_PORTS
from whimbrel.engine.log.error_log_line import DEBUG, DEFAULT_LEVEL, LogLine
from whimbrel.engine.request import Request, RequestEngine
from whimbrel.engine.runtime import Address
from whimbrel.engine.tls import BackendTlsParameters
from whimbrel.http.client.answer import TIMEOUT, BackendMessage, MessageScope
from whimbrel.http.syntax.target import split_url
from whimbrel.modules.proxy.mod_proxy.errors import proxy_error, refuse_blocked
from whimbrel.modules.proxy.mod_proxy.model import ProxyWorker, port_of_scheme
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy.tls import check, is_handshake_failure, refuse
from whimbrel.modules.proxy.mod_proxy.worker_state import ProxyWorkerState, worker_states
from whimbrel.registry.phases import OK, HookStatus

_KEY: Final = "proxy backends"
_MODULE: Final = "proxy"
_UNKNOWN_NAME: Final = "(EAI 2)Name or service not known"
MAX_ENDPOINTS: Final = 64  # of one worker: proxies of ProxyRemote, Unix sockets
FOREVER: Final = float("inf")


@dataclass(slots=True, eq=False)
class Endpoint:
    """Where the connections for some requests go.

    Attributes:
        name, port: host or proxy that is connected to.
        addresses: those to try, in order; valid until `expires`, a time in seconds since the epoch.
        pool: of the connections.
    """

    name: str
    port: int
    addresses: tuple[Address, ...]
    pool: ConnectionPool
    expires: float = FOREVER

    @property
    def server(self) -> str:
        """Return ``host:port`` as messages about answers name it."""
        return f"{self.name}:{self.port}"


class Route(NamedTuple):
    """Where one request goes.

    Attributes:
        target: what the request line names.
        host, port: those of the URL; `host_field`: the value of Host for them.
    """

    endpoint: Endpoint
    target: str
    host: str
    port: int
    host_field: str


class WorkerBackend:
    """What one process keeps for one worker.

    Attributes:
        state: its state in shared memory.
        pool: connections to the worker's own address.
        site: the beginning of the URLs whose route is `own`, but for the target; "" without one.
        endpoints: others, by host and port, or by the path of a Unix socket.
    """

    __slots__ = ("endpoints", "own", "pool", "site", "state", "worker")
    own: Route | None

    def __init__(self, engine: RequestEngine, worker: ProxyWorker) -> None:
        self.worker = worker
        self.state: ProxyWorkerState = worker_states(engine)[worker]
        self.pool = self.new_pool()
        self.endpoints: BoundedDict[Address, Endpoint] = BoundedDict(MAX_ENDPOINTS)
        self.site = ""
        self.own = None

    @property
    def is_reusable(self) -> bool:
        """Return True if connections serve several requests (ap_proxy_connection_reusable)."""
        return self.worker.is_address_reusable and not self.worker.parameters.disablereuse

    def new_pool(self) -> ConnectionPool:
        """Return a pool with the limits of the worker."""
        given = self.worker.parameters
        limits = PoolLimits(
            max=given.max,
            smax=given.smax,
            ttl=given.ttl,
            acquire=given.acquire,
            keeps_open=self.is_reusable,
        )
        return ConnectionPool(limits)


def backend_of(engine: RequestEngine, worker: ProxyWorker) -> WorkerBackend:
    """Return what this process keeps for *worker*."""
    known: dict[ProxyWorker, WorkerBackend] | None = engine.worker_state.get(_KEY)
    if known is None:
        known = {}
        engine.worker_state[_KEY] = known
    backend = known.get(worker)
    if backend is None:
        backend = WorkerBackend(engine, worker)
        known[worker] = backend
    return backend


def answer_timeout(call: ProxyCall, worker: ProxyWorker) -> float:
    """Return the seconds that the back end may be silent: of the worker, ProxyTimeout or TimeOut."""
    timeout = worker.parameters.timeout
    if timeout is None:
        timeout = call.conf.timeout
    return call.r.plan.server_core.timeout if timeout is None else timeout


# Logs -------------------------------------------------------------------------------------------
def is_debugged(r: Request) -> bool:
    """Return True if LogLevel admits mod_proxy's lines at level debug."""
    levels = r.plan.levels
    limit = levels.get(_MODULE)
    return (levels.get("", DEFAULT_LEVEL) if limit is None else limit) >= DEBUG


def log_server(
    r: Request, level: str, text: str, code: str, *, cause: str = "", module: str = _MODULE
) -> None:
    """Write a line without a client; 2.2's begins with ``proxy:``."""
    if not r.plan.dialect.messages_24 and not text.startswith("ap_"):
        text = f"proxy: {text}"
    r.engine.error_log.about_server(r.server, LogLine(level, text, code, module, cause))


def log_message(r: Request, message: BackendMessage, address: str = "") -> None:
    """Write a line that the reader of an answer has left; *address* is that of the back end."""
    level, code, text, cause, module, scope = message
    if scope is MessageScope.CONNECTION and address:
        text = f"[remote {address}] {code}: {text}"
        code = ""
    if scope is MessageScope.REQUEST:
        r.log(level, text, code=code, module=module, cause=cause)
    else:
        r.engine.error_log.about_server(r.server, LogLine(level, text, code, module, cause))


# Steps ------------------------------------------------------------------------------------------
def acquire(call: ProxyCall, backend: WorkerBackend, function: str) -> HookStatus:
    """Return OK if the worker may be used, 503 if it is in error or stopped (ap_proxy_acquire_connection)."""
    r = call.r
    worker = backend.worker
    state = backend.state
    if not state.is_usable:
        name = _worker_name(r, worker)
        if not state.retry_worker(r.engine.runtime.now()):
            log_server(r, "debug", f"{function}: too soon to retry worker for ({name})", "AH00933")
        if not state.is_usable:
            log_server(r, "error", f"{function}: disabled connection for ({name})", "AH00940")
            return 503
    if is_debugged(r):
        text = f"{function}: has acquired connection for ({_worker_name(r, worker)})"
        log_server(r, "debug", text, "AH00942")
    return OK


async def determine(call: ProxyCall, backend: WorkerBackend, function: str) -> Route | HookStatus:
    """Return where the request goes, or the status of its refusal (ap_proxy_determine_connection)."""
    url = call.url
    own = backend.own
    if (
        own is not None
        and call.proxy is None
        and url.startswith(backend.site)
        and not call.conf.blocked
        and "uds_path" not in call.r.notes
    ):
        target = url[len(backend.site) :]
        endpoint = own.endpoint
        if target[:1] == "/" and (
            endpoint.expires is FOREVER or endpoint.expires > call.r.engine.runtime.now()
        ):
            if is_debugged(call.r):
                _log_route(call.r, url, own.host, own.port)
                _log_connecting(call.r, target, endpoint)
            return Route(endpoint, target, own.host, own.port, own.host_field)
    return await _determine(call, backend, function)


async def _determine(call: ProxyCall, backend: WorkerBackend, function: str) -> Route | HookStatus:
    r = call.r
    url = call.url
    worker = backend.worker
    uri = split_url(url)
    if uri is None:
        return proxy_error(r, 400, f"URI cannot be parsed: {url}")
    host = uri.hostname
    if not host:
        return proxy_error(r, 400, f"URI has no hostname: {url}")
    port = uri.port or port_of_scheme(uri.scheme or "")
    _log_route(r, url, host, port)
    site_end = url.find("/", url.find("://") + 3)
    path = url[site_end:] if site_end > 0 else ""
    target = url if call.proxy is not None and (uri.scheme or "") != "https" else path
    shown = f"[{host}]" if ":" in host else host
    host_field = f"{shown}:{uri.port_text}" if uri.port_text and port != DEFAULT_PORTS["http"] else shown
    uds_path = worker.uds_path or r.notes.get("uds_path")
    if uds_path:
        text = f"{function}: has determined UDS as {uds_path} (for {host}:{port})"
        r.log("debug", text, code="AH02545", module=_MODULE)
        pool = backend.pool if uds_path == worker.uds_path else _pool_of(backend, uds_path)
        endpoint = Endpoint(host, port, (uds_path,), pool)
    else:
        found = await _reach(call, backend, function, host, port)
        if found is None:
            old = not r.plan.dialect.messages_24
            name = host if call.proxy is None else call.proxy.hostname
            cause = "" if old else _UNKNOWN_NAME
            return proxy_error(r, 502 if old else 500, f"DNS lookup failure for: {name}", cause=cause)
        endpoint = found
    if call.conf.blocked:
        known = tuple([str(address[0]) for address in endpoint.addresses if not isinstance(address, str)])
        status = refuse_blocked(r, call.conf, host, known if call.proxy is None else ())
        if status != OK:
            return status
    route = Route(endpoint, target, host, port, host_field)
    if call.proxy is None and backend.is_reusable and endpoint.pool is backend.pool and site_end > 0:
        backend.site = url[:site_end]
        backend.own = route
    _log_connecting(r, target, endpoint)
    return route


async def _reach(
    call: ProxyCall, backend: WorkerBackend, function: str, host: str, port: int
) -> Endpoint | None:
    """Return the endpoint of *host*, or of the proxy in its place; None if the name is unknown."""
    proxy = call.proxy
    now = call.r.engine.runtime.now()
    name, number = (host, port) if proxy is None else (proxy.hostname, proxy.port)
    key = (name, number)
    known = backend.endpoints.get(key) if backend.is_reusable else None
    if known is not None and known.expires > now:
        return known
    addresses = await _addresses(call.r, function, name, number)
    if not addresses:
        return None
    if known is None:
        pool = backend.pool if proxy is None or not backend.is_reusable else backend.new_pool()
        known = Endpoint(name, number, addresses, pool)
        if backend.is_reusable:
            backend.endpoints[key] = known
    ttl = backend.worker.parameters.addressttl
    known.addresses = addresses
    known.expires = FOREVER if ttl < 0 else now + ttl
    return known


def _pool_of(backend: WorkerBackend, uds_path: str) -> ConnectionPool:
    """Return the pool for a Unix socket that the request has named."""
    if not backend.is_reusable:
        return backend.pool
    known = backend.endpoints.get(uds_path)
    if known is None:
        known = Endpoint("", 0, (uds_path,), backend.new_pool())
        backend.endpoints[uds_path] = known
    return known.pool


async def lookup(r: Request, name: str) -> Sequence[str]:
    """Return the IP addresses of *name*, which may be one; an empty sequence if it is unknown."""
    if (":" in name and is_ipv6(name)) or (name.count(".") == 3 and is_digits(name.replace(".", ""))):
        return [name]
    return await r.engine.runtime.resolve(name)


async def _addresses(r: Request, function: str, name: str, port: int) -> tuple[Address, ...]:
    """Return the addresses of *name*, () if it has none."""
    found = await lookup(r, name)
    if found and is_debugged(r) and r.plan.dialect.messages_24:
        shown = ", ".join([printed((address, port)) for address in found])
        r.log("debug", f"{function}: {name} resolved to {shown}", code="AH10479", module=_MODULE)
    return tuple([(address, port) for address in found])


def printed(address: Address) -> str:
    """Return *address* as httpd's %pI prints it."""
    if isinstance(address, str):
        return f"{address}:0"
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _log_route(r: Request, url: str, host: str, port: int) -> None:
    r.log("debug", f"connecting {url} to {host}:{port}", code="AH00944", module=_MODULE)


def _log_connecting(r: Request, target: str, endpoint: Endpoint) -> None:
    if is_debugged(r):
        text = f"connecting {target} to {printed(endpoint.addresses[0])} ({endpoint.server})"
        r.log("debug", text, code="AH00947", module=_MODULE)


def _worker_name(r: Request, worker: ProxyWorker) -> str:
    return f"{worker.hostname}:{worker.port}" if r.plan.dialect.messages_24 else worker.hostname


# Connecting -------------------------------------------------------------------------------------
async def connect(
    call: ProxyCall,
    backend: WorkerBackend,
    endpoint: Endpoint,
    function: str,
    *,
    fresh: bool = False,
    tls: BackendTlsParameters | None = None,
    make: type[BackendConnection] = BackendConnection,
) -> BackendConnection | None:
    """Return a connection, an idle one unless *fresh*; None if none could be made, which marks the worker as
    failed (ap_proxy_connect_backend).

    Raises PoolExhausted, which is logged: all connections that the worker may have are in use; TlsRefused.
    """
    pool = endpoint.pool
    tried = endpoint.addresses
    try:
        connection = await _connect(call, backend, (pool, tried, tls, make), endpoint, function, fresh)
        if connection is None and backend.is_reusable and endpoint.name and not isinstance(tried[0], str):
            addresses = await _addresses(call.r, function, endpoint.name, endpoint.port)
            if addresses and set(addresses) != set(tried):
                endpoint.addresses = addresses
                place = (pool, addresses, tls, make)
                connection = await _connect(call, backend, place, endpoint, function, fresh)
    except PoolExhausted:
        text = f"{function}: failed to acquire connection for ({_worker_name(call.r, backend.worker)})"
        log_server(call.r, "error", text, "AH00941", cause=TIMEOUT)
        raise
    if connection is None:
        _note_failure(call, backend)
    elif not connection.served:
        _note_success(backend.state)
    return connection


async def _connect(
    call: ProxyCall,
    backend: WorkerBackend,
    place: tuple[ConnectionPool, tuple[Address, ...], BackendTlsParameters | None, type[BackendConnection]],
    endpoint: Endpoint,
    function: str,
    fresh: bool,
) -> BackendConnection | None:
    r = call.r
    given = backend.worker.parameters
    timeout = given.connectiontimeout
    if timeout is None:
        timeout = answer_timeout(call, backend.worker)
    source = call.conf.source_address
    (pool, addresses, tls, make) = place
    for at, address in enumerate(addresses):
        try:
            connection = await pool.acquire(
                r.engine.runtime, address, timeout=timeout, source=source, fresh=fresh, tls=tls, make=make
            )
        except TimeoutError:
            cause = TIMEOUT
        except OSError as problem:
            if tls is not None and is_handshake_failure(problem):
                raise refuse(r, problem, printed(address)) from None
            cause = apr_error(problem)
        else:
            if not connection.served:
                _set_options(connection, backend.worker)
                _log_connected(r, function, address, endpoint)
                if tls is not None:
                    check(r, connection, tls, printed(address))
            return connection
        level = "error" if at + 1 == len(addresses) else "debug"
        _log_refused(r, level, function, address, endpoint, cause)
    return None


def _set_options(connection: BackendConnection, worker: ProxyWorker) -> None:
    """Set the options of a new socket (keepalive=, receivebuffersize=)."""
    given = worker.parameters
    if given.keepalive or given.receivebuffersize:
        raw = connection.transport.get_extra_info("socket")
        if given.keepalive:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if given.receivebuffersize:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, given.receivebuffersize)


def _log_connected(r: Request, function: str, address: Address, endpoint: Endpoint) -> None:
    if not is_debugged(r) or not r.plan.dialect.messages_24:
        return
    if isinstance(address, str):
        text = f"{function}: connection established with Unix domain socket {address} ({endpoint.server})"
        log_server(r, "debug", text, "AH02823")
    else:
        text = f"{function}: connection established with {printed(address)} ({endpoint.server})"
        log_server(r, "debug", text, "AH02824")


def _log_refused(
    r: Request, level: str, function: str, address: Address, endpoint: Endpoint, cause: str
) -> None:
    if isinstance(address, str):
        text = f"{function}: attempt to connect to Unix domain socket {address} ({endpoint.server}) failed"
        log_server(r, "error", text, "AH02454", cause=cause)
        return
    name = endpoint.server if r.plan.dialect.messages_24 else endpoint.name
    text = f"{function}: attempt to connect to {printed(address)} ({name}) failed"
    log_server(r, level, text, "AH00957", cause=cause)


def _note_failure(call: ProxyCall, backend: WorkerBackend) -> None:
    """Mark the worker as failed; 2.4 does so with members of balancers alone."""
    r = call.r
    worker = backend.worker
    state = backend.state
    new = r.plan.dialect.messages_24
    if (new and worker.balancer is None) or not state.is_usable:
        return
    if state.set_error(r.engine.runtime.now()):
        text = f"ap_proxy_connect_backend disabling worker for ({_worker_name(r, worker)})"
        log_server(r, "error", f"{text} for {state.retry:.0f}s" if new else text, "AH00959")


def _note_success(state: ProxyWorkerState) -> None:
    if state.retries or state.error_time:
        state.error_time = 0.0
        state.retries = 0
