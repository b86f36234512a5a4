"""The workers of a master as processes: fork, signal, watch, reap.

A slot of the scoreboard belongs to one worker from its fork to its burial.  Each worker has a pipe of its own to the master, so no worker can send
messages in the name of another.  Nothing that a worker writes or does ends the master.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import time
import traceback
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.server.master.generation import Generation
from whimbrel.server.master.messages import apr_error
from whimbrel.server.worker.scoreboard import SharedScoreboard
from whimbrel.server.worker.scoreboard_text import Unreadable
from whimbrel.server.worker.worker import BUSY, FATAL, HEARTBEAT, RETIRE, SICK, worker_main

KILL_AFTER: Final = 6.0  # seconds after which a worker that was told to stop is killed
KILL_WAIT: Final = 3.0  # seconds that a killed worker has to disappear
QUICK_DEATH: Final = 1.0  # a worker that lived no longer is replaced with a delay
STALL_TIMEOUT = 30.0  # seconds without a heartbeat after which a worker is replaced
WATCH_PERIOD = 5.0  # seconds between two checks of the heartbeats
SIGNALS: Final = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGWINCH,
    signal.SIGCHLD,
)
FATAL_SIGNALS: Final = (  # httpd's parent ends on them without a line in its log
    signal.SIGQUIT,
    signal.SIGALRM,
    signal.SIGUSR2,
    signal.SIGVTALRM,
    signal.SIGPROF,
    signal.SIGXCPU,
    signal.SIGIO,
    signal.SIGPWR,
)
_ORDERED: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)  # ends that need no word in the log


@dataclass(slots=True)
class Child:
    """A running worker.

    Attributes:
        control: descriptor of its messages, -1 once the pipe has ended.
        leaving: it has announced its end and counts no more.
        is_ready: its loop has turned; an exit as FATAL no longer concerns the others.
        silent: seconds since its last heartbeat, as the master's own checks count them.
        is_aborted: it was signalled because of its silence.
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
    """A worker could not begin at all."""


class WorkerPool:
    """All workers, those of earlier generations that still have connections included.

    *wake* is a pipe that the master's signals make readable (its reading end and its writing end); *respawn_at* is when missing workers may be
    forked, None for at once.
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
        """Fork what is missing of *wanted* workers of *generation*."""
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
        """Every slot is a worker's that still has connections of before some restart: the oldest has to end, its answers get a moment."""
        generation.log(
            "error",
            "scoreboard is full, not at MaxRequestWorkers",
            code="AH00485",
            module=generation.words.module,
        )
        oldest = min(self.running.values(), key=lambda one: (one.generation, one.born))
        os.kill(oldest.pid, signal.SIGTERM)

    def _become_worker(self, generation: Generation, slot: int, control_in: int, control: int) -> None:
        status = FATAL
        generation.runtime.after_fork()
        try:
            signal.set_wakeup_fd(-1)
            for number in (*SIGNALS, *FATAL_SIGNALS):
                signal.signal(number, signal.SIG_DFL)
            for handle in (
                self._lifeline_out,
                self.wake,
                self.wake_out,
                control_in,
                *(one.control for one in self.running.values()),
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
        """Take note of all processes that have ended, log programs too.  Raises FatalChild."""
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
                generation.logs.program_ended(pid)
            else:
                fatal = self._buried(gone, os.waitstatus_to_exitcode(status), generation) or fatal
        if fatal:
            raise FatalChild

    def _buried(self, gone: Child, code: int, generation: Generation) -> bool:
        """Say how a worker ended; True when no other would do better."""
        self._hang_up(gone)
        try:
            self.board.retire(gone.slot)
        except Unreadable:
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
        for one in self.running.values():
            if generation is None or one.generation == generation:
                try:
                    os.kill(one.pid, number)
                except ProcessLookupError:
                    pass

    def terminate(self, generation: Generation) -> None:
        """Tell all workers to end and wait until they have; the slow are killed."""
        self.signal_all(signal.SIGTERM)
        self.wait(generation, KILL_AFTER)
        for one in self.running.values():
            generation.log(
                "error", f"child process {one.pid} still did not exit, sending a SIGKILL", code="AH00046"
            )
        self.signal_all(signal.SIGKILL)
        self.wait(generation, KILL_WAIT)
        for one in self.running.values():
            generation.log(
                "error",
                f"could not make child process {one.pid} exit, attempting to continue anyway",
                code="AH00047",
            )
            self._hang_up(one)
        self.running.clear()

    def wait(self, generation: Generation, seconds: float, signalled: list[int] | None = None) -> None:
        """Wait until all workers have ended, at most *seconds*, and only while *told* has no signal that stops at once."""
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
        """Wait for a signal or a message, at most *seconds*, and read what has come; how many workers are too busy."""
        poller = select.poll()  # select(2) fails on descriptors from 1024 on
        poller.register(self.wake, select.POLLIN)
        children = {one.control: one for one in self.running.values() if one.control >= 0}
        for handle in children:
            poller.register(handle, select.POLLIN)
        ready = {
            handle for handle, _event in poller.poll(None if seconds is None else max(0.0, seconds) * 1000)
        }
        if self.wake in ready:
            drain(self.wake)
        return sum(self._read(one) for handle, one in children.items() if handle in ready)

    def _read(self, one: Child) -> bool:
        """Read the messages of one worker; True when it is too busy."""
        try:
            messages = os.read(one.control, 4096)
        except BlockingIOError:
            return False
        if not messages:
            self._hang_up(one)
        if HEARTBEAT in messages:
            one.is_ready, one.silent = True, 0.0
        one.leaving = one.leaving or RETIRE in messages
        return BUSY in messages

    def _hang_up(self, one: Child) -> None:
        if one.control >= 0:
            os.close(one.control)
            one.control = -1

    def watch(self, generation: Generation) -> float:
        """Replace workers whose loop does not turn; the seconds until the next check.

        A master that did not run itself for a time (a stopped machine) counts no more than two periods of it.
        """
        now = time.monotonic()
        passed = now - self._watched
        if passed < WATCH_PERIOD:
            return WATCH_PERIOD - passed
        self._watched = now
        for one in self.running.values():
            one.silent += min(passed, 2 * WATCH_PERIOD)
            if one.silent >= STALL_TIMEOUT and not is_stopped(one.pid):
                self._abort(one, generation)
        return WATCH_PERIOD

    def _abort(self, one: Child, generation: Generation) -> None:
        """SIGABRT, for which a worker writes where it hangs into the error log; SIGKILL if that was of no use."""
        if not one.is_aborted:
            text = f"child pid {one.pid} has not turned its event loop for {one.silent:.0f} seconds, replacing it"
            generation.log("error", text, module=generation.words.module)
        os.kill(one.pid, signal.SIGKILL if one.is_aborted else signal.SIGABRT)
        one.is_aborted = True


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
    """Make a pipe that blocks at neither end."""
    return os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)


def drain(handle: int) -> None:
    """Empty a pipe."""
    try:
        while os.read(handle, 4096):
            pass
    except BlockingIOError:
        pass
