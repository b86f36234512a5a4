"""The measurements of a run: all servers of a site in turn, case after case, at full load, then at half of
it.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench import h2load, pace, replay
from bench.configs import PORT, SITES
from bench.documents import CASES, Case
from bench.load import Sample, check_answer, measure
from bench.php import PhpFpm
from bench.process import Running, cores
from bench.report import BASE, Figures
from bench.servers import Server, prepare
from bench.times import Times
from whimbrel.testing.ports import free_port

OWN, OF_BASE = "own", BASE  # half of whose full load
Rates = dict[str, dict[str, float]]


@dataclass
class Plan:
    """Measurements to make:

    *cases* on *servers* (names). *report* is called before each (there are `steps`), *done* after each site.
    *requests* are those of the access log.
    """

    options: argparse.Namespace
    root: Path
    servers: list[str]
    report: Callable[[str], None] = lambda text: None
    done: Callable[[str], None] = lambda text: None
    requests: list[replay.Request] = field(default_factory=list)
    full: dict[str, dict[str, list[Sample]]] = field(default_factory=dict)
    half: dict[str, dict[str, dict[str, list[Figures]]]] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def cases(self) -> list[Case]:
        """Return the selected cases for which this machine has the load generator and the access log."""
        wanted = self.options.cases.split(",")
        return [
            c
            for c in CASES
            if c.name in wanted
            and (not c.http2 or shutil.which("h2load"))
            and (not c.replay or self.requests)
        ]

    def servers_of(self, case: Case) -> list[str]:
        return [name for name in self.servers if name in case.servers]

    def halved(self, case: Case) -> list[str]:
        """Return the servers that are measured at half of full load."""
        return [name for name in self.servers_of(case) if name in case.half and self.options.half]

    def steps(self) -> int:
        """Return the number of measurements."""
        return int(self.options.rounds) * sum(
            len(self.servers_of(c)) + sum(len(kinds(n, self.servers)) for n in self.halved(c))
            for c in self.cases
        )

    def run(self) -> None:
        """Run all measurements; raises NotStarted or WrongResponse."""
        mine, other = cores()
        for site in dict.fromkeys(c.site for c in self.cases):
            cases = [c for c in self.cases if c.site == site]
            backend = self._backend() if SITES[site].proxied else None
            servers = [
                prepare(name, self.root, free_port(), site)
                for name in self.servers
                if any(name in c.servers for c in cases)
            ]
            with ExitStack() as stack:
                if SITES[site].php:
                    stack.enter_context(PhpFpm(self.root))
                if backend is not None:
                    stack.enter_context(Running(backend, other))
                running = {s.name: stack.enter_context(Running(s, mine)) for s in servers}
                for case in cases:
                    for name in self.servers_of(case):
                        self._check(case, running[name].server)
                self._full_load(running, cases, other)
                self._half_load(running, cases, other)
            self.versions |= {s.name: version(s) for s in servers}
            self.done(f"{site}: {', '.join(c.name for c in cases)}")

    def _backend(self) -> Server:
        """Return the back end of proxies; its port is in the file that their configurations read."""
        port = free_port()
        (self.root / PORT).write_text(str(port))
        return prepare("nginx", self.root, port, "backend")

    def _check(self, case: Case, server: Server) -> None:
        if case.replay:
            replay.check(self.requests, server)
        else:
            check_answer(case, server)

    def _full_load(self, running: Mapping[str, Running], cases: list[Case], core: int | None) -> None:
        for number in range(self.options.rounds):
            for case in cases:
                for name in self.servers_of(case):
                    self.report(f"round {number + 1}: {case.name}, {name}")
                    found = measure(running[name], case, self.options.seconds, core)
                    self.full.setdefault(case.name, {}).setdefault(name, []).append(found)

    def _half_load(self, running: Mapping[str, Running], cases: list[Case], core: int | None) -> None:
        paces = {case.name: rates({n: self.full[case.name][n] for n in self.halved(case)}) for case in cases}
        seconds = min(self.options.half_seconds, self.options.seconds)
        for number in range(self.options.rounds):
            for case in cases:
                send = h2load.measure if case.http2 else pace.measure
                for name in self.halved(case):
                    for kind, rate in paces[case.name][name].items():
                        self.report(f"round {number + 1}: {case.name}, {name} at {rate:,.0f} a second")
                        found = paced(send(running[name].server, case, seconds, core, rate), rate)
                        rows = self.half.setdefault(case.name, {}).setdefault(name, {})
                        rows.setdefault(kind, []).append(found)


def kinds(name: str, servers: list[str]) -> tuple[str, ...]:
    """Return the half loads of a server: of its own full load, and of Apache's."""
    return (OWN, OF_BASE) if name != BASE and BASE in servers else (OWN,)


def rates(samples: Mapping[str, list[Sample]]) -> Rates:
    """Return server -> kind -> requests per second: half of the median at full load."""
    halves = {name: median(s.requests / s.seconds for s in rows) / 2 for name, rows in samples.items()}
    return {
        name: {kind: halves[name if kind == OWN else BASE] for kind in kinds(name, list(halves))}
        for name in halves
    }


def paced(times: Times, rate: float) -> Figures:
    """Return the figures of one run at a rate; `held` is the share of it that was answered."""
    return {
        "requests_per_second": rate,
        "held": times.per_second / rate,
        "latency_p50_ms": times.at(0.5),
        "latency_p99_ms": times.at(0.99),
        "latency_p999_ms": times.at(0.999),
        "latency_worst_ms": times.at(1.0),
    }


def version(server: Server) -> str:
    """Return the first line of the server's version."""
    done = subprocess.run(server.version, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().partition("\n")[0]
