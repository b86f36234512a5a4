"""State that the connections of one worker share: engine, clock, Date field, timeouts, counters."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from time import monotonic, time
from typing import TYPE_CHECKING, Any, Final, Protocol

from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import Server, unique_by
from whimbrel.config.mpm_config import MpmConfig
from whimbrel.config.read_limits import ReadLimits
from whimbrel.engine.cache.fd_cache import FdCache
from whimbrel.engine.engine import Engine
from whimbrel.engine.parser_limits import head_limits, head_rules
from whimbrel.http.semantics.dates import format_http
from whimbrel.http.syntax.head import HeaderBlockCache
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions

if TYPE_CHECKING:
    from whimbrel.engine.relay.relay import DeferredWriter

FOREVER: Final = float("inf")
CLOCK_PERIOD: Final = 0.05  # seconds between two renewals of the clock, at most
SCAN_SHARE: Final = 100  # a worker with very many connections spends one part in this many on deadlines
# pipelined requests beyond the first of each connection that are answered in one tick
FEW_REQUESTS: Final = 3  # of a tick, up to which responses of the next one are written at once
MAX_MORE: Final = 32
MAX_ROUND: Final = 0.002  # seconds of one tick after which no further request of a connection begins
PREFACE_SIZE: Final = 24  # bytes of the preface of HTTP/2 (RFC 9113, 3.4)


@dataclass(slots=True)
class ListenerConfig:
    """Per-listener settings: parser limits and timeouts.

    Attributes:
        timeout: Timeout in seconds
        keep_alive: KeepAliveTimeout in seconds
        server: default server of the address
        reading: RequestReadTimeout, if mod_reqtimeout is loaded
        announces: the first response of a connection may offer other protocols (`CacheIndex.first`)
        http2: mod_http2's record, if HTTP/2 is possible
        direct: a connection may begin with HTTP/2
        peeked: see Connection.peeked: the preface of HTTP/2, and mod_reqtimeout's wait for a later request
        fields: cache of parsed header blocks
    """

    limits: HeadLimits
    rules: ParserOptions
    timeout: float
    keep_alive: float
    server: Server
    reading: ReadLimits | None = None
    announces: bool = False
    http2: Any = None
    direct: bool = False
    peeked: tuple[int, int] = (0, 0)
    fields: HeaderBlockCache = field(default_factory=dict)


class TimedConnection(ABC):
    """Base of connections with a *deadline* on the worker's clock; `expire` is called once after it."""

    __slots__ = ("deadline",)

    def __init__(self) -> None:
        self.deadline = FOREVER

    @abstractmethod
    def expire(self) -> None:
        """Handle a passed deadline."""

    @abstractmethod
    def drain(self) -> None:
        """Close the connection after its next response, because the worker will end."""

    @abstractmethod
    def close_now(self) -> None:
        """Close the connection if it is idle, because the worker ends."""

    @abstractmethod
    def scoreboard_row(self) -> dict[str, Any]:
        """Return the scoreboard row of the connection."""


def _read_limits(configuration: Configuration, server: Server) -> ReadLimits | None:
    provider = configuration.provider("reqtimeout", "limits")
    return provider(configuration, server) if provider is not None else None


def scan_period(configuration: Configuration) -> float:
    """Return the seconds between two scans of all deadlines: a fraction of the shortest timeout of all
    servers.

    A scan therefore sees each deadline before it passes.

    The merged records are read without completing them, which would double their number.
    """
    servers = configuration.servers()
    timeouts = {
        (server.value(CoreServerConfig, "timeout"), server.value(CoreServerConfig, "keep_alive_timeout"))
        for server in unique_by(servers, CoreServerConfig)
    }
    times: set[float] = {time for pair in timeouts for time in pair}
    first_timeouts = configuration.provider("reqtimeout", "first_timeouts")
    if first_timeouts is not None:
        times |= first_timeouts(configuration)
    return max(0.02, min([4.0, *(time for time in times if time > 0)]) / 4)


class Postponed(Protocol):
    """A connection with input that waits for a later tick."""

    def resume(self) -> None:
        """Process some of the waiting input."""


