"""Table of processes in shared memory: workers claim idle ones, the keeper adds and removes them.

A lock on a memory file (fcntl, so it ends with the process that holds it) makes each change atomic; it is
held for the time of one scan.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum
from mmap import mmap

from whimbrel.base.file_locks import lock, unlock
from whimbrel.modules.support.processes.program import DeathReason
from whimbrel.modules.support.shared_record import NumberField, RealField, SharedRecord


class ProcessState(IntEnum):
    """State of a slot."""

    FREE = 0
    IDLE = 1
    BUSY = 2
    ERROR = 3  # the keeper ends the process


class ProcessRecord(SharedRecord):
    """One process.

    Attributes:
        key: of its class. `serial`: number of the process, part of its socket's name.
        started, active: times of its start and of its last use (clock of the system).
        owner: the worker that uses it. `why`: a DeathReason.
    """

    state = NumberField()
    key = NumberField()
    pid = NumberField()
    serial = NumberField()
    started = RealField()
    active = RealField()
    requests = NumberField()
    owner = NumberField()
    why = NumberField()


class TableHeader(SharedRecord):
    """The beginning of the table; *used*: number of slots that were ever in use."""

    used = NumberField()
    serial = NumberField()


class ProcessTable:
    """The table; made before the fork, used by the keeper and all workers."""

    def __init__(self, slots: int) -> None:
        self._memory = mmap(-1, TableHeader.SIZE + slots * ProcessRecord.SIZE)
        self.header = TableHeader(self._memory, 0)
        self.records = [
            ProcessRecord(self._memory, TableHeader.SIZE + number * ProcessRecord.SIZE)
            for number in range(slots)
        ]
        self._lock = os.memfd_create("processes")

    @property
    def handles(self) -> tuple[int, ...]:
        """Return the descriptors that every user needs."""
        return (self._lock,)

    def close(self) -> None:
        """Release the lock's file."""
        os.close(self._lock)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock."""
        lock(self._lock)
        try:
            yield
        finally:
            unlock(self._lock)

    def present(self) -> list[ProcessRecord]:
        """Return the records in use."""
        return [each for each in self.records[: self.header.used] if each.state != ProcessState.FREE]

    # workers --------------------------------------------------------------------------------------
    def claim(self, key: int) -> ProcessRecord | None:
        """Return an idle process of the class, now busy and owned by this process; None without one."""
        with self.locked():
            for record in self.records[: self.header.used]:
                if record.state == ProcessState.IDLE and record.key == key:
                    record.state = ProcessState.BUSY
                    record.owner = os.getpid()
                    record.why = DeathReason.KILLED_SELF
                    record.active = time.time()
                    return record
        return None

    def use(self, key: int) -> ProcessRecord | None:
        """Return a process of a class whose processes serve several requests at once; None without one."""
        for record in self.records[: self.header.used]:
            if record.state == ProcessState.IDLE and record.key == key:
                record.active = time.time()
                return record
        return None

    def count_busy(self, key: int) -> int:
        """Return how many processes of the class are busy."""
        used = self.records[: self.header.used]
        return sum(1 for each in used if each.state == ProcessState.BUSY and each.key == key)

    def give_back(
        self, record: ProcessRecord, serial: int, *, error: DeathReason | None = None, max_requests: int = 0
    ) -> bool:
        """End the use of a claimed process; return True if it took longer than its busy timeout.

        With *error*, or after *max_requests*, the keeper ends the process.
        """
        with self.locked():
            if record.serial != serial or record.state != ProcessState.BUSY or record.owner != os.getpid():
                return record.serial == serial and record.why == DeathReason.BUSY_TIMEOUT
            record.requests += 1
            record.active = time.time()
            record.owner = 0
            was_late = record.why == DeathReason.BUSY_TIMEOUT
            if was_late or error is not None:
                record.state = ProcessState.ERROR
                if not was_late and error is not None:
                    record.why = error
            elif max_requests > 0 and record.requests >= max_requests:
                record.state = ProcessState.ERROR
                record.why = DeathReason.LIFETIME_EXPIRED
            else:
                record.state = ProcessState.IDLE
            return was_late

    # the keeper -----------------------------------------------------------------------------------
    def free_slot(self) -> ProcessRecord | None:
        """Return a record that is free, with a new serial number; None if all are in use."""
        for number, record in enumerate(self.records):
            if record.state == ProcessState.FREE:
                self.header.used = max(self.header.used, number + 1)
                self.header.serial += 1
                record.serial = self.header.serial
                record.requests = 0
                record.owner = 0
                record.why = DeathReason.KILLED_SELF
                return record
        return None

    def clear(self) -> list[int]:
        """Free all slots; return the process numbers that were in them."""
        with self.locked():
            pids = [record.pid for record in self.present()]
            for record in self.present():
                record.state = ProcessState.FREE
            return pids
