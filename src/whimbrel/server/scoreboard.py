"""What the workers are doing, in memory that all of them share.

Every worker writes one text (JSON) about itself into its slot, at most once a second while it is busy and when it is asked; nobody else writes
there.  A reader that meets a half-written text takes the slot's last good one.  What the texts say is described in `Slot`.
"""

from __future__ import annotations

import json
import mmap
import struct
import time
from collections.abc import Callable
from typing import Any, Final

from whimbrel.records import dataclass
from whimbrel.request.runtime import Row

SLOT: Final = 32 * 1024
SLOTS: Final = 128
LEAST: Final = 64   # bytes that a row takes at least: the names of its keys
FEW: Final = 16     # rows that are told where not all fit
_HEAD: Final = struct.Struct("=QQ")  # serial number (odd while it is written), length


@dataclass(slots=True)
class Life:
    """What the master knows: times in seconds since the epoch, and which generation of workers is the present one.

    *started* is the last start or restart that was not graceful: from then on counts are kept.
    """

    started: float
    restarted: float
    generation: int = 0
    built: str = ""
    mpm: str = "event"
    slots: int = 0  # what ServerLimit and ThreadsPerChild allow: the length of the scoreboard's line


class Board:
    """The shared memory; made by the master before it forks.  The serial numbers and lengths of all slots stand together at its start."""

    def __init__(self, slots: int = SLOTS) -> None:
        self.slots = slots
        self._texts = (slots + 1) * _HEAD.size  # one more for what workers have done that are gone
        self._memory = mmap.mmap(-1, self._texts + (slots + 1) * SLOT)
        self._good: dict[int, dict[str, Any]] = {}
        self._heads = b""
        self._every: list[tuple[int, dict[str, Any]]] = []
        self._past: dict[str, Any] | None = None

    def write(self, slot: int, value: dict[str, Any]) -> None:
        """Replace what *slot* says; texts that don't fit lose their rows."""
        rows = value.get("rows", [])
        data = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode() if len(rows) * LEAST <= SLOT else b""
        if not data or len(data) > SLOT:
            data = json.dumps({**value, "rows": rows[:FEW]}, separators=(",", ":")).encode()[:SLOT]
        head, at = slot * _HEAD.size, self._texts + slot * SLOT
        serial, _ = _HEAD.unpack_from(self._memory, head)
        _HEAD.pack_into(self._memory, head, serial + 1, 0)
        self._memory[at:at + len(data)] = data
        _HEAD.pack_into(self._memory, head, serial + 2, len(data))

    def read(self, slot: int) -> dict[str, Any] | None:
        """What *slot* says, None for an empty one."""
        head, at = slot * _HEAD.size, self._texts + slot * SLOT
        for _ in range(3):
            serial, length = _HEAD.unpack_from(self._memory, head)
            data = self._memory[at:at + length]
            if serial % 2 == 0 and _HEAD.unpack_from(self._memory, head)[0] == serial:
                if not length:
                    self._good.pop(slot, None)
                    return None
                value: dict[str, Any] = json.loads(data)
                if "rows" in value:
                    value["rows"] = list(map(Row, value["rows"]))
                self._good[slot] = value
                return value
        return self._good.get(slot)

    def every(self) -> list[tuple[int, dict[str, Any]]]:
        """What all slots say that say something; read anew when one of them has changed.  Not to be changed."""
        heads = self._memory[:self._texts]
        if heads != self._heads:
            found = ((slot, self.read(slot)) for slot in range(self.slots))
            self._every = [(slot, value) for slot, value in found if value is not None]
            self._past = self.read(self.slots)
            self._heads = heads
        return self._every

    def past(self) -> dict[str, Any]:
        """The sums of workers that are gone: accesses, bytes, duration, cpu (user, system)."""
        self.every()
        return self._past or {"accesses": 0, "bytes": 0, "duration": 0.0, "cpu": [0.0, 0.0]}

    def bury(self, slot: int) -> None:
        """The worker of *slot* is gone, what it has done still counts; for the master alone."""
        last, past = self.read(slot), self.past()
        if last is not None:
            cpu = last.get("cpu", (0.0, 0.0))
            self.write(self.slots, {
                **{key: past[key] + last.get(key, 0) for key in ("accesses", "bytes", "duration")},
                "cpu": [past["cpu"][0] + cpu[0], past["cpu"][1] + cpu[1]],
            })
        self.clear(slot)

    def forget(self) -> None:
        """Begin to count anew, as a restart does that is not graceful."""
        self.clear(self.slots)

    def clear(self, slot: int) -> None:
        """Empty a slot."""
        head = slot * _HEAD.size
        serial, _ = _HEAD.unpack_from(self._memory, head)
        _HEAD.pack_into(self._memory, head, serial + 2 - serial % 2, 0)


class Scoreboard:
    """One worker's view of the board; the Runtime's scoreboard (see modules/mod_status/state.py for the keys).

    *own* gives what this worker would write into its slot at this moment.
    """

    def __init__(self, board: Board, slot: int, life: Life, own: Callable[[], dict[str, Any]]) -> None:
        self._board, self._slot, self._life, self._own = board, slot, life, own
        self._seen: list[dict[str, Any]] | None = None

    def _all(self) -> list[dict[str, Any]]:
        mine = (self._slot, self._own())
        every = [mine, *(one for one in self._board.every() if one[0] != self._slot)]
        return [value for _slot, value in sorted(every, key=lambda one: one[0])]

    def rows(self) -> list[dict[str, Any]]:
        """One row for each connection that is open, and one for each worker that waits."""
        every = self._seen = self._all()
        return [row for value in every for row in _rows_of(value)]

    def totals(self) -> dict[str, Any]:
        """Sums over all workers, as they were when the rows were last asked for: once."""
        every, self._seen = self._seen or self._all(), None
        past, life = self._board.past(), self._life
        accesses, sent, duration, user, system, slots = past["accesses"], past["bytes"], past["duration"], 0.0, 0.0, 0
        for value in every:
            accesses += value["accesses"]
            sent += value["bytes"]
            duration += value["duration"]
            cpu = value.get("cpu", (0.0, 0.0))
            user += cpu[0]
            system += cpu[1]
            slots += len(value.get("rows", ())) + value.get("idle", 0)
        return {
            "started": life.started, "restarted": life.restarted, "generation": life.generation, "config_generation": life.generation + 1,
            "built": life.built, "mpm": life.mpm, "slots": max(life.slots, slots), "accesses": accesses, "bytes": sent, "duration": duration,
            "cpu": (user, system, *past["cpu"]), "processes": [value["process"] for value in every],
        }


def _rows_of(value: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of one worker's text, those that wait behind those of connections: each names its worker."""
    worker, idle = value.get("worker"), value.get("idle", 0)
    rows: list[dict[str, Any]] = value.get("rows", [])
    for row in rows:
        row["worker"] = worker
    return rows + [{"worker": worker, "state": value.get("waiting", "_")}] * idle


def now() -> float:
    """Seconds since the epoch."""
    return time.time()
