"""Pools of connections to back ends: one for each back end in each worker process, last in, first out."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from whimbrel.backends.connection import BackendConnection, ConnectionOwner
from whimbrel.backends.unix_transport import UnixConnector
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.coroutines import Completion, yield_to_loop
from whimbrel.engine.runtime import Address, Runtime

if TYPE_CHECKING:
    from whimbrel.engine.tls import BackendTlsParameters


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """How many connections a pool has, and for how long.

    Attributes:
        max: connections at the same time, 0 for no limit; `smax`: idle ones that stay open beyond `ttl`.
        ttl: seconds after which an idle connection above `smax` is not used again; 0 for no limit.
        acquire: seconds to wait for a connection where all are in use; None for as long as it takes.
        keeps_open: False if each connection serves one request.
    """

    max: int = 0
    smax: int = -1
    ttl: float = 0.0
    acquire: float | None = None
    keeps_open: bool = True


class PoolExhausted(Exception):
    """No connection became free in time."""


class ConnectionPool(ConnectionOwner):
    """Connections of one worker process to one address.

    Attributes:
        idle: connections without a request, the last used one last.
        count: connections that are open or being opened.
    """

    __slots__ = ("_connector", "_waiting", "count", "idle", "limits")

    def __init__(self, limits: PoolLimits) -> None:
        self.limits = limits
        self.idle: list[BackendConnection] = []
        self.count = 0
        self._connector: UnixConnector | None = None
        self._waiting: deque[Completion[None]] = deque()

    def take_idle(self, tls: BackendTlsParameters | None = None) -> BackendConnection | None:
        """Return the idle connection that was used last, None without one; those with another *tls*
        or with input that no request has asked for are closed.
        """
        idle = self.idle
        while idle:
            connection = idle.pop()
            if connection.is_closed:
                continue
            if connection.tls != tls or connection.has_input():
                connection.close()
                continue
            limits = self.limits
            if limits.ttl and len(idle) >= limits.smax >= 0:
                if asyncio.get_running_loop().time() - connection.used_at > limits.ttl:
                    connection.close()
                    continue
            return connection
        return None

    async def acquire(
        self,
        runtime: Runtime,
        address: Address,
        *,
        timeout: float,
        source: str = "",
        fresh: bool = False,
        tls: BackendTlsParameters | None = None,
        make: type[BackendConnection] = BackendConnection,
    ) -> BackendConnection:
        """Return an idle connection or a new one; *timeout* limits the time to connect, *fresh* admits new
        ones alone, of the class *make*.

        Raises:
            PoolExhausted: none became free in time. OSError, TimeoutError: no connection was made.
        """
        limits = self.limits
        while fresh or (connection := self.take_idle(tls)) is None:
            if not limits.max or self.count < limits.max:
                return await self._open(runtime, address, timeout, source, tls, make)
            if fresh and (idle := self.take_idle()) is not None:
                idle.close()  # makes room, once the loop has seen it
            await self._wait_for_free()
        return connection

    async def _wait_for_free(self) -> None:
        await yield_to_loop()  # time limits need a task
        free: Completion[None] = Completion()
        self._waiting.append(free)
        try:
            async with asyncio.timeout(self.limits.acquire):
                await free
        except TimeoutError:
            self._forget(free)
            raise PoolExhausted from None
        except asyncio.CancelledError:
            self._forget(free)
            raise

    def _forget(self, waiter: Completion[None]) -> None:
        """Remove a request that waits no longer; one that was admitted meanwhile lets another try."""
        if waiter in self._waiting:
            self._waiting.remove(waiter)
        else:
            self._admit()

    def open_now(self, path: str) -> BackendConnection | None:
        """Return a new connection to a Unix socket; None if none can be made at once."""
        if (self.limits.max and self.count >= self.limits.max) or self._waiting:
            return None
        self.count += 1
        try:
            if self._connector is None:
                self._connector = UnixConnector(asyncio.get_running_loop())
            connection = self._connector.connect(self._make, path)
        except OSError:
            connection = None
        if connection is None:
            self._freed()
        return connection

    def _make(self) -> BackendConnection:
        return BackendConnection(self)

    async def _open(
        self,
        runtime: Runtime,
        address: Address,
        timeout: float,
        source: str,
        tls: BackendTlsParameters | None,
        make: type[BackendConnection],
    ) -> BackendConnection:
        self.count += 1
        try:
            connection = await runtime.connect(
                lambda: make(self), address, timeout=timeout, source=source, tls=tls
            )
            connection.tls = tls
            return connection
        except BaseException:
            self._freed()
            raise

    def release(self, connection: BackendConnection) -> None:
        """Make an idle connection available."""
        limits = self.limits
        if not limits.keeps_open:
            connection.close()
            return
        if limits.ttl:
            connection.used_at = asyncio.get_running_loop().time()
        self.idle.append(connection)
        if self._waiting:
            self._admit()

    def lost(self, connection: BackendConnection) -> None:
        if connection in self.idle:
            self.idle.remove(connection)
        self._freed()

    def _freed(self) -> None:
        self.count -= 1
        self._admit()

    def _admit(self) -> None:
        """Let one request that waits try again."""
        if self._waiting:
            self._waiting.popleft().set(None)
