"""Scoreboard: the state of the workers, in shared memory.

Every worker writes one JSON text into its slot, at most once a second while it is busy, and on request. It
writes its counts at the end of each tick, so that they outlive a worker that is killed. Any
worker can write anywhere in this memory, so `SharedScoreboard.read` accepts only texts of the form that
`scoreboard_text` describes. For a half-written text it returns the last good one of the slot.
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.engine.connection import Connection
from whimbrel.engine.pipeline.read import requested_server
from whimbrel.engine.request import RequestEngine
from whimbrel.engine.runtime import ScoreboardRow, ScoreboardWorker
from whimbrel.http.syntax.head import Head
from whimbrel.server.worker.scoreboard_text import MAX_COUNT, SUMS, WORKER, ScoreboardError, parse

SLOT: Final = 32 * 1024
SLOTS: Final = 128
LEAST: Final = 64  # minimal bytes of a row: the names of its keys
MAX_SHORT_ROWS: Final = 16  # rows that are written if not all fit
# characters of request line, address, host and protocol that fit httpd's scoreboard.h
MAX_REQUEST: Final = 63
MAX_CLIENT: Final = 63
MAX_VHOST: Final = 31
MAX_PROTOCOL: Final = 15
_HEAD: Final = struct.Struct("=QQ")  # serial number (odd during a write), length
_TOTALS: Final = struct.Struct("@QQd")  # accesses, bytes, duration; native: no number is half-written
Totals = tuple[int, int, float]
# counts of one worker, or of all ended ones: those three, processor times of user and system
Counts = tuple[int, int, float, float, float]
_NOTHING: Final[Counts] = (0, 0, 0.0, 0.0, 0.0)
Number = TypeVar("Number", int, float)
_SERIALS: Final = (1 << 64) - 1


def connection_row(
    state: str, client: str, protocol: str, request: str, vhost: str, served: int, *, tail: bool = False
) -> ScoreboardRow:
    """Return a connection's row in httpd's sizes; *tail*: the end of a long request (SeeRequestTail)."""
    return ScoreboardRow(
        {
            "state": state,
            "client": client[:MAX_CLIENT],
            "protocol": protocol[:MAX_PROTOCOL],
            "request": request[-MAX_REQUEST:] if tail else request[:MAX_REQUEST],
            "vhost": vhost[:MAX_VHOST],
            "served": served,
        }
    )


def shown_host(engine: RequestEngine, connection: Connection, head: Head | None) -> str:
    """Return name and port of the virtual host that *head* is for, as httpd shows them; "" without a head."""
    if head is None:
        return ""
    key = (connection.local_ip, connection.local_port, head.hostname)
    plan = engine.plans.by_host.get(key) if head.error is None else None
    server = plan.server_rec if plan is not None else requested_server(engine, connection, head)
    return f"{server.name}:{connection.local_port}"


@dataclass(slots=True)
class ServerInfo:
    """Facts of the master: times in seconds since the epoch, the current generation of workers.

    *started* is the last start or non-graceful restart, at which the counts begin.
    """

    started: float
    restarted: float
    generation: int = 0
    built: str = ""
    mpm: str = "event"
    slots: int = 0  # length of the scoreboard's line, from MaxRequestWorkers and ThreadsPerChild


class SharedScoreboard:
    """The shared memory, created by the master before it forks.

    The serial numbers and lengths of all slots stand together at its start, then the totals that the worker
    of each slot reported last, then its own counts. No report has lower totals, whatever a reader has seen of
    the texts: they are up to a second old, and the master moves the counts of ended workers while others read
    them.
    """

    def __init__(self, slots: int = SLOTS) -> None:
        self.slots = slots
        self._reported = (slots + 1) * _HEAD.size  # one more for the counts of ended workers
        self._counted = self._reported + slots * _TOTALS.size
        self._texts = self._counted + slots * _TOTALS.size
        self._memory = mmap.mmap(-1, self._texts + (slots + 1) * SLOT)
        self._good: dict[int, dict[str, Any]] = {}
        self._heads = b""
        self._every: list[tuple[int, dict[str, Any]]] = []
        self._past: dict[str, Any] | None = None

    def write(self, slot: int, value: dict[str, Any]) -> None:
        """Replace the text of *slot*; one that does not fit loses rows, down to none."""
        rows = value.get("rows", [])
        for count in (len(rows), MAX_SHORT_ROWS, 0):
            if count * LEAST <= SLOT:
                data = json.dumps({**value, "rows": rows[:count]}, separators=(",", ":")).encode()
                if len(data) <= SLOT:
                    break
        else:
            return
        head = slot * _HEAD.size
        at = self._texts + slot * SLOT
        serial = _HEAD.unpack_from(self._memory, head)[0] & ~1
        _HEAD.pack_into(self._memory, head, serial + 1, 0)
        self._memory[at : at + len(data)] = data
        _HEAD.pack_into(self._memory, head, serial + 2 & _SERIALS, len(data))

    def read(self, slot: int) -> dict[str, Any] | None:
        """Return the text of *slot*, None if it is empty. Raises ScoreboardError for an invalid text."""
        head = slot * _HEAD.size
        at = self._texts + slot * SLOT
        for _ in range(3):
            serial, length = _HEAD.unpack_from(self._memory, head)
            data = self._memory[at : at + min(length, SLOT)]
            if serial % 2 == 0 and _HEAD.unpack_from(self._memory, head)[0] == serial:
                self._good.pop(slot, None)
                if not length:
                    return None
                value = parse(data, SUMS if slot == self.slots else WORKER)
                self._good[slot] = value
                return value
        return self._good.get(slot)

    def _readable(self, slot: int) -> dict[str, Any] | None:
        try:
            return self.read(slot)
        except ScoreboardError:
            return None

    def slots_in_use(self) -> list[tuple[int, dict[str, Any]]]:
        """Return the texts of all slots in use, read again after a change. Callers must not change them.

        While the master moves the counts of an ended worker, the texts are those before it.
        """
        for _ in range(3):
            heads = self._memory[: self._reported]
            if heads == self._heads:
                break
            moved = self._moves()
            texts = ((slot, self._readable(slot)) for slot in range(self.slots))
            every = [(slot, value) for slot, value in texts if value is not None]
            past = self._readable(self.slots)
            if moved % 2 == 0 and self._moves() == moved:
                self._every = every
                self._past = past
                self._heads = heads
                break
        return self._every

    def _moves(self) -> int:
        """Return the serial number of the totals, which is odd while counts are moved to them."""
        serial: int = _HEAD.unpack_from(self._memory, self.slots * _HEAD.size)[0]
        return serial

    def report(self, slot: int, totals: Totals) -> Totals:
        """Return *totals*, each at least what any worker has reported, as the report of the worker of *slot*.

        A slot has one writer and keeps the report of its ended worker, so that no report is lost.
        """
        accesses = min(totals[0], MAX_COUNT)
        size = min(totals[1], MAX_COUNT)
        duration = totals[2]
        for reported in _TOTALS.iter_unpack(self._memory[self._reported : self._counted]):
            accesses = _later(accesses, reported[0])
            size = _later(size, reported[1])
            duration = _later(duration, reported[2])
        _TOTALS.pack_into(self._memory, self._reported + slot * _TOTALS.size, accesses, size, duration)
        return accesses, size, duration

    def counter(self, slot: int) -> Callable[[int, int, float], None]:
        """Return the function that writes the counts of the worker of *slot*: accesses, bytes, duration."""
        return partial(_TOTALS.pack_into, self._memory, self._counted + slot * _TOTALS.size)

    def counts(self, slot: int, value: dict[str, Any]) -> Counts:
        """Return the counts of the worker of *slot*, whose text is *value*: what it wrote last."""
        slot_counts = _counts_of(value)
        counted = _TOTALS.unpack_from(self._memory, self._counted + slot * _TOTALS.size)
        return (
            _later(slot_counts[0], counted[0]),
            _later(slot_counts[1], counted[1]),
            _later(slot_counts[2], counted[2]),
            *slot_counts[3:],
        )

    def retired_totals(self) -> dict[str, Any]:
        """Return the totals of ended workers: accesses, bytes, duration, cpu (user, system)."""
        self.slots_in_use()
        return self._past or {"accesses": 0, "bytes": 0, "duration": 0.0, "cpu": [0.0, 0.0]}

    def retire(self, slot: int) -> None:
        """Clear the slot of an ended worker and add its counts to the totals; only the master calls it.

        Raises ScoreboardError, with the slot cleared, if its counts are lost.
        """
        try:
            last = self.read(slot)
            past = self.retired_totals()
        except ScoreboardError:
            self.clear(slot)
            raise
        before = _counts_of(past)
        counts = _NOTHING if last is None else self.counts(slot, last)
        accesses, size, duration, *cpu = [min(a + b, MAX_COUNT) for a, b in zip(before, counts, strict=True)]
        _HEAD.pack_into(self._memory, self.slots * _HEAD.size, self._moves() | 1, 0)
        self.clear(slot)
        self.write(self.slots, {"accesses": accesses, "bytes": size, "duration": duration, "cpu": cpu})

    def forget(self) -> None:
        """Reset the counts, as a non-graceful restart does."""
        self.clear(self.slots)
        self._memory[self._reported : self._counted] = bytes(self._counted - self._reported)

    def clear(self, slot: int) -> None:
        """Clear a slot."""
        head = slot * _HEAD.size
        serial, _ = _HEAD.unpack_from(self._memory, head)
        _HEAD.pack_into(self._memory, head, (serial & ~1) + 2 & _SERIALS, 0)
        if slot < self.slots:
            self.counter(slot)(0, 0, 0.0)


class Scoreboard:
    """One worker's view of the shared scoreboard: the `Runtime.scoreboard`.

    *own* returns the current text of this worker. The keys are those of mod_status/state.py.
    """

    def __init__(
        self, board: SharedScoreboard, slot: int, life: ServerInfo, own: Callable[[], dict[str, Any]]
    ) -> None:
        self._board = board
        self._slot = slot
        self._life = life
        self._own = own
        self._mine: dict[str, Any] | None = None
        self._every: list[tuple[int, dict[str, Any]]] | None = None
        self._others: tuple[list[ScoreboardWorker], list[ScoreboardWorker]] = ([], [])
        self._ended = _NOTHING  # counts of ended workers
        self._used = 0  # slots that the other workers use

    def _refresh(self) -> None:
        """Read what other workers have written, if it has changed."""
        every = self._board.slots_in_use()
        if every is not self._every:
            self._every, past = every, self._board.retired_totals()
            others = [item for item in every if item[0] != self._slot]
            self._others = (
                [_rows_of(value) for slot, value in others if slot < self._slot],
                [_rows_of(value) for slot, value in others if slot > self._slot],
            )
            values = [value for _slot, value in others]
            self._ended = _counts_of(past)
            self._used = sum([len(value["rows"]) + value["idle"] for value in values])

    def workers(self) -> list[ScoreboardWorker]:
        """Return the rows of all workers: one for each open connection, and one for each idle thread."""
        self._refresh()
        mine = self._own()
        self._mine = mine
        return [*self._others[0], _rows_of(mine), *self._others[1]]

    def totals(self) -> dict[str, Any]:
        """Return the totals of all workers, consistent with the last call of `workers`."""
        mine, self._mine = self._mine, None
        if mine is None:
            self._refresh()
            mine = self._own()
        life = self._life
        others = [item for item in self._every or () if item[0] != self._slot]
        running = [*(self._board.counts(slot, value) for slot, value in others), _counts_of(mine)]
        counted = (self._ended, *running)
        summed = (
            sum([counts[0] for counts in counted]),
            sum([counts[1] for counts in counted]),
            sum([counts[2] for counts in counted]),
        )
        accesses, size, duration = self._board.report(self._slot, summed)
        user = sum([counts[3] for counts in running])
        system = sum([counts[4] for counts in running])
        return {
            "started": life.started,
            "restarted": life.restarted,
            "generation": life.generation,
            "config_generation": life.generation + 1,
            "built": life.built,
            "mpm": life.mpm,
            "slots": max(life.slots, self._used + len(mine["rows"]) + mine["idle"]),
            "accesses": accesses,
            "bytes": size,
            "duration": duration,
            "cpu": (user, system, *self._ended[3:]),
        }


def _counts_of(value: dict[str, Any]) -> Counts:
    """Return the counts of a text."""
    return value["accesses"], value["bytes"], value["duration"], *value["cpu"]


def _later(counted: Number, reported: Number) -> Number:
    """Return the greater one of two totals; a reported one that cannot be a total is ignored."""
    return reported if counted < reported <= MAX_COUNT else counted


def _rows_of(value: dict[str, Any]) -> ScoreboardWorker:
    rows = value["rows"]
    idle = value["idle"]
    waiting = value["waiting"]
    process = value["process"]
    letters = process["workers"] if waiting == "_" else ""
    if len(letters) != len(rows) + idle:
        letters = ""
    return ScoreboardWorker(rows, value["worker"], process, idle, waiting, letters)
