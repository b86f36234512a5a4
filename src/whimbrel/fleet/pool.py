"""The processors of this machine: processes that take one server after the other, each within its bounds.

A process that dies, or that takes too much time or memory, ends; its server is not decided, and another
process takes its place. Processes are spawned: nothing of the command's own state is in them.
"""

from __future__ import annotations

import gc
import os
import time
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Final

from whimbrel.base.confinement import confine
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.process_limits import MAX_MEMORY, limit_process
from whimbrel.base.worker_signals import without_interrupts
from whimbrel.fleet.model import ServerResult
from whimbrel.fleet.servers import FleetServer
from whimbrel.fleet.tasks import FleetTask, failed, work

MAX_SECONDS: Final = 300.0
"""Seconds for one server."""
MAX_WRITE_SECONDS: Final = 60.0
"""Seconds in which a process writes the files of its server: it is not ended before."""
CLOSE_SECONDS: Final = 0.5
"""Seconds after an interrupt in which processes may end what they write."""
_POLL_SECONDS: Final = 1.0
"""Seconds between two looks at the clock."""
_END_SECONDS: Final = 5.0
"""Seconds that a process has to end after its connection."""
_WRITING: Final = "writing"
_LAST_MESSAGES: Final = 2
"""Messages that a process may have sent before it was ended: it writes, and its result."""
_NO_MEMORY: Final = 77
"""Exit code of a process that has no memory left."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The bounds of the work on one server: seconds, and bytes of a process."""

    seconds: float = MAX_SECONDS
    memory: int = MAX_MEMORY


@dataclass(slots=True)
class _Worker:
    """A process; *number* is that of its server, -1 for none."""

    process: SpawnProcess
    number: int = -1
    deadline: float = 0.0
    is_writing: bool = False


