"""State of the scoreboard, and the number formats of mod_status.

A missing key counts as zero or empty; without a scoreboard there is one worker, the responding one.

`workers()`: the rows of each process, one dictionary for each of its connections:
    process, generation, pid      numbers
    state                         one letter of the key on the page (``_SRWKDCLGI`` or ``.``)
    accesses                      (this connection, this child, this slot)
    bytes                         the same three, in bytes
    cpu                           seconds of processor time
    since                         seconds since the start of the most recent request
    took, duration                milliseconds: of the most recent request, of all
    client, protocol, vhost, request    texts of the most recent request
    or, in place of process, generation, pid, accesses and bytes:
    served                        accesses of this connection
    `ScoreboardWorker.common` then has the values common to all rows: process, generation, pid, its
    requests and the bytes that it has sent
`ScoreboardWorker.process`: slot, pid, stopping, connections, accepting, wait_io, writing, keep_alive,
closing, and workers: the letters of their states
`totals()`:
    started                       seconds since the epoch; restarted: of the last restart
    config_generation, generation numbers
    accesses, bytes, duration     of all workers; duration in milliseconds
    cpu                           (user, system, children's user, children's system) in seconds
    slots                         size of the scoreboard
"""

from __future__ import annotations

import os
import time
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from whimbrel.engine.request import Request
from whimbrel.engine.runtime import ScoreboardWorker


# Numbers ----------------------------------------------------------------------------------------
def number(value: float, digits: int = 6) -> str:
    """Format ``%g`` as APR does: without zero before the point."""
    text = f"{value:.{digits}g}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


seconds = lru_cache(maxsize=256)(number)
"""`number` for values that are the same in many pages: processor times."""


def size(count: float) -> str:
    """Format bytes with a unit."""
    if count < 5 * 1024:
        return f"{int(count)} B"
    if count < 1024 * 1024 / 2:
        return f"{count / 1024:.1f} kB"
    if count < 1024 * 1024 * 1024 / 2:
        return f"{count / 1024 / 1024:.1f} MB"
    return f"{count / 1024 / 1024 / 1024:.1f} GB"


def kilo(kbytes: int) -> str:
    """Format kilobytes with a unit."""
    if kbytes < 1024:
        return f"{kbytes} kB"
    if kbytes < 1024 * 1024:
        return f"{kbytes / 1024:.1f} MB"
    return f"{kbytes / 1024 / 1024:.1f} GB"


def span(seconds: int) -> str:
    """Format a time as `` 1 day 2 hours 3 minutes 4 seconds``; "" for zero."""
    out = ""
    for name, length in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        count, seconds = divmod(seconds, length)
        if count:
            out += f" {count} {name}{'' if count == 1 else 's'}"
    return out


@lru_cache(maxsize=8)
def _moment(seconds: int) -> str:
    return time.strftime("%A, %d-%b-%Y %H:%M:%S %Z", time.localtime(seconds))


def when(seconds: float) -> str:
    """Format a time as ``Saturday, 21-Nov-2026 12:07:51 UTC``."""
    return _moment(int(seconds))


def normalized(row: dict[str, Any], common: dict[str, Any] | None) -> dict[str, Any]:
    """Return a row that includes the values common to the rows of its worker."""
    if common is None or "served" not in row:
        return {**common, **row} if common is not None else row
    requests = common["requests"]
    sent = common["sent"]
    return {**common, **row, "accesses": (row["served"], requests, requests), "bytes": (0, sent, sent)}


class Counts(NamedTuple):
    """Numbers of one worker: rows that are idle, that end gracefully, that are busy; its connections."""

    idle: int
    graceful: int
    busy: int
    stopping: int = 0
    connections: int = 0
    wait_io: int = 0
    writing: int = 0
    keep_alive: int = 0
    closing: int = 0


_of_process = itemgetter("stopping", "connections", "wait_io", "writing", "keep_alive", "closing")


def counts_of(worker: ScoreboardWorker) -> Counts:
    """Return the numbers of *worker*, counted once."""
    counts: Counts | None = worker.shown.get(Counts)
    if counts is None:
        letters = letter_counts(worker.letters)
        more = () if worker.process is None else _of_process(worker.process)
        counts = Counts(*letters, *more)
        worker.shown[Counts] = counts
    return counts


def letter_counts(letters: str) -> tuple[int, int, int]:
    """Return the number of idle, gracefully ending, and busy workers."""
    count = letters.count
    busy = count("R") + count("W") + count("K") + count("L") + count("D") + count("C")
    return count("_"), count("G"), busy


# Data -------------------------------------------------------------------------------------------
class State:
    """Scoreboard data with defaults for missing keys."""

    def __init__(self, r: Request, extended: bool) -> None:
        board = getattr(r.engine.runtime, "scoreboard", None)
        self.workers: list[ScoreboardWorker] = board.workers() if board is not None else []
        self.totals: dict[str, Any] = board.totals() if board is not None else {}
        self.now: float = r.engine.runtime.now()
        self._runtime = r.engine.runtime
        self.extended = extended
        self.shared = bool(self.workers)  # True if there is a scoreboard
        if not self.workers:
            row = {"pid": os.getpid(), "state": "W", "client": r.connection.client_ip}
            self.workers = [ScoreboardWorker([{**row, "request": r.untracked_line}])]
        letters = "".join([worker.letters for worker in self.workers])
        self.slots = max(int(self.totals.get("slots", 0)), len(letters))
        self.board = letters.ljust(self.slots, ".")
        self.uptime = max(0, int(self.now - self.totals.get("started", self.now)))
        counts = [counts_of(worker) for worker in self.workers]
        self.counts = counts[0] if len(counts) == 1 else Counts(*map(sum, zip(*counts, strict=True)))
        self.idle, self.graceful = self.counts.idle, self.counts.graceful
        self.busy = self.counts.busy + self.graceful
        self.accesses, self.bytes = int(self.totals.get("accesses", 0)), int(self.totals.get("bytes", 0))
        self.duration = int(self.totals.get("duration", 0))
        self.cpu: tuple[float, ...] = self.totals.get("cpu", (0, 0, 0, 0))
        self.cpu_time: float = sum(self.cpu)
        self.processes = [worker for worker in self.workers if worker.process is not None]

    @property
    def load(self) -> tuple[float, float, float]:
        """The load of the machine in 1, 5 and 15 minutes."""
        return self._runtime.load_average()

    def rows(self) -> list[dict[str, Any]]:
        """Return all rows, normalized."""
        return [
            normalized(row, worker.common)
            for worker in self.workers
            for row in (*worker.rows, *[{"state": worker.waiting}] * worker.idle)
        ]

    def rates(self) -> list[tuple[str, float]]:
        """Return the rates of ?auto that uptime and accesses define."""
        out = []
        if self.uptime:
            out = [("ReqPerSec", self.accesses / self.uptime), ("BytesPerSec", self.bytes / self.uptime)]
        if self.accesses:
            out.append(("BytesPerReq", self.bytes / self.accesses))
            out.append(("DurationPerReq", self.duration / self.accesses))
        return out
