"""The table of processes: claims, returns and what the keeper finds."""

from __future__ import annotations

import os

from whimbrel.modules.support.processes.program import DeathReason
from whimbrel.modules.support.processes.table import ProcessState, ProcessTable


def table_with(*keys: int) -> ProcessTable:
    """Return a table with one idle process of each of these classes."""
    table = ProcessTable(8)
    for key in keys:
        record = table.free_slot()
        assert record is not None
        record.key, record.state, record.pid = key, ProcessState.IDLE, 1000 + key
    return table


def test_a_process_has_one_user_at_a_time() -> None:
    table = table_with(1, 2)
    first = table.claim(1)
    assert first is not None and first.owner == os.getpid() and table.count_busy(1) == 1
    assert table.claim(1) is None and table.claim(2) is not None
    assert not table.give_back(first, first.serial)
    assert table.claim(1) is not None


def test_errors_and_old_processes_are_left_to_the_keeper() -> None:
    table = table_with(1, 2)
    broken, old = table.claim(1), table.claim(2)
    assert broken is not None and old is not None
    table.give_back(broken, broken.serial, error=DeathReason.COMM_ERROR)
    table.give_back(old, old.serial, max_requests=1)
    assert (broken.state, broken.why) == (ProcessState.ERROR, DeathReason.COMM_ERROR)
    assert (old.state, old.why) == (ProcessState.ERROR, DeathReason.LIFETIME_EXPIRED)


def test_a_late_return_does_not_touch_the_successor() -> None:
    """A process that was ended while it was busy: its slot belongs to another by then."""
    table = table_with(1)
    record = table.claim(1)
    assert record is not None
    serial, record.why = record.serial, DeathReason.BUSY_TIMEOUT
    assert table.give_back(record, serial)
    record.state = ProcessState.FREE
    successor = table.free_slot()
    assert successor is not None
    successor.key, successor.state = 1, ProcessState.BUSY
    table.give_back(record, serial)
    assert successor.state == ProcessState.BUSY and successor.serial != serial


def test_the_table_has_a_bound() -> None:
    table = table_with(*range(1, 9))
    assert table.free_slot() is None
    assert sorted(table.clear()) == [1000 + key for key in range(1, 9)]
    assert table.free_slot() is not None
