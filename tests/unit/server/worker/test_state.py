"""The worker's clock: Date fields follow a changed system clock, deadlines do not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.engine import build_engine
from tests.support.fakes import FakeLoop
from tests.support.site import Site
from tests.support.worker import WorkerHarness

from whimbrel.engine.cache.fd_cache import FdCache
from whimbrel.server.worker import state
from whimbrel.server.worker.state import WorkerState, scan_period


def test_dates_follow_a_clock_that_jumps_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    class Engine:
        def log_time(self, now: float) -> bytes:
            return b"%d" % now

    one = WorkerState.__new__(WorkerState)
    one.second, one.date, one.engine = 0.0, b"", Engine()  # type: ignore[assignment]
    dates, log_times = [], []
    for now in (1_600_000_000.5, 1_600_003_600.25, 1_600_000_000.75, 86_400.0):
        monkeypatch.setattr(state, "time", lambda moment=now: moment)
        dates.append(one.date_field())
        log_times.append(one.log_time)
    assert log_times == [b"1600000000", b"1600003600", b"1600000000", b"86400"]
    assert dates == [
        b"Sun, 13 Sep 2020 12:26:40 GMT",
        b"Sun, 13 Sep 2020 13:26:40 GMT",
        b"Sun, 13 Sep 2020 12:26:40 GMT",
        b"Fri, 02 Jan 1970 00:00:00 GMT",
    ]


def test_the_date_of_a_response_is_that_of_its_request() -> None:
    class Engine:
        def log_time(self, now: float) -> bytes:
            return b"%d" % now

    one = WorkerState.__new__(WorkerState)
    one.second, one.date, one.engine = 0.0, b"", Engine()  # type: ignore[assignment]
    dates = [one.date_of(moment) for moment in (1_600_000_003.5, 1_600_000_000.5, 1_600_000_003.9)]
    assert dates == [
        b"Sun, 13 Sep 2020 12:26:43 GMT",
        b"Sun, 13 Sep 2020 12:26:40 GMT",
        b"Sun, 13 Sep 2020 12:26:43 GMT",
    ]
    assert one.second == 1_600_000_004.0  # a late response does not turn the clock back


def test_the_time_of_a_tick_is_in_the_second_of_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request of the next second moves both: the cached responses behind it have Date and Expires of one
    time.
    """
    clock = 1_600_000_003.9
    monkeypatch.setattr(state, "time", lambda: clock)
    worker = WorkerState(build_engine(tmp_path, ""), FakeLoop())  # type: ignore[arg-type]
    worker.begin_tick()
    assert worker.date_of(1_600_000_004.1) == b"Sun, 13 Sep 2020 12:26:44 GMT"
    assert int(worker.now) == 1_600_000_004
    assert worker.date == b"Sun, 13 Sep 2020 12:26:44 GMT"
    assert worker.date_of(1_600_000_003.9) == b"Sun, 13 Sep 2020 12:26:43 GMT"
    assert int(worker.now) == 1_600_000_004


def test_deadlines_count_by_the_clock_that_is_never_set(monkeypatch: pytest.MonkeyPatch) -> None:
    class Connection:
        expired = 0
        deadline = 500.0

        def expire(self) -> None:
            self.expired += 1

    one, connection = WorkerState.__new__(WorkerState), Connection()
    one.scan_period, one._scan_at, one._sweep_at = 1.0, 0.0, 0.0
    one.period, one.connections, one.loop, one.on_tick = 1.0, {connection}, FakeLoop(), lambda: None  # type: ignore[arg-type,assignment]
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
def test_deadlines_are_scanned_four_times_in_the_shortest_timeout_of_any_server(
    tmp_path: Path, lines: str, seconds: float
) -> None:
    assert scan_period(Site(tmp_path, lines).load()) == seconds


