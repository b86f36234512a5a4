"""The worker's clock: Date fields follow a changed system clock, deadlines do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.config.site import Site

from whimbrel.engine.cache.fd_cache import FdCache
from whimbrel.server.worker import state
from whimbrel.server.worker.state import WorkerState, tick_period


def test_dates_follow_a_clock_that_jumps_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    one = WorkerState.__new__(WorkerState)
    one.second, one.date = 0.0, b""
    dates = []
    for now in (1_600_000_000.5, 1_600_003_600.25, 1_600_000_000.75, 86_400.0):
        monkeypatch.setattr(state, "time", lambda moment=now: moment)
        dates.append(one.date_field())
    assert dates == [
        b"Sun, 13 Sep 2020 12:26:40 GMT",
        b"Sun, 13 Sep 2020 13:26:40 GMT",
        b"Sun, 13 Sep 2020 12:26:40 GMT",
        b"Fri, 02 Jan 1970 00:00:00 GMT",
    ]


def test_deadlines_count_by_the_clock_that_is_never_set(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loop:
        def call_later(self, seconds: float, call: object) -> None:
            self.asked = seconds

    class Connection:
        expired = 0
        deadline = 500.0

        def expire(self) -> None:
            self.expired += 1

    one, connection = WorkerState.__new__(WorkerState), Connection()
    one.period, one.connections, one.loop, one.on_tick = 1.0, {connection}, Loop(), lambda: None  # type: ignore[arg-type,assignment]
    one.files = FdCache()
    monkeypatch.setattr(state, "time", lambda: 4e9)
    monkeypatch.setattr(state, "monotonic", lambda: 400.0)
    one._tick()
    assert connection.expired == 0
    monkeypatch.setattr(state, "monotonic", lambda: 502.0)
    one._tick()
    assert connection.expired == 1


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        ("", 1.0),
        ("Timeout 2\n", 0.5),
        (
            "<VirtualHost *:80>\nKeepAliveTimeout 1\n</VirtualHost>\n<VirtualHost *:81>\n</VirtualHost>\n",
            0.25,
        ),
        (
            "LoadModule reqtimeout_module m/mod_reqtimeout.so\n<VirtualHost *:80>\nRequestReadTimeout "
            "body=2\n</VirtualHost>\n",
            0.5,
        ),
    ],
)
def test_the_clock_ticks_four_times_in_the_shortest_patience_of_any_server(
    tmp_path: Path, lines: str, seconds: float
) -> None:
    assert tick_period(Site(tmp_path, lines).load()) == seconds
