"""Worker: one process with one event loop, accepting on the sockets that all workers share.

TERM and HUP stop it: requests that arrive within `IDLE_GRACE` (TERM) or `ACCEPT_GRACE` (HUP, a restart)
seconds are answered, responses may take up to `STOP_GRACE` seconds. GRACEFUL_STOP closes idle connections
likewise and waits for all responses. USR1 retires the worker after its connections have ended; idle ones
stay open for their keep-alive time, so no request is lost. The worker also ends with the master, which holds
the other end of *lifeline*.

Each byte on *control*, this worker's own pipe, is a message to the master: HEARTBEAT, RETIRE (it has served
its number of connections) or BUSY.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
import traceback
from typing import Any, Final

import uvloop

from whimbrel.base.errors import apr_error
from whimbrel.base.machine_failures import cause_of, place_of
from whimbrel.engine.body import Aborted
from whimbrel.server.connection.stack import protocol_factory
from whimbrel.server.master import messages
from whimbrel.server.master.generation import Generation
from whimbrel.server.worker.memory import MemoryWatch
from whimbrel.server.worker.scoreboard import Scoreboard
from whimbrel.server.worker.scoreboard_text import MAX_IDLE, MAX_LETTERS
from whimbrel.server.worker.state import FOREVER, WorkerState

# exit status of a worker that could not start: the master gives up (httpd's APEXIT_CHILDFATAL)
FATAL: Final = 15
# exit status of a worker that lacked resources: another may have them later (httpd's APEXIT_CHILDSICK)
SICK: Final = 7
HEARTBEAT: Final = b"."
RETIRE: Final = b"r"
BUSY: Final = b"b"
BEAT_PERIOD: Final = 5.0  # seconds between two heartbeats
STOP_GRACE: Final = 3.0  # seconds that responses may take when the server stops
END_GRACE: Final = 2.0  # seconds that each module may take when the worker ends
ACCEPT_GRACE: Final = 0.1  # seconds until an accepted connection is registered
IDLE_GRACE: Final = 0.02  # the same where nothing is served afterwards
GRACEFUL_STOP: Final = signal.SIGRTMIN  # from the master only: USR1 where no other worker follows
# collections of the middle generation before a full one, which takes 40 ms and frees next to nothing
GEN2_THRESHOLD: Final = 100
# a worker with very many connections spends at most one part in this many of its time on its statistics
STATS_SHARE: Final = 100
BUSY_SHARE: Final = 0.85  # share of a processor from which on a worker reports that it is busy


class Worker:
    """The running worker; `run` returns the signal that ended it."""

    def __init__(self, generation: Generation, slot: int, lifeline: int = -1, control: int = -1) -> None:
        self.generation = generation
        self.slot = slot
        self.lifeline = lifeline
        self.control = control
        self.reason = 0
        self._settled = False
        self._full = False
        self._is_refresh_due = False
        self._servers: list[asyncio.AbstractServer] = []
        self._reported = 0.0
        self._cpu = 0.0
        self._pause = 1.0
        self._pid = os.getpid()

    def run(self) -> int:
        """Serve until a signal ends the worker."""
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        asyncio.set_event_loop(self.loop)
        self.loop.set_exception_handler(self._on_loop_error)
        self.ended = self.loop.create_future()
        gc.set_threshold(*gc.get_threshold()[:2], GEN2_THRESHOLD)
        self._memory = MemoryWatch()
        self.generation.runtime.after_fork(self.slot)
        self.generation.runtime.report = self._report
        service = WorkerState(
            self.generation.engine, self.loop, report=self._report, period=self.generation.scan_period
        )
        self.service = service
        service.on_count = self.generation.board.counter(self.slot)
        service.on_tick = self._tick
        service.on_empty = self._empty
        service.on_accept = self._accepted
        self.generation.runtime.scoreboard = Scoreboard(
            self.generation.board, self.slot, self.generation.life, self.summary
        )
        self.generation.logs.attach(self.service.call_at_end, self.loop.call_later)
        self._handle_signals()
        if self.lifeline >= 0:
            self.loop.add_reader(self.lifeline, self._orphaned)
        try:
            self.loop.run_until_complete(self._serve())
        finally:
            self.refresh()
            self.generation.logs.finish()
        return self.reason

    def _handle_signals(self) -> None:
        """Install the signal handlers; an ignored signal gets an empty one, since CGI programs would inherit
        SIG_IGN.

        INT and WINCH of a terminal are the master's. Under -X, HUP, USR1 and WINCH have no effect; with
        prefork HUP and USR1 kill, as in httpd.
        """
        reacts: tuple[int, ...] = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, GRACEFUL_STOP)
        ignores: tuple[int, ...] = (signal.SIGINT, signal.SIGWINCH, signal.SIGUSR2)
        if self.lifeline < 0:
            prefork = self.generation.words is messages.PREFORK
            reacts = (signal.SIGTERM, signal.SIGINT, *((signal.SIGWINCH,) if prefork else ()))
            ignores = () if prefork else (signal.SIGHUP, signal.SIGUSR1, signal.SIGWINCH, signal.SIGUSR2)
        for number in reacts:
            self.loop.add_signal_handler(number, self._on_signal, number)
        for number in ignores:
            self.loop.add_signal_handler(number, _ignore)

    async def _serve(self) -> None:
        backlog = self.generation.spec.backlog
        modules = self.generation.configuration.modules.modules
        for begin in [begin for module in modules for begin in module.worker_begins]:
            await begin(self.service.engine)
        first = protocol_factory(self.service)
        for sock in self.generation.sockets.values():
            self._servers.append(await self.loop.create_server(first, sock=sock.dup(), backlog=backlog))
        self.refresh()
        self._beat()
        await self.ended
        for end in [end for module in modules for end in module.worker_ends]:
            try:
                await asyncio.wait_for(end(self.service.engine), END_GRACE)
            except Exception as problem:
                self._report(problem)

    # the end ----------------------------------------------------------------------------------
    def _on_signal(self, number: int) -> None:
        self.reason = self.reason or number
        if number == signal.SIGUSR1:
            self.retire()
        else:
            self.stop(
                ACCEPT_GRACE if number == signal.SIGHUP else IDLE_GRACE,
                FOREVER if number in (GRACEFUL_STOP, signal.SIGWINCH) else STOP_GRACE,
            )

    def _orphaned(self) -> None:
        self.loop.remove_reader(self.lifeline)
        self.stop()

    def retire(self) -> None:
        """Stop accepting and end with the last connection."""
        self._close_servers()
        self.generation.runtime.end_shared_work()
        self.service.drain()
        self.loop.call_later(ACCEPT_GRACE, self._empty)

    def _end_without_memory(self) -> None:
        """End, and let another worker take the place: a connection may have lost bytes."""
        if self.control >= 0 and not self.service.draining:
            self._send(RETIRE)
            self.stop()

    def stop(self, grace: float = IDLE_GRACE, longest: float = STOP_GRACE) -> None:
        """Stop accepting; idle connections have *grace* seconds, pending responses *longest*."""
        self._close_servers()
        self.service.drain()
        self.loop.call_later(grace, self._close_idle)
        if longest != FOREVER:
            self.loop.call_later(longest, self._finish)

    def _close_idle(self) -> None:
        self.service.stop()
        self.loop.call_soon(self._empty)

    def _close_servers(self) -> None:
        for server in self._servers:
            server.close()
        self._servers.clear()
        if self.lifeline >= 0:
            for sock in self.generation.sockets.values():
                sock.close()

    def _empty(self) -> None:
        """End after the last connection, unless an accepted one is not registered yet."""
        if not self._is_refresh_due:  # ticks stop without connections: the slot would show the last ones
            self._is_refresh_due = True
            self.loop.call_later(self._pause, self._refresh_idle)
        if self.service.draining and not self.service.connections:
            if self.service.stopping:
                self._finish()
            elif self._settled:
                self._finish()
            else:
                self._settled = True
                self.loop.call_later(ACCEPT_GRACE, self._empty)

    def _finish(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    # messages and statistics --------------------------------------------------------------------
    def _accepted(self) -> None:
        limit = self.generation.spec.requests_per_child
        if limit and self.service.accepted >= limit and not self.service.draining:
            self._send(RETIRE)
            self.loop.call_soon(self.retire)

    def _send(self, message: bytes) -> None:
        if self.control >= 0:
            try:
                os.write(self.control, message)
            except OSError:
                pass

    def _beat(self) -> None:
        """Send a heartbeat: the event loop runs."""
        if self.control >= 0:
            self._send(HEARTBEAT)
            self._memory.check()
            self.loop.call_later(BEAT_PERIOD, self._beat)

    def _tick(self) -> None:
        now = time.monotonic()
        passed = now - self._reported
        if passed >= self._pause:
            used = time.process_time() - self._cpu
            if self._reported and used > BUSY_SHARE * passed:
                self._send(BUSY)
            self.refresh()
            self._check_descriptors()
            self._memory.check()

    def _check_descriptors(self) -> None:
        """Log, once per shortage, that descriptors are exhausted: the loop closes connections then."""
        try:
            os.close(os.dup(2))
            self._full = False
        except OSError as problem:
            if not self._full:
                self._full = True
                self.generation.log(
                    "error",
                    f"{apr_error(problem)}: apr_socket_accept: (client socket)",
                    module=self.generation.words.module,
                )

    def refresh(self) -> None:
        """Write this worker's slot of the scoreboard."""
        self._reported = time.monotonic()
        self._cpu = time.process_time()
        self.generation.board.write(self.slot, self.summary())
        self._pause = max(1.0, STATS_SHARE * (time.process_time() - self._cpu))

    def _refresh_idle(self) -> None:
        """Write the slot of a worker that has no connection."""
        self._is_refresh_due = False
        if not self.service.connections:
            self.refresh()

    def summary(self) -> dict[str, Any]:
        """Return this worker's scoreboard text.

        Keys: `rows` of its connections, `worker` with the values common to all rows, `idle` for further
        threads that wait.
        """
        service = self.service
        generation = self.generation
        rows = [connection.scoreboard_row() for connection in service.connections]
        times = os.times()
        cpu = (times.user, times.system)
        states = "".join([row["state"] for row in rows])
        idle = max(1, min(generation.spec.threads, MAX_IDLE) - len(rows))
        worker = {
            "process": self.slot,
            "generation": generation.life.generation,
            "pid": self._pid,
            "requests": service.requests,
            "sent": service.sent,
            "cpu": sum(cpu),
            "duration": service.duration,
        }
        process = {
            "slot": self.slot,
            "pid": self._pid,
            "stopping": service.draining,
            "connections": len(rows),
            "accepting": not service.draining,
            "writing": states.count("W"),
            "keep_alive": states.count("K"),
            "closing": states.count("C"),
            "wait_io": states.count("R"),
            "workers": (states + "_" * idle)[:MAX_LETTERS],
        }
        return {
            "accesses": service.requests,
            "bytes": service.sent,
            "duration": service.duration,
            "cpu": cpu,
            "process": process,
            "rows": rows,
            "worker": worker,
            "idle": idle,
            "waiting": "G" if service.draining else "_",
        }

    def _on_loop_error(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log what asyncio reports: an exception of a transport, which is closed, of a callback or a task."""
        problem = context.get("exception")
        if problem is None:
            self.generation.log("crit", str(context["message"]))
        else:
            self._report(problem)

    def _report(self, problem: BaseException) -> None:
        """Log an internal error with its traceback, and a failure of the machine with its place.

        The reason of an aborted body is logged already.
        """
        if isinstance(problem, Aborted):
            return
        if cause := cause_of(problem):
            self.generation.log("error", f"{cause}: failed in {place_of(problem)}")
            if isinstance(problem, MemoryError):
                self.loop.call_soon_threadsafe(self._end_without_memory)
            return
        text = "".join(traceback.format_exception(problem))
        self.generation.log("crit", text.rstrip("\n"))


def _ignore() -> None:
    pass


def worker_main(generation: Generation, slot: int, lifeline: int, control: int) -> int:
    """Run a forked worker; return its exit status."""
    if not generation.become_user():
        return FATAL
    Worker(generation, slot, lifeline, control).run()
    return 0
