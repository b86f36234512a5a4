"""Short runs of soak and races, and whether a leak is found."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.measure import Budget
from tests.soak.load import missing
from tests.soak.probe import Census, count_objects
from tests.soak.processes import left_after, members
from tests.soak.races import races
from tests.soak.soak import LEAK_FLOOR, Moment, leaks, soak
from whimbrel.base.second_chance import SecondChance

complete = pytest.mark.skipif(bool(missing()), reason=missing() or "nothing is missing")


class Leaked:
    """An object that stays."""

    def __init__(self, weight: int = 0) -> None:
        self.weight = weight
        self.is_used = False


def test_objects_that_stay_are_a_leak_and_entries_of_caches_are_not() -> None:
    first = Moment(count_objects(), 10, 0)
    stays = [Leaked() for _ in range(LEAK_FLOOR + 100)]
    last = Moment(count_objects(), 10, 1000)
    assert [line for line in leaks(first, last) if "Leaked" in line] == [
        f"{len(stays)} more of tests.soak.test_soak.Leaked"
    ]
    more = Moment(
        Census(last.objects.types, {"BoundedDict": [len(stays), 9999, 0, 0]}, 0, []), 10, last.requests
    )
    before = Moment(Census(first.objects.types, {}, 0, []), 10, 0)
    assert not [line for line in leaks(before, more) if "Leaked" in line]


def test_a_cache_whose_bytes_are_not_those_of_its_entries_is_found() -> None:
    cache = SecondChance(10, 1000)
    cache.put({}, "a", Leaked(weight=10))
    assert not count_objects().overdrawn
    cache.bytes = 11
    assert count_objects().overdrawn == ["SecondChance: 11 bytes noted, 10 in its entries"]


def test_memory_that_no_type_shows_is_counted() -> None:
    before = count_objects()
    held = [str(number) * 3 for number in range(100_000)], [bytes(100_000) for _ in range(100)]
    after = count_objects()
    assert after.blocks - before.blocks >= len(held[0])
    is_known = before.heap_used > 0  # of the GNU C library
    assert after.heap_used - before.heap_used >= (100_000 * len(held[1]) if is_known else 0)


def test_what_a_server_leaves_is_found(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    process = subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, start_new_session=True
    )
    try:
        assert members(process.pid) == [process.pid]
        process_line, pipe_line = left_after(process.pid, tmp_path, set(), 0.1)
    finally:
        process.communicate(b"\n")
    assert process_line.startswith(f"process {process.pid} is left")
    assert pipe_line == "a socket or pipe is left: pipe"
    assert left_after(process.pid, tmp_path, set()) == [pipe_line]


@complete
def test_a_few_seconds_of_load() -> None:
    result = soak(3, 1)
    assert result.failures == []
    assert result.figures["requests"] == result.figures["lines of the log"] + result.figures["given back"]


@complete
@pytest.mark.parametrize("servers", [1, 2])
def test_a_few_restarts_under_load(servers: int) -> None:
    result = races(Budget(1, 60, 1), servers)
    assert result.failures == []
    assert result.figures["restarts"] == 1
