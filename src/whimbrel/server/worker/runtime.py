"""Runtime of an engine in a worker."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
import zlib
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from mmap import mmap
from typing import TYPE_CHECKING, Any, Final, TypeVar

from whimbrel.backends.unix_transport import UnixConnector
from whimbrel.base.file_locks import try_lock
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.portability import load_average
from whimbrel.config.model import LogSink
from whimbrel.engine.coroutines import yield_to_loop
from whimbrel.engine.runtime import Address, NoScoreboard, P, PasswordCheck, PeriodicWork, Scoreboard
from whimbrel.server.logs.logs import Logs

if TYPE_CHECKING:
    from whimbrel.engine.tls import BackendTlsParameters
    from whimbrel.server.worker.daemon_threads import DaemonThreads

T = TypeVar("T")
# scripts of a worker that run at the same time, WebSocket connections included; further ones wait. As many
# again may read request bodies for them.
MAX_SCRIPTS: Final = 64
# bounds of the threads for other blocking work; one kind of slow work (LDAP) holds at most half of the least
MIN_THREADS = 16
MAX_THREADS = 32
MAX_SEARCHES: Final = 32  # long searches of patterns at the same time in one worker; further ones wait
SEARCH_NICENESS: Final = 10  # so that they leave the processors to the event loops
FILTER_SLOTS: Final = 8  # large bodies of up to 1 MB each in memory; one of them is in the compute thread


def thread_count(threads: int) -> int:
    """Return the number of threads for blocking work of a worker with ThreadsPerChild *threads*."""
    return min(MAX_THREADS, max(MIN_THREADS, threads))


class ServerRuntime:
    """Runtime with the real clock, the generation's logs and a thread pool.

    Attributes:
        segments: the shared memory, by name. `programs`: the programs that workers share, by name.
        report: logs an internal error; the worker sets it.
    """

    def __init__(
        self, logs: Logs, threads: int, *, slots: int = 1, segments: dict[str, mmap] | None = None
    ) -> None:
        self.slot = 0
        self.slots = slots
        self.segments = segments or {}
        self.programs: dict[str, Any] = {}
        self.report: Callable[[BaseException], None] = lambda problem: None
        # locks of periodic work: byte ranges of this file, which end with the process that holds them
        self._locks = os.fdopen(os.memfd_create("locks"), "wb")
        self._shared_work: list[asyncio.Task[None]] = []
        self.logs = logs
        self._threads = threads
        self.scoreboard: Scoreboard = NoScoreboard()
        self.filter_slots = asyncio.Semaphore(FILTER_SLOTS)
        self._pool: ThreadPoolExecutor | None = None
        self._lookup_pool: ThreadPoolExecutor | None = None
        self._connector: UnixConnector | None = None
        self._compute_pool: ThreadPoolExecutor | None = None
        self._searches: DaemonThreads | None = None
        self._scripts: dict[bool, DaemonThreads] = {}  # True: those that read for others
        self.write_log: Callable[[LogSink, bytes], None] = logs.write
        self.log_appender: Callable[[LogSink], Callable[[bytes], None]] = logs.appender
        self.now: Callable[[], float] = time.time
        self.load_average: Callable[[], tuple[float, float, float]] = load_average
        self.after_fork()

    def after_fork(self, slot: int = 0) -> None:
        """Set process and thread IDs and *slot*; called in each process that uses the runtime."""
        self.slot = slot
        self._connector = None
        self.pid = os.getpid()
        self.tid = threading.get_native_id()

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Run *work* in a thread; a cancellation waits for its end, as nothing else may use its things."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, thread_name_prefix="work")
        return await _run(self._pool, work)

    async def check_password(self, check: PasswordCheck, password: str, stored: str) -> bool:
        return await self.in_thread(lambda: check(password, stored))

    async def in_script_thread(
        self, work: Callable[[], T], abandon: Callable[[], object], *, is_input: bool = False
    ) -> T:
        """See Runtime.in_script_thread.

        A cancellation is raised after the end of *work*. Work that has no thread yet is not begun.
        """
        threads = self._scripts.get(is_input)
        if threads is None:
            from whimbrel.server.worker.daemon_threads import DaemonThreads  # few servers have scripts

            threads = DaemonThreads(MAX_SCRIPTS)
            self._scripts[is_input] = threads
        submitted = threads.submit(work)
        running = asyncio.wrap_future(submitted)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            abandon()
            if not submitted.cancel():
                await _wait_for_end(running)
            raise

    async def compute(self, work: Callable[[], T]) -> T:
        """Run *work* that keeps a core busy and releases the GIL in a thread.

        One thread for all requests: several would only evict each other's data from the caches of the core.
        """
        if self._compute_pool is None:
            self._compute_pool = ThreadPoolExecutor(1, thread_name_prefix="compute")
        return await _run(self._compute_pool, work)

    async def search(self, work: Callable[[], T]) -> T:
        """See Runtime.search. Searches that have no thread yet end with a cancellation."""
        if self._searches is None:
            from whimbrel.server.worker.daemon_threads import DaemonThreads  # few requests need one

            self._searches = DaemonThreads(MAX_SEARCHES, niceness=SEARCH_NICENESS)
        return await asyncio.wrap_future(self._searches.submit(work))

    async def reverse_lookup(self, address: str) -> str | None:
        """Return the host name of an IP address, or None."""
        return await self._in_lookup_thread(lambda: _reverse_lookup(address))

    async def resolve(self, name: str) -> list[str]:
        """Return the IP addresses of a host name, [] if it is unknown."""
        return await self._in_lookup_thread(lambda: _resolve(name))

    async def _in_lookup_thread(self, work: Callable[[], T]) -> T:
        """Run a lookup in a thread of its own pool: a name server that hangs delays lookups alone."""
        if self._lookup_pool is None:
            self._lookup_pool = ThreadPoolExecutor(self._threads, thread_name_prefix="lookup")
        return await _run(self._lookup_pool, work)

    async def connect(
        self,
        make: Callable[[], P],
        address: Address,
        *,
        timeout: float,
        source: str = "",
        tls: BackendTlsParameters | None = None,
    ) -> P:
        """See Runtime.connect."""
        if isinstance(address, str) and tls is None:
            if self._connector is None:
                self._connector = UnixConnector(asyncio.get_running_loop())
            connected = self._connector.connect(make, address)
            if connected is not None:
                return connected
        await yield_to_loop()  # time limits need a task
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(timeout):
            security: dict[str, Any] = {}
            if tls is not None:
                security = {"ssl": tls.context, "server_hostname": tls.server_name}
            if isinstance(address, str):
                return (await loop.create_unix_connection(make, address, **security))[1]
            local = (source, 0) if source else None
            return (await loop.create_connection(make, *address, local_addr=local, **security))[1]

    def every(
        self, name: str, seconds: float, work: Callable[[], Awaitable[None]], *, once: bool = True
    ) -> PeriodicWork:
        """See Runtime.every."""
        task = asyncio.get_running_loop().create_task(self._repeat(name if once else "", seconds, work))
        if once:
            self._shared_work.append(task)
        return task

    def end_shared_work(self) -> None:
        """Cancel the work that one worker runs for all: the next generation has begun its own."""
        for task in self._shared_work:
            task.cancel()
        self._shared_work.clear()

    async def _repeat(self, name: str, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            if not name or self._takes(name):
                try:
                    await work()
                except Exception as problem:
                    self.report(problem)
            await asyncio.sleep(seconds)

    def _takes(self, name: str) -> bool:
        """Return True if this process holds the lock of *name*, or could take it."""
        return try_lock(self._locks.fileno(), 1, zlib.crc32(name.encode()))

    def segment(self, name: str) -> mmap:
        return self.segments[name]

    def program(self, name: str) -> Any:
        return self.programs.get(name)


async def _run(pool: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    """Run *work* in *pool*; raise a cancellation after its end: nothing else uses what the work uses."""
    running = asyncio.get_running_loop().run_in_executor(pool, work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        await _wait_for_end(running)
        raise


async def _wait_for_end(running: asyncio.Future[Any]) -> None:
    """Wait for the end of *running* without its result."""
    await asyncio.wait({running})
    if not running.cancelled():
        running.exception()  # retrieved, since the result has no reader


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
