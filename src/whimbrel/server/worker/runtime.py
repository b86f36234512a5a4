"""Runtime of an engine in a worker."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from whimbrel.base.latin1 import to_bytes
from whimbrel.config.model import LogSink
from whimbrel.engine.runtime import NoScoreboard, Scoreboard
from whimbrel.server.logs.logs import Logs

T = TypeVar("T")
FILTER_SLOTS: Final = 8  # large bodies of up to 1 MB each in memory; one of them is in the compute thread


class ServerRuntime:
    """Runtime with the real clock, the generation's logs and a thread pool."""

    def __init__(self, logs: Logs, threads: int) -> None:
        self.logs, self._threads = logs, threads
        self.scoreboard: Scoreboard = NoScoreboard()
        self.filter_slots = asyncio.Semaphore(FILTER_SLOTS)
        self._pool: ThreadPoolExecutor | None = None
        self._compute_pool: ThreadPoolExecutor | None = None
        self.write_log: Callable[[LogSink, bytes], None] = logs.write
        self.log_appender: Callable[[LogSink], Callable[[bytes], None]] = logs.appender
        self.now: Callable[[], float] = time.time
        self.after_fork()

    def after_fork(self) -> None:
        """Set the process and thread IDs; called in each process that uses the runtime."""
        self.pid, self.tid = os.getpid(), threading.get_native_id()

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run blocking *work* in a thread.

        A cancellation is raised after its end, so that nothing else uses what the work uses.
        """
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="work")
        return await _run(self._pool, work)

    async def compute(self, work: Callable[[], T]) -> T:
        """Run *work* that keeps a core busy and releases the GIL in a thread.

        One thread for all requests: several would only evict each other's data from the caches of the core.
        """
        if self._compute_pool is None:
            self._compute_pool = ThreadPoolExecutor(1, thread_name_prefix="compute")
        return await _run(self._compute_pool, work)

    async def reverse_lookup(self, address: str) -> str | None:
        """Return the host name of an IP address, or None."""
        return await self.in_thread(lambda: _reverse_lookup(address))

    async def resolve(self, name: str) -> list[str]:
        """Return the IP addresses of a host name, [] if it is unknown."""
        return await self.in_thread(lambda: _resolve(name))


async def _run(pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    """Run *work* in *pool*; raise a cancellation after its end: nothing else uses what the work uses."""
    running = asyncio.get_running_loop().run_in_executor(pool, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await asyncio.wait({running})
        if not running.cancelled():
            running.exception()  # retrieved, since the result has no reader
        raise


def _reverse_lookup(address: str) -> str | None:
    try:
        return socket.getnameinfo((address, 0), socket.NI_NAMEREQD)[0]
    except OSError:
        return None


def _resolve(name: str) -> list[str]:
    try:
        addresses = socket.getaddrinfo(to_bytes(name), None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(entry[4][0]) for entry in addresses))
