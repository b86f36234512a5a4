"""Health checks: one connection each, closed afterwards; all of them are made in one worker."""

from __future__ import annotations

import asyncio
import os
from types import SimpleNamespace
from typing import Any, Final

from whimbrel.backends.ajp import cping
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.numbers import is_digits
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import Server
from whimbrel.engine.expressions import RequestView
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.request import RequestEngine
from whimbrel.engine.runtime import Address
from whimbrel.engine.tls import BackendTlsParameters
from whimbrel.expr.errors import EvalError
from whimbrel.http.client.answer import AnswerReader, BackendError, BackendMessage
from whimbrel.http.client.response_reader import ResponseReader
from whimbrel.http.client.response_rules import RULES_24
from whimbrel.http.semantics.headers import Headers
from whimbrel.modules.proxy.mod_proxy.backend import printed
from whimbrel.modules.proxy.mod_proxy.model import HEALTH_METHODS, ProxyWorker, WorkerStatus
from whimbrel.modules.proxy.mod_proxy.settings import ProxyServerConfig
from whimbrel.modules.proxy.mod_proxy.tls import is_handshake_failure, is_secure
from whimbrel.modules.proxy.mod_proxy.worker_state import ProxyWorkerState
from whimbrel.modules.proxy.mod_proxy_balancer.balancer import Balancer, balancer_of
from whimbrel.modules.proxy.mod_proxy_hcheck.settings import HealthCheckServerConfig

NAME: Final = "proxy_hcheck"
LONGEST_PERIOD: Final = 1.0  # seconds between two looks at all members
SHORTEST_PERIOD: Final = 0.05
MAX_BODY: Final = 256 * 1024  # bytes of a response that a check reads
_NONE: Final = HEALTH_METHODS.index("NONE")
_TCP: Final = HEALTH_METHODS.index("TCP")
_CPING: Final = HEALTH_METHODS.index("CPING")


class _Exchange(asyncio.Protocol):
    """A connection of one check, which reads the response.

    Attributes:
        reader: of the response; None for a check that only connects.
        reasons: why the response is malformed, for the error log.
    """

    def __init__(self, reader: AnswerReader | None) -> None:
        self.reader = reader
        self.reasons: tuple[BackendMessage, ...] = ()
        self.body: list[bytes] = []
        self._size = 0
        self.ended: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        if self.reader is None:
            self._end(True)

    def data_received(self, data: bytes) -> None:
        reader = self.reader
        if reader is None or self.ended.done():
            return
        try:
            reader.feed(data)
        except BackendError as problem:
            self._malformed(problem)
            return
        self._take(reader)
        if reader.done or self._size >= MAX_BODY:
            self._end(True)

    def eof_received(self) -> None:
        reader = self.reader
        if reader is not None and not self.ended.done():
            try:
                reader.eof()
            except BackendError as problem:
                self._malformed(problem)
                return
            self._take(reader)
            self._end(reader.head is not None)

    def connection_lost(self, problem: Exception | None) -> None:
        self._end(False)

    def _malformed(self, problem: BackendError) -> None:
        self.reasons = problem.reasons
        self._end(False)

    def _take(self, reader: AnswerReader) -> None:
        reader.interim.clear()
        reader.messages.clear()
        piece = reader.take()
        self._size += len(piece)
        self.body.append(piece)

    def _end(self, is_good: bool) -> None:
        if not self.ended.done():
            self.ended.set_result(is_good)
        self.transport.close()


class _Secured:
    """TLS of one check, with the SSLProxy* settings of the server.

    Attributes:
        parameters: of the connection, None if SSLProxyEngine is off, which is logged.
    """

    def __init__(self, engine: RequestEngine, server: Server, worker: ProxyWorker, address: str) -> None:
        self._address = address
        self._host = worker.hostname
        plan = engine.plans.root(server)
        self._record = SimpleNamespace(engine=engine, server=server, plan=plan, dir_config=plan.dir_config)
        provider = engine.configuration.provider("ssl", "proxy")
        self._interface: Any = None if provider is None else provider()
        self.parameters: BackendTlsParameters | None = None
        if self._interface is not None:
            self.parameters = self._interface.parameters(self._record, self._host, address)

    def is_trusted(self, transport: Any) -> bool:
        """Return True if the certificate is acceptable; the reason against it is logged."""
        peer = transport.get_extra_info("ssl_object")
        return bool(self._interface.check(self._record, self._host, peer, self._address))

    def failed(self, problem: OSError) -> None:
        """Log a failed handshake."""
        self._interface.failed(self._record, problem, self._address)


