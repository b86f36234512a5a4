"""State of the scoreboard, and the number formats of mod_status.

A missing key counts as zero or empty; without a scoreboard there is one worker, the responding one.

`rows()`: one dictionary for each worker, in the order of the scoreboard:
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
    worker                        values common to all rows of a worker: process, generation, pid,
                                  its requests and the bytes that it has sent
`totals()`:
    started                       seconds since the epoch; restarted: of the last restart
    config_generation, generation numbers
    accesses, bytes, duration     of all workers; duration in milliseconds
    cpu                           (user, system, children's user, children's system) in seconds
    slots                         size of the scoreboard
    processes                     dictionaries with slot, pid, stopping, connections, accepting, wait_io,
                                  writing, keep_alive, closing, and workers: the letters of their states
"""

from __future__ import annotations

import os
import time
from functools import lru_cache
from typing import Any


# Numbers ----------------------------------------------------------------------------------------
@lru_cache(maxsize=256)
def number(value: float, digits: int = 6) -> str:
    """Format ``%g`` as APR does: without zero before the point."""
    text = f"{value:.{digits}g}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


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


def normalized(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row that includes the values common to the rows of its worker."""
    worker = row.get("worker")
    if worker is None or "served" not in row:
        return {**worker, **row} if worker is not None else row
    requests, sent = worker["requests"], worker["sent"]
    return {**worker, **row, "accesses": (row["served"], requests, requests), "bytes": (0, sent, sent)}


# Data -------------------------------------------------------------------------------------------
class State:
    """Scoreboard data with defaults for missing keys."""

    def __init__(self, r: Any, extended: bool) -> None:
        board = getattr(r.engine.runtime, "scoreboard", None)
        self.rows: list[dict[str, Any]] = board.rows() if board is not None else []
        self.totals: dict[str, Any] = board.totals() if board is not None else {}
        self.now: float = r.engine.runtime.now()
        self.extended = extended
        self.shared = bool(self.rows)  # True if there is a scoreboard
        if not self.rows:
            self.rows = [
                {
                    "pid": os.getpid(),
                    "state": "W",
                    "request": r.untracked_line,
                    "client": r.connection.client_ip,
                }
            ]
        self.slots = max(int(self.totals.get("slots", 0)), len(self.rows))
        try:
            states = "".join([row["state"] for row in self.rows])
        except KeyError:
            states = "".join([row.get("state", "_") for row in self.rows])
        self.board = states.ljust(self.slots, ".")
        self.uptime = max(0, int(self.now - self.totals.get("started", self.now)))
        self.idle = self.board.count("_")
        self.graceful = self.board.count("G")
        self.busy = sum(map(self.board.count, "RWKLDC")) + self.graceful
        self.accesses = int(self.totals.get("accesses", 0))
        self.bytes = int(self.totals.get("bytes", 0))
        self.duration = int(self.totals.get("duration", 0))
        self.cpu: tuple[float, ...] = tuple(self.totals.get("cpu", (0, 0, 0, 0)))
        self.cpu_time: float = sum(self.cpu)
        self.processes: list[dict[str, Any]] = self.totals.get("processes", [])

    def connections(self, key: str) -> int:
        """Return the sum of a count over all processes."""
        return sum(int(p.get(key, 0)) for p in self.processes)

    def rates(self) -> list[tuple[str, str, float]]:
        """Return (key of ?auto, unit on the page, value) of the rates that uptime and accesses define."""
        out = []
        if self.uptime:
            out += [
                ("ReqPerSec", "requests/sec", self.accesses / self.uptime),
                ("BytesPerSec", "/second", self.bytes / self.uptime),
            ]
        if self.accesses:
            out += [
                ("BytesPerReq", "/request", self.bytes / self.accesses),
                ("DurationPerReq", " ms/request", self.duration / self.accesses),
            ]
        return out
