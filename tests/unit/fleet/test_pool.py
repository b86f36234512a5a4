"""The processes of a fleet: no server is lost, whatever its process does."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

import pytest
from tests.support.fleet_tasks import HostileTask, servers

from whimbrel.fleet import pool as pool_module
from whimbrel.fleet.model import ServerResult
from whimbrel.fleet.pool import FleetPool, ServerLimits
from whimbrel.fleet.servers import FleetServer

MINUTE = ServerLimits(seconds=60)


def results(
    fleet: list[FleetServer], jobs: int = 1, limits: ServerLimits = MINUTE
) -> dict[str, ServerResult]:
    pool = FleetPool(HostileTask(), fleet, jobs, limits)
    try:
        return {fleet[number].name: result for number, result in pool.results(range(len(fleet)))}
    finally:
        pool.close()


def test_what_ends_a_process_costs_one_server() -> None:
    fleet = servers("a", "killed", "b", "ended", "c", "memory", "defect", "nested", "d")
    found = results(fleet)
    assert {name: result.verdict for name, result in found.items()} == {
        **dict.fromkeys("abcd", "findings"),
        **dict.fromkeys(("killed", "ended", "memory", "defect", "nested"), "not decided"),
    }
    assert {result.code for name, result in found.items() if len(name) > 1} == {3}
    assert found["killed"].fault == "its process ended by signal 9"
    assert found["ended"].fault == "its process ended by exit code 7"
    assert found["memory"].fault == "more than 2048 MB are needed"
    assert found["defect"].fault == "a defect of whimbrel: KeyError: 'a defect'"


def test_a_server_has_a_limit_of_time() -> None:
    found = results(servers("a", "endless", "b"), 2, ServerLimits(seconds=4))
    assert [found[name].verdict for name in "ab"] == ["findings", "findings"]
    assert found["endless"].fault == "stopped after 4 seconds"


def test_a_process_that_dies_between_two_servers_is_replaced() -> None:
    fleet = servers("a", "b")
    pool = FleetPool(HostileTask(), fleet, 1, MINUTE)
    try:
        found = pool.results([0, 1])
        assert next(found)[0] == 0
        (worker,) = pool._workers.values()
        worker.process.kill()
        worker.process.join()
        assert next(found)[1].verdict == "findings"
    finally:
        pool.close()


def test_closing_ends_the_processes_and_names_what_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_module, "CLOSE_SECONDS", 0.1)
    pool = FleetPool(HostileTask(), servers("writing", "a"), 2, MINUTE)
    assert next(pool.results([0, 1]))[0] == 1
    ends = time.monotonic() + 60
    while not any(worker.is_writing for worker in pool._workers.values()) and time.monotonic() < ends:
        assert not list(pool._received())
    processes = [worker.process for worker in pool._workers.values()]
    begin = time.monotonic()
    pool.close()
    assert time.monotonic() - begin < 5
    assert pool.cut_writes == [0]
    assert len(processes) == 2
    assert not any(process.is_alive() for process in processes)


def test_closing_takes_what_processes_have_sent_before() -> None:
    """A process that dies while it writes leaves its files cut, though its last message was not read."""
    pool = FleetPool(HostileTask(), servers("writing", "a", "b"), 3, MINUTE)
    for _process in range(3):
        pool._start()
    pending = deque([0, 1, 2])
    for connection, worker in list(pool._workers.items()):
        pool._send(connection, worker, pending)
    for connection in pool._workers:
        assert connection.poll(60)
    (dying,) = [worker for worker in pool._workers.values() if worker.number == 0]
    dying.process.kill()
    pool.close()
    assert pool.cut_writes == [0]
    assert sorted((number, result.verdict) for number, result in pool.late_results) == [
        (1, "findings"),
        (2, "findings"),
    ]


def test_a_process_writes_no_file_but_its_own(tmp_path: Path) -> None:
    """It is confined, as the command is: the log of the task is refused."""
    pool = FleetPool(HostileTask(str(tmp_path / "log")), servers("a"), 1, MINUTE)
    try:
        ((_number, result),) = pool.results([0])
    finally:
        pool.close()
    assert result.verdict == "not read"
    assert "Operation not permitted" in result.fault
