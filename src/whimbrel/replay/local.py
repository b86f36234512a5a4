"""Replay on the processors of this machine: one process each, results merged in the order of the pieces."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any, Final

from whimbrel.base.worker_signals import without_interrupts
from whimbrel.replay.log_files import LogPiece
from whimbrel.replay.tally import Tally
from whimbrel.replay.work import Replayer

AHEAD: Final = 3  # pieces for each process that are in work, or done and waiting for earlier ones
MAX_RESTARTS: Final = 3  # processes that may die before the replay is given up
Progress = Callable[[int], None]
"""Called with the bytes of each piece that is done."""


class WorkerLost(RuntimeError):
    """Processes of the replay die again and again."""


def run_local(replayer: Replayer, pieces: Iterable[LogPiece], jobs: int, progress: Progress) -> Tally:
    """Return the tally of all pieces.  Raises OSError for a log that cannot be read, WorkerLost."""
    total = Tally()
    if jobs <= 1:
        for piece in pieces:
            total.add(replayer.run(piece))
            progress(piece.end - piece.start)
        return total
    pool = _Pool(replayer, jobs)
    try:
        for piece, tally in pool.results(iter(pieces)):
            total.add(tally)
            progress(piece.end - piece.start)
    finally:
        pool.close()
    return total


def processors() -> int:
    """Return the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Pool:
    """Forked processes, which share the loaded configurations; a process that dies is replaced and its piece
    is done again.
    """

    def __init__(self, replayer: Replayer, jobs: int) -> None:
        self._replayer = replayer
        self._jobs = jobs
        self._context = get_context("fork")
        self._workers: dict[Connection, Any] = {}
        self._busy: dict[Connection, int] = {}
        self._lost = 0
        for _ in range(jobs):
            self._start()

    def _start(self) -> None:
        mine, theirs = self._context.Pipe()
        others = [*self._workers, mine]
        process = self._context.Process(target=_serve, args=(self._replayer, theirs, others), daemon=True)
        with without_interrupts():
            process.start()
        theirs.close()
        self._workers[mine] = process

    def results(self, pieces: Iterator[LogPiece]) -> Iterator[tuple[LogPiece, Tally]]:
        """Yield the pieces with their tallies, in order."""
        waiting: dict[int, LogPiece] = {}
        repeated: list[int] = []
        done: dict[int, Tally] = {}
        first = 0
        following = 0
        is_ended = False
        while True:
            for worker in [each for each in self._workers if each not in self._busy]:
                number = repeated.pop(0) if repeated else -1
                if number < 0 and not is_ended and following - first < AHEAD * self._jobs:
                    piece = next(pieces, None)
                    is_ended = piece is None
                    if piece is not None:
                        number, waiting[following] = following, piece
                        following += 1
                if number >= 0:
                    self._send(worker, number, waiting[number], repeated)
            while first in done:
                yield waiting.pop(first), done.pop(first)
                first += 1
            if is_ended and first == following:
                return
            if self._busy:  # else the last process was found dead when it was sent a piece
                self._receive(done, repeated)

    def _send(self, worker: Connection, number: int, piece: LogPiece, repeated: list[int]) -> None:
        try:
            worker.send(piece)
            self._busy[worker] = number
        except OSError:
            repeated.append(number)
            self._replace(worker)

    def _receive(self, done: dict[int, Tally], repeated: list[int]) -> None:
        for ready in wait(list(self._busy)):
            assert isinstance(ready, Connection)
            number = self._busy.pop(ready)
            try:
                result = ready.recv()
            except (EOFError, OSError):
                repeated.append(number)
                self._replace(ready)
                continue
            if isinstance(result, Exception):
                raise result
            done[number] = result

    def _replace(self, worker: Connection) -> None:
        process = self._workers.pop(worker)
        worker.close()
        process.join(5)
        self._lost += 1
        if self._lost > MAX_RESTARTS:
            raise WorkerLost(f"{self._lost} processes have died, the last with status {process.exitcode}")
        self._start()

    def close(self) -> None:
        """End all processes."""
        for worker, process in self._workers.items():
            worker.close()
            process.terminate()
        for process in self._workers.values():
            process.join(5)


def _serve(replayer: Replayer, connection: Connection, others: list[Connection]) -> None:
    """Answer pieces until the other end is closed."""
    for other in others:
        other.close()  # a copy would keep the pipe of a dead master open
    while True:
        try:
            piece = connection.recv()
        except (EOFError, OSError):
            return
        try:
            result: Tally | Exception = replayer.run(piece)
        except OSError as problem:
            result = problem
        try:
            connection.send(result)
        except OSError:
            return