class FleetPool:
    """Processes for the servers of a fleet.

    Attributes:
        cut_writes: the numbers of the servers that were being written when `close` ended their process.
        late_results: the results that came while `close` waited.
    """

    def __init__(
        self, task: FleetTask, servers: Sequence[FleetServer], jobs: int, limits: ServerLimits
    ) -> None:
        self.cut_writes: list[int] = []
        self.late_results: list[tuple[int, ServerResult]] = []
        self._task = task
        self._servers = servers
        self._jobs = jobs
        self._limits = limits
        self._context = get_context("spawn")
        self._workers: dict[Connection, _Worker] = {}

    def results(self, numbers: Sequence[int]) -> Iterator[tuple[int, ServerResult]]:
        """Yield the results of the servers *numbers*, as they come."""
        pending = deque(numbers)
        while pending or any(worker.number >= 0 for worker in self._workers.values()):
            while pending and len(self._workers) < min(self._jobs, len(numbers)):
                self._start()
            for connection, worker in list(self._workers.items()):
                if worker.number < 0 and pending:
                    self._send(connection, worker, pending)
            yield from self._received()
            yield from self._late()

    def _start(self) -> None:
        mine, theirs = self._context.Pipe()
        arguments = self._task, theirs, self._limits.memory
        process = self._context.Process(target=_serve, args=arguments, daemon=True)
        with without_interrupts():
            process.start()
        theirs.close()
        self._workers[mine] = _Worker(process)

    def _send(self, connection: Connection, worker: _Worker, pending: deque[int]) -> None:
        try:
            connection.send(self._servers[pending[0]])
        except OSError:  # it died between two servers: the next turn replaces it
            self._end(connection)
            return
        worker.number = pending.popleft()
        worker.deadline = time.monotonic() + self._limits.seconds

    def _received(self) -> Iterator[tuple[int, ServerResult]]:
        busy = [connection for connection, worker in self._workers.items() if worker.number >= 0]
        for connection in wait(busy, self._timeout()):
            assert isinstance(connection, Connection)
            worker = self._workers[connection]
            try:
                result = connection.recv()
            except (EOFError, OSError):
                worker.process.join(_END_SECONDS)
                self._end(connection)
                yield worker.number, self._failed(worker, self._why_ended(worker.process.exitcode))
                continue
            if result == _WRITING:
                worker.is_writing = True
                worker.deadline = time.monotonic() + MAX_WRITE_SECONDS
                continue
            assert isinstance(result, ServerResult)
            number = worker.number
            worker.number = -1
            worker.is_writing = False
            yield number, result

    def _why_ended(self, status: int | None) -> str:
        if status == _NO_MEMORY:
            return f"more than {self._limits.memory >> 20} MB are needed"
        how = f"signal {-status}" if status is not None and status < 0 else f"exit code {status}"
        return f"its process ended by {how}"

    def _timeout(self) -> float:
        """Return the seconds until the next deadline."""
        deadlines = [worker.deadline for worker in self._workers.values() if worker.number >= 0]
        left = min(deadlines, default=0.0) - time.monotonic()
        return min(max(left, 0.0), _POLL_SECONDS)

    def _late(self) -> Iterator[tuple[int, ServerResult]]:
        """End the processes that take too long."""
        now = time.monotonic()
        for connection, worker in list(self._workers.items()):
            if worker.number >= 0 and worker.deadline <= now:
                self._end(connection)
                why = f"stopped after {self._limits.seconds:g} seconds"
                yield worker.number, self._failed(worker, why)

    def _failed(self, worker: _Worker, why: str) -> ServerResult:
        if worker.is_writing:
            why += "; its files were being written: whimbrel upgrade --undo restores them"
        return failed(self._servers[worker.number], why)

    def _end(self, connection: Connection) -> None:
        worker = self._workers.pop(connection)
        connection.close()
        worker.process.kill()
        worker.process.join()

    def close(self) -> None:
        """End all processes; what is written may come to its end for a moment."""
        waiting = {each: worker for each, worker in self._workers.items() if worker.number >= 0}
        ends = time.monotonic() + CLOSE_SECONDS
        self._take_last(waiting, 0.0)
        while any(worker.is_writing for worker in waiting.values()) and time.monotonic() < ends:
            self._take_last(waiting, max(ends - time.monotonic(), 0.0))
        for worker in self._workers.values():
            worker.process.kill()
        for worker in self._workers.values():
            worker.process.join()
        for _message in range(_LAST_MESSAGES):
            self._take_last(waiting, 0.0)
        self.cut_writes = [worker.number for worker in self._workers.values() if worker.is_writing]
        for connection in self._workers:
            connection.close()
        self._workers.clear()

    def _take_last(self, waiting: dict[Connection, _Worker], seconds: float) -> None:
        """Take a message of each process of *waiting* that has one within *seconds*; drop the ended ones."""
        for connection in wait(list(waiting), seconds):
            assert isinstance(connection, Connection)
            worker = waiting[connection]
            try:
                message = connection.recv()
            except (EOFError, OSError):
                del waiting[connection]
                continue
            worker.is_writing = message == _WRITING
            if isinstance(message, ServerResult):
                self.late_results.append((worker.number, message))
                del waiting[connection]


def _serve(task: FleetTask, connection: Connection, memory: int) -> None:
    """Work on servers until the other end is closed."""
    confine()
    limit_process(memory)
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 2)  # where memory ends, the interpreter prints a line for each finalizer
    has_modules = False
    while True:
        try:
            server = connection.recv()
        except (EOFError, OSError):
            return
        gc.disable()  # a configuration is a million live objects, which each collection would traverse
        try:
            connection.send(work(task, server, lambda: connection.send(_WRITING)))
        except MemoryError:
            os._exit(_NO_MEMORY)  # nothing else is sure to find the memory that it needs
        except OSError:
            return
        gc.enable()
        gc.collect()
        if not has_modules:
            gc.freeze()  # what the first server has imported stays: later collections leave it out
            has_modules = True
