"""What the connections of one worker share: engine, clock, Date field, timeouts, counters."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from time import monotonic, time
from typing import Any, Final, Protocol

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
from whimbrel.http.syntax.head import HeaderBlockCache, HeadLimits, ParserOptions

FOREVER: Final = float("inf")
# pipelined requests beyond the first of each connection that are answered in one turn of the loop
MAX_MORE: Final = 32


@dataclass(slots=True)
class ListenerConfig:
    """How connections to one address are treated: limits of heads, and seconds of patience."""

    limits: HeadLimits
    rules: ParserOptions
    timeout: float
    keep_alive: float
    server: Server
    reading: ReadLimits | None = None  # RequestReadTimeout, where mod_reqtimeout is loaded
    announces: bool = (
        False  # the first answer of a connection may name other protocols: it is not one of a kept kind
    )
    http2: Any = None  # mod_http2's settings, where HTTP/2 can be spoken
    direct: bool = False  # a connection may begin with it
    fields: HeaderBlockCache = field(default_factory=dict)  # of heads that were read


class TimedConnection(ABC):
    """Something with a *deadline* on the worker's clock; `expire` is called once that has passed."""

    __slots__ = ("deadline",)

    def __init__(self) -> None:
        self.deadline = FOREVER

    @abstractmethod
    def expire(self) -> None:
        """The deadline has passed."""

    @abstractmethod
    def drain(self) -> None:
        """The worker will end: no connection stays open beyond its next answer."""

    @abstractmethod
    def close_now(self) -> None:
        """The worker ends: idle connections are closed."""

    @abstractmethod
    def scoreboard_row(self) -> dict[str, Any]:
        """What the scoreboard says about it."""


def _read_limits(configuration: Configuration, server: Server) -> ReadLimits | None:
    provider = configuration.provider("reqtimeout", "limits")
    return provider(configuration, server) if provider is not None else None


def tick_period(configuration: Configuration) -> float:
    """The seconds between two ticks of a worker's clock: a fraction of the shortest timeout of all servers.

    Their records are looked at as they were merged: filled in they are as many again.
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
    """A connection with pipelined requests that have to wait for a later turn of the loop."""

    def resume(self) -> None:
        """Go on answering."""


class WorkerState:
    """The state of a worker as its connections see it.

    *clock* is monotonic time, renewed at each tick (a fraction of the shortest timeout, at most one second): deadlines are that coarse, and reading
    it costs nothing.  There are no ticks without connections.
    """

    def __init__(
        self,
        engine: Engine,
        loop: asyncio.AbstractEventLoop,
        *,
        report: Callable[[BaseException], None] | None = None,
        period: float | None = None,
    ) -> None:
        self.engine, self.loop = engine, loop
        self.shows_request_tail = bool(engine.main.config(MpmConfig).see_request_tail)
        self.report = report or (lambda problem: None)
        self.connections: set[TimedConnection] = set()
        self.files = FdCache()
        self.draining = self.stopping = False
        self.on_tick: Callable[[], None] = lambda: None
        self.on_empty: Callable[[], None] = lambda: None
        self.on_accept: Callable[[], None] = lambda: None
        self.accepted = self.requests = self.sent = 0
        self.duration = (
            0.0  # milliseconds that requests took which were more than the repetition of a kept answer
        )
        self.clock = monotonic()
        self.tick, self.now, self.in_tick = 0, 0.0, False
        self._more = MAX_MORE
        self._postponed: deque[Postponed] = deque()
        self.second = 0.0
        self.date = b""
        self._timer: asyncio.TimerHandle | None = None
        self._listeners: dict[int, ListenerConfig] = {}
        self.period = tick_period(engine.configuration) if period is None else period

    # time -------------------------------------------------------------------------------------
    def renew_date(self, now: float) -> bytes:
        """The value of Date for the second in which *now* lies; `second` is when it ends."""
        second = int(now)
        self.second = second + 1.0
        self.date = format_http(second).encode()
        return self.date

    def date_field(self) -> bytes:
        """The value of Date."""
        now = time()
        return self.date if self.second - 1.0 <= now < self.second else self.renew_date(now)

    def begin_tick(self) -> None:
        """Called where a turn of the loop does something that holds for the rest of it: `turn` is its number, `now` its time.

        *turning* says that this has been done.
        """
        if not self.in_tick:
            self.in_tick = True
            self.now = now = time()
            if not self.second - 1.0 <= now < self.second:
                self.renew_date(now)
            self.engine.stat_cache.in_tick = True
            self.loop.call_soon(self._end_tick)

    def _end_tick(self) -> None:
        self.tick += 1
        self.in_tick = False
        self._more = MAX_MORE
        stat_cache = self.engine.stat_cache
        stat_cache.in_tick = False
        if stat_cache.known:
            stat_cache.known.clear()

    # turns ------------------------------------------------------------------------------------
    def takes_more(self) -> bool:
        """Return True if a connection may answer one more pipelined request in this turn; otherwise it is to
        `postpone`.
        """
        if not self.in_tick:
            self.begin_tick()
        self._more -= 1
        return self._more >= 0

    def postpone(self, connection: Postponed) -> None:
        """Let *connection* `resume` in a later turn, after the others that wait for theirs."""
        self._postponed.append(connection)
        if len(self._postponed) == 1:
            self.loop.call_soon(self._resume)

    def _resume(self) -> None:
        waiting = self._postponed
        for _ in range(len(waiting)):
            if self._more <= 0:
                break
            waiting[0].resume()
            waiting.popleft()
        if waiting:
            self.loop.call_soon(self._resume)

    def _tick(self) -> None:
        self.clock = now = monotonic()
        late = now - self.period  # a deadline was counted from a tick that may have been that old
        for one in [c for c in self.connections if c.deadline <= late]:
            one.expire()
        self.files.sweep()
        self.on_tick()
        self._timer = self.loop.call_later(self.period, self._tick) if self.connections else None

    # connections ------------------------------------------------------------------------------
    def add(self, connection: TimedConnection) -> None:
        """A connection begins."""
        self.connections.add(connection)
        self.accepted += 1
        if self._timer is None:
            self.clock = monotonic()
            self._timer = self.loop.call_later(self.period, self._tick)
        self.on_accept()

    def remove(self, connection: TimedConnection) -> None:
        """A connection has ended."""
        self.connections.discard(connection)
        if not self.connections:
            self.files.close()
            self.on_empty()

    def drain(self) -> None:
        """Let every connection end after what it is doing."""
        self.draining = True
        self.tick += 1
        for one in list(self.connections):
            one.drain()

    def stop(self) -> None:
        """Close every connection that is not at work; the others end with their answers."""
        self.draining = self.stopping = True
        self.tick += 1
        for one in list(self.connections):
            one.close_now()

    def listener(self, address: str, port: int) -> ListenerConfig:
        """What the default server of an address says about its connections."""
        server = self._default(address, port)
        found = self._listeners.get(id(server))
        if found is None:
            core = server.config(CoreServerConfig)
            configuration = self.engine.configuration
            provider = configuration.provider("http2", "settings")
            http2 = provider(configuration, server) if provider is not None else None
            found = self._listeners[id(server)] = ListenerConfig(
                head_limits(core),
                head_rules(core, configuration),
                core.timeout,
                core.keep_alive_timeout,
                server,
                _read_limits(configuration, server),
                bool(core.protocols),
                http2,
                http2 is not None and http2.direct is not False and "h2c" in core.protocols,
            )
        return found

    def _default(self, address: str, port: int) -> Server:
        hosts = self.engine.configuration.hosts
        return self.engine.main if hosts is None else hosts.find(address, port).server
