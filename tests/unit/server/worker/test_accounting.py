"""Counters and log lines of responses, computed and cached."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.performance.site import BenchmarkWorker, heads

HEAD = next(heads("/1k.html"))


@pytest.fixture
def site(tmp_path: Path) -> BenchmarkWorker:
    return BenchmarkWorker(tmp_path)


def test_each_request_is_counted_and_logged_once(site: BenchmarkWorker) -> None:
    connection, wire = site.accept()
    runtime: Any = site.engine.runtime
    for number in range(1, 8):
        connection.data_received(HEAD)
        assert wire.out.endswith(b"x" * 1024)
        assert (site.service.requests, site.service.sent) == (number, 1024 * number)
        assert connection.connection.served == number
        assert sum(map(len, runtime.logs.values())) == number
        if number % 3:
            site.loop.tick()
    assert not site.problems


def test_pipelined_requests_are_counted(site: BenchmarkWorker) -> None:
    connection, _wire = site.accept()
    connection.data_received(HEAD)
    site.loop.tick()
    connection.data_received(HEAD * 5)
    assert (site.service.requests, connection.connection.served) == (6, 6)


@pytest.mark.parametrize("shown", ["192.0.2.99", "name.test"])
def test_a_ready_entry_does_not_log_another_client(site: BenchmarkWorker, shown: str) -> None:
    runtime: Any = site.engine.runtime
    first, _wire = site.accept()
    second, _wire = site.accept()
    for _ in range(4):
        for connection in (first, second):
            connection.data_received(HEAD)
        site.loop.tick()
    if shown == "name.test":
        second.connection.notes["remote-host"] = shown  # which a check has looked up
    else:
        second.connection.useragent_ip = shown
    runtime.logs.clear()
    for connection in (first, first, second):
        connection.data_received(HEAD)
    lines = [line.split()[0] for lines in runtime.logs.values() for line in lines]
    assert lines == [b"192.0.2.7", b"192.0.2.7", shown.encode()]