class HealthChecker:
    """The checks of all members of one engine.

    Attributes:
        running: indexes of the workers that are being checked.
    """

    def __init__(self, engine: RequestEngine) -> None:
        self.engine = engine
        configuration = engine.configuration
        self.members: list[tuple[Server, Balancer]] = []
        seen: set[int] = set()
        for server in configuration.servers():
            for balancer in server.config(ProxyServerConfig).balancers:
                if balancer.index not in seen:
                    seen.add(balancer.index)
                    self.members.append((server, balancer_of(engine, balancer)))
        limit = configuration.main.config(HealthCheckServerConfig).limit
        self._room = asyncio.Semaphore(max(1, limit))
        self._prefix = "Threaded " if limit else ""
        self._tasks: set[asyncio.Task[None]] = set()
        self.running: set[int] = set()

    def period(self) -> float:
        """Return the seconds between two looks: half of the shortest interval."""
        intervals = [member.state.interval for _, balancer in self.members for member in balancer.members]
        return max(SHORTEST_PERIOD, min([LONGEST_PERIOD, *(interval / 2 for interval in intervals)]))

    async def scan(self) -> None:
        """Begin the checks that are due."""
        now = self.engine.runtime.now()
        for server, balancer in self.members:
            balancer.synchronize()
            for worker, state in balancer.members:
                if (
                    state.method != _NONE
                    and not state.has(WorkerStatus.STOPPED)
                    and now > state.updated + state.interval
                    and worker.index not in self.running
                ):
                    self.running.add(worker.index)
                    task = asyncio.create_task(self._check(server, worker, state))
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)

    async def _check(self, server: Server, worker: ProxyWorker, state: ProxyWorkerState) -> None:
        """Check one member and count the result."""
        try:
            async with self._room:
                now = self.engine.runtime.now()
                is_good = await self._passes(server, worker, state)
                self._count(server, worker, state, is_good, now)
                state.updated = now
        finally:
            self.running.discard(worker.index)

    def _count(
        self, server: Server, worker: ProxyWorker, state: ProxyWorkerState, is_good: bool, now: float
    ) -> None:
        """Enable or disable the member after enough results in a row (hc_check)."""
        if state.has(WorkerStatus.HC_FAIL):
            if is_good:
                state.passed += 1
                if state.passed >= state.passes:
                    state.set_status(WorkerStatus.HC_FAIL | WorkerStatus.IN_ERROR, False)
                    state.passed = 0
                    text = f"{self._prefix}Health check ENABLING {worker.printed}"
                    self._log(server, "info", "AH03302", text)
        elif not is_good:
            state.error_time = now
            state.failed += 1
            if state.failed >= state.fails:
                state.set_status(WorkerStatus.HC_FAIL, True)
                state.failed = 0
                text = f"{self._prefix}Health check DISABLING {worker.printed}"
                self._log(server, "info", "AH03303", text)

    async def _passes(self, server: Server, worker: ProxyWorker, state: ProxyWorkerState) -> bool:
        """Return True if the member answers, and as its expression requires."""
        if state.method == _CPING:
            return await self._pongs(server, worker)
        method = HEALTH_METHODS[state.method]
        request, name = request_bytes(worker, method, state.uri)
        reader = None if state.method == _TCP else ResponseReader(RULES_24, name)
        protocol = "HCTCP" if reader is None else "HCOH"
        exchange = await self._exchange(server, worker, request, reader, protocol)
        if exchange is None or reader is None:
            return exchange is not None
        if reader.head is None or reader.head.version[0] != 1:
            return False
        conditions = server.config(HealthCheckServerConfig).conditions
        condition = conditions.get(state.expression) if state.expression else None
        status = reader.head.status
        if condition is None:
            return 200 <= status <= 399
        record = _response(self.engine, server, name, reader, b"".join(exchange.body))
        try:
            return condition(RequestView(record, NAME))
        except EvalError as problem:
            text = f"Error on checking condition {state.expression} for {worker.name} ({worker.printed}): "
            self._log(server, "info", "AH03301", text + problem.reason)
            return False

    async def _pongs(self, server: Server, worker: ProxyWorker) -> bool:
        """Return True if the member answers CPing with CPong, whatever its protocol (hc_check_cping)."""
        from whimbrel.modules.proxy.mod_proxy_ajp.exchange import CpongReader  # loaded where CPING is allowed

        reader = CpongReader(worker.hostname)
        return await self._exchange(server, worker, cping(), reader, "HCCPING") is not None

    async def _exchange(
        self,
        server: Server,
        worker: ProxyWorker,
        request: bytes,
        reader: AnswerReader | None,
        protocol: str,
    ) -> _Exchange | None:
        """Return the connection after its exchange, None if that failed."""
        conf = server.config(ProxyServerConfig)
        parameters = worker.parameters
        core = server.config(CoreServerConfig)
        seconds = parameters.timeout or conf.timeout or core.timeout
        if protocol == "HCCPING":
            seconds = parameters.ping or parameters.connectiontimeout or seconds
        runtime = self.engine.runtime
        exchange: _Exchange | None = None
        secured = None
        try:
            async with asyncio.timeout(seconds):
                address = await self._address(worker)
                if address is None:
                    return None
                if reader is not None and is_secure(worker.name):
                    secured = _Secured(self.engine, server, worker, printed(address))
                    if secured.parameters is None:
                        return None
                exchange = await runtime.connect(
                    lambda: _Exchange(reader),
                    address,
                    timeout=parameters.connectiontimeout or seconds,
                    source=conf.source_address,
                    tls=None if secured is None else secured.parameters,
                )
                if secured is not None and not secured.is_trusted(exchange.transport):
                    return None
                if reader is not None:
                    exchange.transport.write(request)
                if await exchange.ended:
                    return exchange
                if protocol == "HCCPING":
                    self._log_reasons(server, exchange)
        except TimeoutError:
            self._refused(server, worker, protocol, "(110)Connection timed out")
        except OSError as problem:
            if secured is not None and is_handshake_failure(problem):
                secured.failed(problem)
                return None
            cause = f"({problem.errno}){os.strerror(problem.errno)}" if problem.errno else ""
            self._refused(server, worker, protocol, cause)
        finally:
            if exchange is not None:
                exchange.transport.abort()
        return None

    async def _address(self, worker: ProxyWorker) -> Address | None:
        """Return where *worker* is, None for an unknown host."""
        if worker.uds_path:
            return worker.uds_path
        host = worker.hostname.strip("[]")
        if ":" in host or is_digits(host.replace(".", "")):
            return host, worker.port
        found = await self.engine.runtime.resolve(host)
        return (found[0], worker.port) if found else None

    def _log_reasons(self, server: Server, exchange: _Exchange) -> None:
        """Log why a CPong is malformed; the last reason is that of a request, which a check has not."""
        for reason in exchange.reasons[:-1]:
            line = LogLine(reason.level, reason.text, reason.code, reason.module, reason.cause)
            self.engine.error_log.about_server(server, line)

    def _refused(self, server: Server, worker: ProxyWorker, protocol: str, cause: str) -> None:
        place = f"{worker.hostname}:{worker.port}"
        text = f"{protocol}: attempt to connect to {place} ({place}) failed"
        line = LogLine("error", text, "AH00957", "proxy", cause)
        self.engine.error_log.about_server(server, line)

    def _log(self, server: Server, level: str, code: str, text: str) -> None:
        self.engine.error_log.about_server(server, LogLine(level, text, code, NAME))


