"""Use of a kept process by one request: claim, connect, and give back when the connection is closed."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from whimbrel.backends.connection import BackendConnection, ConnectionOwner
from whimbrel.backends.pool import ConnectionPool, PoolLimits
from whimbrel.engine.request import RequestEngine, worker_object
from whimbrel.engine.runtime import Runtime
from whimbrel.modules.support.processes.manager import ProcessManager
from whimbrel.modules.support.processes.program import DeathReason, ProgramClass
from whimbrel.modules.support.processes.table import ProcessRecord

_POOL: Final = "processes.connections"
APPLY_TIMEOUT: Final = 64.0  # seconds in which a process must become free (mod_fcgid: 64 attempts)
SPAWN_INTERVAL: Final = 1.0  # seconds between two requests for one more process
FIRST_PAUSE: Final = 0.002  # seconds until the table is looked at again, doubled up to `LAST_PAUSE`
LAST_PAUSE: Final = 0.05


def connection_pool(engine: RequestEngine) -> ConnectionPool:
    """Return the pool of this worker's connections to kept processes, each of which serves one request."""
    return worker_object(engine, _POOL, lambda: ConnectionPool(PoolLimits(keeps_open=False)))


class ProcessLease(ConnectionOwner):
    """A process that serves one request; it is free again when the connection is closed.

    Attributes:
        on_late: called if the request took longer than the busy timeout.
    """

    def __init__(self, manager: ProcessManager, program: ProgramClass) -> None:
        self.manager = manager
        self.program = program
        self.on_late: Any = None
        self._record: ProcessRecord | None = None
        self._serial = 0

    async def connect(self, runtime: Runtime, timeout: float) -> BackendConnection:
        """Claim a process and return a connection to it; *timeout* limits the time to connect.

        Raises TimeoutError if none becomes free.
        """
        loop = asyncio.get_running_loop()
        table = self.manager.table
        key = self.program.key
        until = loop.time() + APPLY_TIMEOUT
        pause = FIRST_PAUSE
        # as in mod_fcgid, a second process starts only if the first ones are busy for a second
        request_at = loop.time() + (SPAWN_INTERVAL if table.count_busy(key) else 0.0)
        while loop.time() < until:
            record = table.claim(key)
            if record is not None:
                self._record = record
                self._serial = record.serial
                connection = await self._open(runtime, timeout)
                if connection is not None:
                    return connection
            if loop.time() >= request_at:
                request_at = loop.time() + SPAWN_INTERVAL
                self.manager.request_start(self.program)
            await asyncio.sleep(pause)
            pause = min(LAST_PAUSE, pause * 2)
        raise TimeoutError

    async def _open(self, runtime: Runtime, timeout: float) -> BackendConnection | None:
        try:
            connection: BackendConnection = await runtime.connect(
                lambda: BackendConnection(self), self.manager.socket_of(self._serial), timeout=timeout
            )
        except (OSError, TimeoutError):
            self._give_back(DeathReason.CONNECT_ERROR)
            return None
        except BaseException:
            self._give_back(None)
            raise
        return connection

    def release(self, connection: BackendConnection) -> None:
        """See ConnectionOwner: a process serves one request on a connection."""
        connection.close()

    def lost(self, connection: BackendConnection) -> None:
        self._give_back(DeathReason.COMM_ERROR if connection.failure is not None else None)

    def _give_back(self, error: DeathReason | None) -> None:
        record, self._record = self._record, None
        if record is not None:
            limit = self.program.max_requests
            is_late = self.manager.table.give_back(record, self._serial, error=error, max_requests=limit)
            if is_late and self.on_late is not None:
                self.on_late()
