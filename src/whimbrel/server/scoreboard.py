"""What the workers are doing, in memory that all of them share.

Every worker writes one text (JSON) about itself into its slot, at most once a second while it is busy and when it is asked; nobody else writes
there.  A reader that meets a half-written text takes the slot's last good one.  What the texts say is described in `Slot`.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import time
from dataclasses import dataclass
from typing import Any, Final

SLOT: Final = 32 * 1024
SLOTS: Final = 128
_HEAD: Final = struct.Struct("=QI")  # serial number (odd while it is written), length


@dataclass(slots=True)
class Life:
    """What the master knows: times in seconds since the epoch, and which generation of workers is the present one."""

    started: float
    restarted: float
    generation: int = 0
    built: str = ""
    mpm: str = "event"


class Board:
    """The shared memory; made by the master before it forks."""

    def __init__(self, slots: int = SLOTS) -> None:
        self.slots = slots
        self._memory = mmap.mmap(-1, slots * SLOT)
        self._good: dict[int, dict[str, Any]] = {}

    def write(self, slot: int, value: dict[str, Any]) -> None:
        """Replace what *slot* says; texts that don't fit lose their rows."""
        data = json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()
        if len(data) > SLOT - _HEAD.size:
            data = json.dumps({**value, "rows": value.get("rows", [])[:16]}, separators=(",", ":")).encode()[: SLOT - _HEAD.size]
        at = slot * SLOT
        serial, _ = _HEAD.unpack_from(self._memory, at)
        _HEAD.pack_into(self._memory, at, serial + 1, 0)
        self._memory[at + _HEAD.size : at + _HEAD.size + len(data)] = data
        _HEAD.pack_into(self._memory, at, serial + 2, len(data))

    def read(self, slot: int) -> dict[str, Any] | None:
        """What *slot* says, None for an empty one."""
        at = slot * SLOT
        for _ in range(3):
            serial, length = _HEAD.unpack_from(self._memory, at)
            data = self._memory[at + _HEAD.size : at + _HEAD.size + length]
            if serial % 2 == 0 and _HEAD.unpack_from(self._memory, at)[0] == serial:
                if not length:
                    self._good.pop(slot, None)
                    return None
                value: dict[str, Any] = json.loads(data)
                self._good[slot] = value
                return value
        return self._good.get(slot)

    def clear(self, slot: int) -> None:
        """The worker of *slot* is gone."""
        serial, _ = _HEAD.unpack_from(self._memory, slot * SLOT)
        _HEAD.pack_into(self._memory, slot * SLOT, serial + 2 - serial % 2, 0)


class Scoreboard:
    """One worker's view of the board; the Runtime's scoreboard (see modules/mod_status.py for the keys)."""

    def __init__(self, board: Board, slot: int, life: Life, refresh: Any) -> None:
        self._board, self._slot, self._life, self._refresh = board, slot, life, refresh

    def _all(self) -> list[tuple[int, dict[str, Any]]]:
        self._refresh()
        found = ((slot, self._board.read(slot)) for slot in range(self._board.slots))
        return [(slot, value) for slot, value in found if value is not None]

    def rows(self) -> list[dict[str, Any]]:
        """One row for each connection that is open, and one for each worker that waits."""
        return [row for _slot, value in self._all() for row in value.get("rows", [])]

    def totals(self) -> dict[str, Any]:
        """Sums over all workers."""
        every = [value for _slot, value in self._all()]
        own = os.times()
        return {
            "started": self._life.started, "restarted": self._life.restarted, "generation": self._life.generation, "config_generation": 1,
            "built": self._life.built, "mpm": self._life.mpm, "slots": sum(len(v.get("rows", [])) for v in every),
            "accesses": sum(v["accesses"] for v in every), "bytes": sum(v["bytes"] for v in every), "duration": sum(v["duration"] for v in every),
            "cpu": (own.user, own.system, own.children_user, own.children_system), "processes": [v["process"] for v in every],
        }


def now() -> float:
    """Seconds since the epoch."""
    return time.time()
