"""Pool of worker processes: fork, signal, watch, reap.

A slot of the scoreboard belongs to one worker from its fork until it is reaped. Each worker has its own pipe
to the master, so no worker can forge messages of another. The master survives everything that a worker writes
or does.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time
import traceback
from typing import Final

from whimbrel.base.errors import apr_error
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.server.master.generation import Generation
from whimbrel.server.worker.scoreboard import SharedScoreboard
from whimbrel.server.worker.scoreboard_text import ScoreboardError
from whimbrel.server.worker.worker import BUSY, FATAL, GRACEFUL_STOP, HEARTBEAT, RETIRE, SICK, worker_main

KILL_AFTER: Final = 6.0  # seconds after which a worker that was signalled to stop is killed
KILL_WAIT: Final = 3.0  # seconds until a killed worker has ended
QUICK_DEATH: Final = 1.0  # seconds of life up to which the replacement of a worker is delayed
STALL_TIMEOUT = 30.0  # seconds without a heartbeat after which a worker is replaced
WATCH_PERIOD = 5.0  # seconds between two checks of the heartbeats
SIGNALS: Final = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGWINCH,
    signal.SIGCHLD,
    signal.SIGUSR2,
)
FATAL_SIGNALS: Final = (  # httpd's parent ends on them without a line in its log
    signal.SIGQUIT,
    signal.SIGALRM,
    signal.SIGVTALRM,
    signal.SIGPROF,
    signal.SIGXCPU,
    signal.SIGIO,
    signal.SIGPWR,
)
# signals whose deaths are expected and not logged
_ORDERED: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, GRACEFUL_STOP)


@dataclass(slots=True)
class Child:
    """A running worker.

    Attributes:
        control: descriptor of its messages, -1 after the pipe has ended
        leaving: it has announced its end and is not counted
        is_ready: its event loop has run; an exit as FATAL no longer stops the server
        silent: seconds since its last heartbeat, counted by the master's own checks
        is_aborted: it was signalled because its heartbeats stopped
    """

    pid: int
    slot: int
    generation: int
    born: float
    control: int = -1
    leaving: bool = False
    is_ready: bool = False
    silent: float = 0.0
    is_aborted: bool = False


class FatalChild(Exception):
    """Error: a worker could not start at all."""


class WorkerPool:
    """All workers, including those of earlier generations that still have connections.

    Attributes:
        wake: pipe that signals of the master make readable (reading end, writing end)
        respawn_at: when missing workers may be forked, None for now
    """

    def __init__(self, board: SharedScoreboard) -> None:
        self.board = board
        self.running: dict[int, Child] = {}
        self.respawn_at: float | None = None
        self.wake, self.wake_out = pipe()
        self.lifeline, self._lifeline_out = pipe()
        self._watched = time.monotonic()

    # beginning --------------------------------------------------------------------------------
    def spawn_missing(self, generation: Generation, wanted: int) -> None:
        """Fork the workers of *generation* that are missing up to *wanted*."""
        number = generation.life.generation
        present = sum(1 for c in self.running.values() if c.generation == number and not c.leaving)
        for _ in range(wanted - present):
            if not self._fork(generation):
                self.respawn_at = time.monotonic() + QUICK_DEATH
                return

    def _fork(self, generation: Generation) -> bool:
        taken = {c.slot for c in self.running.values()}
        slot = next((n for n in range(self.board.slots) if n not in taken), None)
        if slot is None:
            self._make_room(generation)
            return False
        ends: tuple[int, ...] = ()
        try:
            ends = pipe()
            pid = os.fork()
        except OSError as problem:
            for end in ends:
                os.close(end)
            generation.log(
                "error", "fork: Unable to fork new process", code="AH00159", cause=apr_error(problem)
            )
            return False
        if pid == 0:
            self._become_worker(generation, slot, *ends)
        os.close(ends[1])
        self.running[pid] = Child(pid, slot, generation.life.generation, time.monotonic(), ends[0])
        return True

    def _make_room(self, generation: Generation) -> None:
        """Stop the oldest worker if earlier generations hold all slots; it gets a moment."""
        code, text = generation.words.full
        generation.log("error", text, code=code, module=generation.words.module)
        oldest = min(self.running.values(), key=lambda child: (child.generation, child.born))
        os.kill(oldest.pid, signal.SIGTERM)

    def _become_worker(self, generation: Generation, slot: int, control_in: int, control: int) -> None:
        status = FATAL
        generation.runtime.after_fork(slot)
        try:
            signal.set_wakeup_fd(-1)
            for number in {*SIGNALS, *FATAL_SIGNALS} - {signal.SIGUSR2}:  # ignored at all times
                signal.signal(number, signal.SIG_DFL)
            for handle in (
                self._lifeline_out,
                self.wake,
                self.wake_out,
                control_in,
                *(child.control for child in self.running.values()),
            ):
                if handle >= 0:
                    os.close(handle)
            status = worker_main(generation, slot, self.lifeline, control)
        except Exception as problem:
            if isinstance(problem, OSError) and problem.errno in _SHORTAGES:
                status = SICK
            generation.log("crit", "".join(traceback.format_exception(problem)).rstrip("\n"))
        finally:
            generation.logs.flush()
            os._exit(status)

    # ending -----------------------------------------------------------------------------------
    def reap(self, generation: Generation) -> None:
        """Reap all ended processes, including log programs. Raises FatalChild."""
        fatal = False
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            gone = self.running.pop(pid, None)
            if gone is None:
                generation.program_ended(pid)
            else:
                fatal = self._log_end(gone, os.waitstatus_to_exitcode(status), generation) or fatal
        if fatal:
            raise FatalChild

    def _log_end(self, gone: Child, code: int, generation: Generation) -> bool:
        """Log how a worker ended; return True if a replacement would fail in the same way."""
        self._hang_up(gone)
        try:
            self.board.retire(gone.slot)
        except ScoreboardError:
            generation.log(
                "error", f"child pid {gone.pid} left an unreadable scoreboard slot, its counts are lost"
            )
        if code == FATAL and not gone.is_ready and gone.generation == generation.life.generation:
            generation.log(
                "alert", f"Child {gone.pid} returned a Fatal error... Apache is exiting!", code="AH00050"
            )
            return True
        if code < 0 and -code not in _ORDERED:
            generation.log(
                "notice",
                f"child pid {gone.pid} exit signal {signal.strsignal(-code)} ({-code})",
                code="AH00052",
            )
        if (
            not gone.leaving
            and gone.generation == generation.life.generation
            and time.monotonic() - gone.born < QUICK_DEATH
        ):
            self.respawn_at = time.monotonic() + QUICK_DEATH
        return False

    def signal_all(self, number: int, generation: int | None = None) -> None:
        """Send a signal to all workers, or to those of one generation."""
        for child in self.running.values():
            if generation is None or child.generation == generation:
                try:
                    os.kill(child.pid, number)
                except ProcessLookupError:
                    pass

    def terminate(self, generation: Generation, number: int = signal.SIGTERM) -> None:
        """Signal all workers (TERM; HUP for a restart) and wait; kill those that do not end."""
        self.signal_all(number)
        self.wait(generation, KILL_AFTER)
        for child in self.running.values():
            generation.log(
                "error", f"child process {child.pid} still did not exit, sending a SIGKILL", code="AH00046"
            )
        self.signal_all(signal.SIGKILL)
        self.wait(generation, KILL_WAIT)
        for child in self.running.values():
            generation.log(
                "error",
                f"could not make child process {child.pid} exit, attempting to continue anyway",
                code="AH00047",
            )
            self._hang_up(child)
        self.running.clear()

    def wait(self, generation: Generation, seconds: float, signalled: list[int] | None = None) -> None:
        """Wait up to *seconds* for the end of all workers, while no immediate stop is *signalled*."""
        end = time.monotonic() + seconds
        while (
            self.running
            and time.monotonic() < end
            and not {signal.SIGTERM, signal.SIGINT, *FATAL_SIGNALS} & set(signalled or ())
        ):
            self.listen(min(1.0, max(0.0, end - time.monotonic())))
            try:
                self.reap(generation)
            except FatalChild:
                continue

    # messages ---------------------------------------------------------------------------------
    def listen(self, seconds: float | None) -> int:
        """Wait up to *seconds* for a signal or message; return the number of too busy workers."""
        poller = select.poll()  # select(2) fails on descriptors from 1024 on
        poller.register(self.wake, select.POLLIN)
        children = {child.control: child for child in self.running.values() if child.control >= 0}
        for handle in children:
            poller.register(handle, select.POLLIN)
        ready = {
            handle for handle, _event in poller.poll(None if seconds is None else max(0.0, seconds) * 1000)
        }
        if self.wake in ready:
            drain(self.wake)
        return sum(self._read(child) for handle, child in children.items() if handle in ready)

    def _read(self, child: Child) -> bool:
        """Read the messages of one worker; return True if it is too busy."""
        try:
            messages = os.read(child.control, 4096)
        except BlockingIOError:
            return False
        if not messages:
            self._hang_up(child)
        if HEARTBEAT in messages:
            child.is_ready = True
            child.silent = 0.0
        child.leaving = child.leaving or RETIRE in messages
        return BUSY in messages

    def _hang_up(self, child: Child) -> None:
        if child.control >= 0:
            os.close(child.control)
            child.control = -1

    def watch(self, generation: Generation) -> float:
        """Replace workers whose event loop is stuck; return the seconds until the next check.

        If the master itself was stopped for a time, this time counts as at most two periods.
        """
        now = time.monotonic()
        passed = now - self._watched
        if passed < WATCH_PERIOD:
            return WATCH_PERIOD - passed
        self._watched = now
        for child in self.running.values():
            child.silent += min(passed, 2 * WATCH_PERIOD)
            if child.silent >= STALL_TIMEOUT and not is_stopped(child.pid):
                self._abort(child, generation)
        return WATCH_PERIOD

    def _abort(self, child: Child, generation: Generation) -> None:
        """Send SIGABRT, on which a worker logs where it is stuck; send SIGKILL if that had no effect."""
        if not child.is_aborted:
            silent = f"{child.silent:.0f}"
            text = f"child pid {child.pid} has not turned its event loop for {silent} seconds, replacing it"
            generation.log("error", text, module=generation.words.module)
        os.kill(child.pid, signal.SIGKILL if child.is_aborted else signal.SIGABRT)
        child.is_aborted = True


_SHORTAGES: Final = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOBUFS))


def is_stopped(pid: int) -> bool:
    """Return True if a process is stopped, or a debugger is attached to it."""
    try:
        with open(f"/proc/{pid}/status", "rb") as file:
            fields = dict(line.split(b":", 1) for line in file if b":" in line)
    except OSError:
        return False
    return (
        fields.get(b"State", b"").strip()[:1] in (b"T", b"t")
        or fields.get(b"TracerPid", b"0").strip() != b"0"
    )


def pipe() -> tuple[int, int]:
    """Make a pipe that is non-blocking at both ends."""
    return os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)


def drain(handle: int) -> None:
    """Empty a pipe."""
    try:
        while os.read(handle, 4096):
            pass
    except BlockingIOError:
        pass