@pytest.mark.parametrize(("timeout", "moments"), [(5.0, 100), (0.5, 10), (60.0, 1200)])
def test_a_deadline_is_met_within_two_periods_and_never_early(
    monkeypatch: pytest.MonkeyPatch, timeout: float, moments: int
) -> None:
    """apache2 with mpm_event closes after 5.004 to 5.013 seconds for KeepAliveTimeout 5."""

    class Connection:
        deadline = state.FOREVER
        expired_at = 0.0

        def expire(self) -> None:
            self.deadline, self.expired_at = state.FOREVER, clock[0]

    clock = [100.0]
    monkeypatch.setattr(state, "monotonic", lambda: clock[0])
    connection, one = Connection(), WorkerState.__new__(WorkerState)
    one.period, one.scan_period, one._scan_at, one._sweep_at = 0.05, min(4.0, timeout) / 4, 0.0, 0.0
    one.connections, one.loop, one.files = {connection}, FakeLoop(), FdCache()  # type: ignore[arg-type,assignment]
    one.on_tick = lambda: None
    one._tick()
    clock[0] += 0.049  # the clock of the worker is old by nearly a period
    begun, connection.deadline = clock[0], one.clock + timeout
    clock[0] -= 0.049
    scans, scan = [], one._scan
    monkeypatch.setattr(one, "_scan", lambda now: (scans.append(now), scan(now)))
    for _ in range(moments + 3):
        clock[0] += 0.05
        one._tick()
    assert timeout <= connection.expired_at - begun < timeout + 0.101
    assert len(scans) <= timeout / one.scan_period + 2


@pytest.mark.parametrize(
    ("cost", "ticks"), [(state.MAX_ROUND, [1, 2, 3, 4, 5]), (state.MAX_ROUND / 2, [2, 4, 5, 5, 5])]
)
def test_waiting_connections_are_resumed_in_order_for_a_bounded_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cost: float, ticks: list[int]
) -> None:
    clock, resumed, loop = [100.0], [0][:0], FakeLoop()
    monkeypatch.setattr(state, "monotonic", lambda: clock[0])

    class Waiting:
        def __init__(self, number: int) -> None:
            self.number = number

        def resume(self) -> None:
            clock[0] += cost
            resumed.append(self.number)

    one = WorkerState(build_engine(tmp_path, ""), loop)  # type: ignore[arg-type]
    for number in range(5):
        one.postpone(Waiting(number))
    counts = []
    for _ in range(5):
        loop.tick()
        counts.append(len(resumed))
    assert counts == ticks and resumed == [0, 1, 2, 3, 4]


def test_a_tick_that_took_long_begins_no_further_request(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clock = [100.0]
    monkeypatch.setattr(state, "monotonic", lambda: clock[0])
    one = WorkerState(build_engine(tmp_path, ""), FakeLoop())  # type: ignore[arg-type]
    assert one.takes_more()
    clock[0] += state.MAX_ROUND
    assert not one.takes_more()


def test_a_connection_that_cannot_be_written_holds_no_other_back(tmp_path: Path) -> None:
    worker = WorkerHarness(build_engine(tmp_path, "Listen 127.0.0.1:8080\n"))
    written: list[str] = []

    class Connection:
        def __init__(self, name: str) -> None:
            self.name = name

        def write_gathered(self) -> None:
            if self.name == "bad":
                raise OSError
            written.append(self.name)

    worker.service.begin_tick()
    worker.service.gathering += map(Connection, ("first", "bad", "last"))
    worker.loop.tick()
    assert written == ["first", "last"] and [type(problem) for problem in worker.problems] == [OSError]
    assert not worker.service.in_tick and not worker.service.gathering


def test_a_tick_is_busy_after_one_of_many_requests(tmp_path: Path) -> None:
    worker = WorkerHarness(build_engine(tmp_path, "Listen 127.0.0.1:8080\n"))
    seen = []
    for count in (state.FEW_REQUESTS, state.FEW_REQUESTS + 1, 0):
        worker.service.begin_tick()
        worker.service.requests += count
        worker.loop.tick()
        seen.append(worker.service.is_busy)
    assert seen == [False, True, False]


def test_the_end_of_a_tick_calls_what_waits_for_it_after_the_writes(tmp_path: Path) -> None:
    worker = WorkerHarness(build_engine(tmp_path, "Listen 127.0.0.1:8080\n"))
    service = worker.service
    done: list[str] = []

    class Connection:
        def write_gathered(self) -> None:
            done.append("written")

    def fail() -> None:
        raise OSError

    service.begin_tick()
    service.gathering.append(Connection())
    service.call_at_end(fail)
    service.call_at_end(lambda: done.append("logged"))
    assert not done
    worker.loop.tick()
    assert done == ["written", "logged"] and [type(problem) for problem in worker.problems] == [OSError]
    service.call_at_end(lambda: done.append("outside of a tick"))
    worker.loop.tick()
    assert done[2:] == ["outside of a tick"]
