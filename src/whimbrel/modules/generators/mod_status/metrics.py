"""``SetHandler whimbrel-metrics``: the scoreboard in the text format of Prometheus, by prometheus-client.

An extension: httpd has no such handler. Names and labels are those of apache_exporter, which reads ``?auto``,
so that its dashboards and alerts work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from whimbrel.base.numbers import atoi
from whimbrel.modules.generators.mod_status.page import Names
from whimbrel.modules.generators.mod_status.state import State

TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_STATES: Final = {
    "_": "idle",
    "S": "startup",
    "R": "read",
    "W": "reply",
    "K": "keepalive",
    "D": "dns",
    "C": "closing",
    "L": "logging",
    "G": "graceful_stop",
    "I": "idle_cleanup",
    ".": "open_slot",
}
_VERSION: Final = re.compile(r"/(\d+)\.(\d+)\.(\d+)")


class _Scoreboard(Collector):
    """The metrics of one state of the scoreboard."""

    def __init__(self, names: Names, state: State) -> None:
        self._names = names
        self._state = state

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics; those of requests with ExtendedStatus alone, as ?auto has them."""
        yield GaugeMetricFamily("apache_up", "The server answers.", 1)
        yield from _server(self._names, self._state)
        if self._state.extended:
            yield from _requests(self._state)
        yield from _workers(self._state)


def document(names: Names, state: State) -> bytes:
    """Return the response."""
    return generate_latest(_Scoreboard(names, state))


def _server(names: Names, s: State) -> Iterator[Metric]:
    found = _VERSION.search(names.product)
    if found is not None:
        major, minor, patch = map(atoi, found.groups())
        version = round(major + minor / 100 + patch / 100_000, 5)
        yield GaugeMetricFamily("apache_version", "Version of httpd, as a number.", version)
    info = GaugeMetricFamily("apache_info", "Version and MPM.", labels=("version", "mpm"))
    info.add_metric((names.product, str(s.totals.get("mpm", "event"))), 1)
    yield info
    generations = {
        "config": s.totals.get("config_generation", 1),
        "mpm": s.totals.get("generation", 0),
    }
    yield _gauge("apache_generation", "Restarts.", "type", generations)
    load = dict(zip(("1min", "5min", "15min"), s.load, strict=True))
    yield _gauge("apache_load", "Load of the machine.", "interval", load)
    yield CounterMetricFamily("apache_uptime_seconds", "Seconds since the start.", s.uptime)


def _requests(s: State) -> Iterator[Metric]:
    yield CounterMetricFamily("apache_accesses", "Requests.", s.accesses)
    yield CounterMetricFamily("apache_sent_kilobytes", "Kilobytes that were sent.", s.bytes // 1024)
    yield CounterMetricFamily("apache_duration_ms", "Milliseconds of all requests.", s.duration)
    user, system, child_user, child_system = s.cpu
    cpu = CounterMetricFamily("apache_cpu_time_ms", "Milliseconds of processor time.", labels=("type",))
    cpu.add_metric(("user",), (user + child_user) * 1000)
    cpu.add_metric(("system",), (system + child_system) * 1000)
    yield cpu
    if s.uptime:
        share = s.cpu_time / s.uptime * 100
        yield GaugeMetricFamily("apache_cpuload", "Processor time, in percent of the uptime.", share)


def _workers(s: State) -> Iterator[Metric]:
    workers = {"busy": s.busy, "graceful": s.graceful, "idle": s.idle}
    yield _gauge("apache_workers", "Workers by state.", "state", workers)
    processes = {"all": len(s.processes) or 1, "stopping": s.counts.stopping}
    yield _gauge("apache_processes", "Processes by state.", "state", processes)
    connections = {
        "total": s.counts.connections,
        "wait_io": s.counts.wait_io,
        "writing": s.counts.writing,
        "keepalive": s.counts.keep_alive,
        "closing": s.counts.closing,
    }
    yield _gauge("apache_connections", "Connections by state.", "state", connections)
    board = {word: s.board.count(letter) for letter, word in _STATES.items()}
    yield _gauge("apache_scoreboard", "Slots of the scoreboard by state.", "state", board)


def _gauge(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=(label,))
    for word, value in values.items():
        family.add_metric((word,), value)
    return family
