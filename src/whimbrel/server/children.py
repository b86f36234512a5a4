"""The workers of a master as processes: forking, burying, telling them to end.

A slot of the scoreboard belongs to one worker from its fork to its burial.
"""

from __future__ import annotations

import os
import select
import signal
import time
import traceback
from typing import Final

from whimbrel.records import dataclass
from whimbrel.server.generation import Generation
from whimbrel.server.scoreboard import Board
from whimbrel.server.words import cause
from whimbrel.server.worker import FATAL, child

PATIENCE: Final = 6.0     # seconds after which a worker that was told to stop is killed
QUICK_DEATH: Final = 1.0  # a worker that lived no longer is replaced with a delay
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGWINCH, signal.SIGCHLD)
_ORDERED: Final = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)  # ends that need no word in the log


@dataclass(slots=True)
class Child:
    """A running worker; *leaving* ones have said that they end and count no more."""

    pid: int
    slot: int
    generation: int
    born: float
    leaving: bool = False


class FatalChild(Exception):
    """A worker could not begin at all."""


class Children:
    """All workers, those of earlier generations that still have connections included.

    *wake* is a descriptor that becomes readable when a child has ended; *respawn_at* is when missing workers may be forked, None for at once.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self.running: dict[int, Child] = {}
        self.respawn_at: float | None = None
        self.wake = -1
        self.lifeline, self._lifeline_out = os.pipe()
        self.control, self._control_out = os.pipe()
        os.set_blocking(self.control, False)
        os.set_blocking(self._control_out, False)

    # beginning --------------------------------------------------------------------------------
    def complete(self, generation: Generation, wanted: int) -> None:
        """Fork what is missing of *wanted* workers of *generation*."""
        number = generation.life.generation
        present = sum(1 for c in self.running.values() if c.generation == number and not c.leaving)
        for _ in range(wanted - present):
            self._fork(generation)

    def _fork(self, generation: Generation) -> None:
        taken = {c.slot for c in self.running.values()}
        slot = next((n for n in range(self.board.slots) if n not in taken), None)
        if slot is None:
            self._make_room(generation)
            return
        try:
            pid = os.fork()
        except OSError as problem:
            generation.log("error", f"{cause(problem)}: AH00159: fork: Unable to fork new process")
            self.respawn_at = time.monotonic() + QUICK_DEATH
            return
        if pid == 0:
            self._become_worker(generation, slot)
        self.running[pid] = Child(pid, slot, generation.life.generation, time.monotonic())

    def _make_room(self, generation: Generation) -> None:
        """Every slot is a worker's that still has connections of before some restart: the oldest has to end, its answers get a moment."""
        generation.log("error", "scoreboard is full, not at MaxRequestWorkers", code="AH00485", module=generation.words.module)
        oldest = min(self.running.values(), key=lambda one: (one.generation, one.born))
        os.kill(oldest.pid, signal.SIGTERM)
        self.respawn_at = time.monotonic() + QUICK_DEATH

    def _become_worker(self, generation: Generation, slot: int) -> None:
        status = FATAL
        try:
            signal.set_wakeup_fd(-1)
            for number in SIGNALS:
                signal.signal(number, signal.SIG_DFL)
            os.close(self._lifeline_out)
            status = child(generation, slot, self.lifeline, self._control_out)
        except Exception as problem:
            generation.log("crit", "".join(traceback.format_exception(problem)).rstrip("\n"))
        finally:
            generation.logs.flush()
            os._exit(status)

    # ending -----------------------------------------------------------------------------------
    def bury(self, generation: Generation) -> list[int]:
        """Take note of who has ended; the numbers of processes that are no workers.  Raises FatalChild."""
        others: list[int] = []
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
                others.append(pid)
            else:
                fatal = self._buried(gone, os.waitstatus_to_exitcode(status), generation) or fatal
        if fatal:
            raise FatalChild
        return others

    def _buried(self, gone: Child, code: int, generation: Generation) -> bool:
        """Say how a worker ended; True when no other would do better."""
        self.board.bury(gone.slot)
        if code == FATAL:
            generation.log("alert", f"Child {gone.pid} returned a Fatal error... Apache is exiting!", code="AH00050")
            return True
        if code < 0 and -code not in _ORDERED:
            generation.log("notice", f"child pid {gone.pid} exit signal {signal.strsignal(-code)} ({-code})", code="AH00052")
        if time.monotonic() - gone.born < QUICK_DEATH and code != 0:
            self.respawn_at = time.monotonic() + QUICK_DEATH
        return False

    def tell(self, number: int, generation: int | None = None) -> None:
        """Send a signal to all workers, or to those of one generation."""
        for one in self.running.values():
            if generation is None or one.generation == generation:
                try:
                    os.kill(one.pid, number)
                except ProcessLookupError:
                    pass

    def end(self, generation: Generation) -> None:
        """Tell all workers to end and wait until they have; the slow are killed."""
        self.tell(signal.SIGTERM)
        self.wait(generation, PATIENCE)
        self.tell(signal.SIGKILL)
        while self.running:
            pid, _status = os.wait()
            self.running.pop(pid, None)

    def wait(self, generation: Generation, seconds: float, told: list[int] | None = None) -> None:
        """Wait until all workers have ended, at most *seconds*, and only while *told* has no signal that stops at once."""
        end = time.monotonic() + seconds
        while self.running and time.monotonic() < end and not {signal.SIGTERM, signal.SIGINT} & set(told or ()):
            select.select([self.wake], [], [], min(1.0, max(0.0, end - time.monotonic())))
            drain(self.wake)
            try:
                self.bury(generation)
            except FatalChild:
                continue

    # what they say ----------------------------------------------------------------------------
    def heard(self) -> int:
        """Read what workers have said; how many of them are too busy."""
        busy = 0
        for line in os.read(self.control, 4096).decode("latin-1").splitlines():
            word, _, number = line.partition(" ")
            one = self.running.get(int(number)) if number.isdigit() else None
            if one is not None and word == "retire":
                one.leaving = True
            elif one is not None and word == "busy":
                busy += 1
        return busy


def drain(handle: int) -> None:
    """Empty a pipe."""
    try:
        while os.read(handle, 4096):
            pass
    except BlockingIOError:
        pass