def request_bytes(worker: ProxyWorker, method: str, uri: str) -> tuple[bytes, str]:
    """Return the request of *method* (GET11 ...) and its name (create_hcheck_req)."""
    name = method.removesuffix("11")
    version = "1.1" if name != method else "1.0"
    target = "*" if name == "OPTIONS" else worker.path + ("/" if worker.path and uri else "") + uri
    return to_bytes(f"{name} {target} HTTP/{version}\r\nHost: {worker.hostname}:{worker.port}\r\n\r\n"), name


def _response(engine: RequestEngine, server: Server, name: str, reader: ResponseReader, body: bytes) -> Any:
    """Return the response as a request record of expressions."""
    head = reader.head
    assert head is not None
    return SimpleNamespace(
        engine=engine,
        server=server,
        method=name,
        uri="",
        args=None,
        filename=None,
        path_info=None,
        protocol="HTTP/1.0",
        the_request=None,
        status=head.status,
        handler=None,
        content_type=head.fields.get("Content-Type"),
        user=None,
        auth_type=None,
        mtime=None,
        finfo=None,
        head=None,
        headers_in=Headers(),
        headers_out=head.fields,
        err_headers_out=Headers(),
        env={},
        notes={},
        main=None,
        connection=None,
        deps=SimpleNamespace(clock_fields=False, on_query=False, on_client=False),
        body=to_text(body),
        set_uncacheable=lambda: None,
    )


def start(engine: RequestEngine) -> None:
    """Look at the members from time to time, if there are any; only one worker does."""
    checker = HealthChecker(engine)
    if checker.members:
        engine.worker_state[NAME] = checker
        engine.runtime.every(NAME, checker.period(), checker.scan)