class WorkerState:
    """State of a worker for its connections.

    `clock` is monotonic time, renewed each `period`, so that reading it is free. Without connections it
    stands still. Deadlines are scanned each `scan_period`, and when the earliest one passes. A connection
    expires up to two periods after its timeout, never before.

    New input of a connection begins one request at least. Further requests of all connections share
    `MAX_MORE` requests and `round` seconds of a tick; then connections wait in a queue (`postpone`).

    `is_busy` is True in the tick after one of more than `FEW_REQUESTS` requests. Work that pays only if many
    requests follow in the same tick is left out in the others.
    """

    def __init__(
        self,
        engine: Engine,
        loop: asyncio.AbstractEventLoop,
        *,
        report: Callable[[BaseException], None] | None = None,
        period: float | None = None,
    ) -> None:
        self.engine = engine
        self.loop = loop
        self.shows_request_tail = bool(engine.main.config(MpmConfig).see_request_tail)
        self.report = report or (lambda problem: None)
        self.connections: set[TimedConnection] = set()
        self.files = FdCache()
        self.draining = False
        self.stopping = False
        self.on_tick: Callable[[], None] = lambda: None
        self.on_empty: Callable[[], None] = lambda: None
        self.on_accept: Callable[[], None] = lambda: None
        self.accepted = 0
        self.requests = 0
        self.sent = 0
        self.duration = 0.0  # milliseconds that requests took which were not replays of cached responses
        self.on_count: Callable[[int, int, float], None] = lambda requests, sent, duration: None
        self._counted = 0  # requests when it was called last
        self.clock = monotonic()
        self.tick = 0
        self.now = 0.0
        self.in_tick = False
        self.round = MAX_ROUND
        self._more = MAX_MORE
        self._round_end = 0.0
        self._postponed: deque[Postponed] = deque()
        self.gathering: list[DeferredWriter] = []
        self._at_end: list[Callable[[], None]] = []
        self.is_busy = False
        self.second = 0.0
        self.date = b""
        self.log_time = b""
        self._timer: asyncio.TimerHandle | None = None
        self._listeners: dict[int, ListenerConfig] = {}
        self.scan_period = scan_period(engine.configuration) if period is None else period
        self.period = min(CLOCK_PERIOD, self.scan_period)
        self._scan_at = 0.0
        self._sweep_at = 0.0

    # time -------------------------------------------------------------------------------------
    def renew_date(self, now: float) -> bytes:
        """Format the value of Date for the second of *now*, and `log_time`, that of %t; `second` is its
        end. The time of the tick goes on with them: Expires is computed of it.
        """
        self.now = now
        second, self.log_time = int(now), self.engine.log_time(now)
        self.second = second + 1.0
        self.date = format_http(second).encode()
        return self.date

    def date_field(self) -> bytes:
        """Return the value of Date."""
        now = time()
        return self.date if self.second - 1.0 <= now < self.second else self.renew_date(now)

    def date_of(self, moment: float) -> bytes:
        """Return the value of Date in the response to a request of that time, however late its head is."""
        if self.second - 1.0 <= moment < self.second:
            return self.date
        if moment >= self.second:
            return self.renew_date(moment)
        return format_http(int(moment)).encode()

    def begin_tick(self) -> None:
        """Begin a tick, one iteration of the event loop: `tick` is its number, `now` its time.

        Called before the first use of data that is valid for one tick; `in_tick` is True until its end.
        """
        if not self.in_tick:
            self.in_tick = True
            now = time()
            self.now = now
            self._round_end = monotonic() + self.round
            if not self.second - 1.0 <= now < self.second:
                self.renew_date(now)
            stat_cache = self.engine.stat_cache
            stat_cache.in_tick = True
            stat_cache.tick = self.tick
            self.loop.call_soon(self._end_tick)

    def call_at_end(self, work: Callable[[], None]) -> None:
        """Call *work* at the end of the tick, after the responses of it were written."""
        if self.in_tick:
            self._at_end.append(work)
        else:
            self.loop.call_soon(work)

    def write_gathered(self) -> None:
        """Write this tick's gathered responses; a connection that cannot be written is reported."""
        gathering, self.gathering = self.gathering, []
        for connection in gathering:
            try:
                connection.write_gathered()
            except Exception as problem:
                self.report(problem)

    def count(self) -> None:
        """Call `on_count` with the counts; a tick does so at its end."""
        self._counted = self.requests
        self.on_count(self.requests, self.sent, self.duration)

    def _end_tick(self) -> None:
        requests = self.requests
        self.is_busy = requests - self._counted > FEW_REQUESTS
        if self._counted != requests:  # as in `count`, without its call
            self._counted = requests
            self.on_count(requests, self.sent, self.duration)
        if self.gathering:
            self.write_gathered()
        self.tick += 1
        self.in_tick = False
        self._more = MAX_MORE
        stat_cache = self.engine.stat_cache
        stat_cache.in_tick = False
        if stat_cache.known:
            stat_cache.known.clear()
        if self._at_end:
            works = self._at_end
            self._at_end = []
            for work in works:
                try:
                    work()
                except Exception as problem:
                    self.report(problem)

    # ticks --------------------------------------------------------------------------------------
    def takes_more(self) -> bool:
        """Return True if one more pipelined request may be answered in this tick; else it postpones."""
        if not self.in_tick:
            self.begin_tick()
        self._more -= 1
        return self._more >= 0 and monotonic() < self._round_end

    def has_time(self) -> bool:
        """Return True if a handshake may take a step in this tick; else it calls `postpone`."""
        if not self.in_tick:
            self.begin_tick()
        return monotonic() < self._round_end

    def postpone(self, connection: Postponed) -> None:
        """Resume *connection* in a later tick, after the others that wait.

        Each tick resumes one connection at least, and others for `round` seconds.
        """
        self._postponed.append(connection)
        if len(self._postponed) == 1:
            self.loop.call_soon(self._resume)

    def _resume(self) -> None:
        waiting = self._postponed
        self._round_end = monotonic() + self.round
        for _ in range(len(waiting)):
            waiting[0].resume()
            waiting.popleft()
            if self._more <= 0 or monotonic() >= self._round_end:
                break
        if waiting:
            self.loop.call_soon(self._resume)

    def _tick(self) -> None:
        now = monotonic()
        self.clock = now
        if now >= self._scan_at:
            self._scan(now)
        self._timer = self.loop.call_later(self.period, self._tick) if self.connections else None

    def _scan(self, now: float) -> None:
        """Expire connections, and set the time of the next scan."""
        late = now - self.period  # the clock was that old at most when the deadline was set
        for connection in [c for c in self.connections if c.deadline <= late]:
            connection.expire()
        begun = monotonic()
        earliest = min([c.deadline for c in self.connections], default=FOREVER) + self.period
        pause = (monotonic() - begun) * SCAN_SHARE
        self._scan_at = now + min(max(earliest - now, pause), self.scan_period)
        if now >= self._sweep_at:
            self._sweep_at = now + self.scan_period
            self.files.sweep()
            self.on_tick()

    # connections ------------------------------------------------------------------------------
    def add(self, connection: TimedConnection) -> None:
        """Register a new connection."""
        self.connections.add(connection)
        self.accepted += 1
        if self._timer is None:
            self.clock = monotonic()
            self._timer = self.loop.call_later(self.period, self._tick)
        self.on_accept()

    def remove(self, connection: TimedConnection) -> None:
        """Remove a closed connection."""
        self.connections.discard(connection)
        if not self.connections:
            self.files.close()
            self.on_empty()

    def drain(self) -> None:
        """Drain every connection: each ends after its current work."""
        self.draining = True
        self.tick += 1
        for connection in list(self.connections):
            connection.drain()

    def stop(self) -> None:
        """Close idle connections; the others end with their responses."""
        self.draining = True
        self.stopping = True
        self.tick += 1
        for connection in list(self.connections):
            connection.close_now()

    def listener(self, address: str, port: int) -> ListenerConfig:
        """Return the settings for connections to an address, from its default server."""
        return self.settings_of(self._default(address, port))

    def settings_of(self, server: Server) -> ListenerConfig:
        """Return the settings of *server*: httpd reads a request body with those of the request's host."""
        settings = self._listeners.get(id(server))
        if settings is None:
            core = server.config(CoreServerConfig)
            configuration = self.engine.configuration
            provider = configuration.provider("http2", "settings")
            http2 = provider(configuration, server) if provider is not None else None
            direct = http2 is not None and http2.direct is not False and "h2c" in core.protocols
            reading = _read_limits(configuration, server)
            waits = reading is not None and not configuration.dialect.wire_22
            settings = ListenerConfig(
                head_limits(core),
                head_rules(core, configuration, server.scheme or "http"),
                core.timeout,
                core.keep_alive_timeout,
                server,
                reading,
                self.engine.response_cache.has_first,
                http2,
                direct,
                (PREFACE_SIZE if direct else 0, 1 if waits else 0),
            )
            self._listeners[id(server)] = settings
        return settings

    def _default(self, address: str, port: int) -> Server:
        hosts = self.engine.configuration.hosts
        return self.engine.main if hosts is None else hosts.find(address, port).server
