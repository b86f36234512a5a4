"""One measurement at full load: wrk or h2load on its own core, CPU time and memory of the server."""

from __future__ import annotations

import http.client
import re
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench import h2load
from bench.documents import Case
from bench.errors import WrongResponse
from bench.process import Memory, Running, output_of
from bench.replay import REQUESTS, errors_among
from bench.servers import Server

SCRIPTS = Path(__file__).parent
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60000.0}


@dataclass(frozen=True)
class Sample:
    """Result of one run: times in milliseconds, the largest memory."""

    requests: int
    seconds: float
    cpu_seconds: float
    p50: float
    p99: float
    memory: Memory

    @property
    def per_cpu_second(self) -> float:
        return self.requests / max(self.cpu_seconds, 0.01)


def check_answer(case: Case, server: Server) -> None:
    """Send one request; raise WrongResponse unless status and length are those of the case."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    if server.tls:
        context = ssl._create_unverified_context()
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=10, context=context)
    try:
        connection.request(case.method, server.prefix + case.path, case.body or None, case.headers)
        reply = connection.getresponse()
        body = reply.read()
    finally:
        connection.close()
    if reply.status != case.status or (case.status < 400 and case.length not in (None, len(body))):
        raise WrongResponse(
            f"{server.name} {case.path}: {reply.status}, {len(body)} bytes; "
            f"expected {case.status}, {case.length}"
        )


def milliseconds(text: str) -> float:
    """Return wrk's ``1.25ms`` in milliseconds."""
    match = re.fullmatch(r"([\d.]+)([a-z]+)", text)
    assert match is not None, text
    return float(match[1]) * UNITS[match[2]]


def percentile(output: str, which: str) -> float:
    """Return the latency of wrk's line ``99%    1.25ms``."""
    match = re.search(rf"^\s+{which}%\s+(\S+)\s*$", output, re.M)
    assert match is not None, output
    return milliseconds(match[1])


def done(output: str, case: Case, server: Server | None = None) -> tuple[int, float]:
    """Return requests and seconds that wrk reports; raises WrongResponse for another status or a failure."""
    match = re.search(r"(\d+) requests in ([\d.]+\w+),", output)
    assert match is not None, output
    requests = int(match[1])
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    errors = re.search(r"Socket errors: .*", output)
    if case.replay and server is not None:
        wanted, tolerance = errors_among(server.root / REQUESTS, requests), 2 * case.connections
    else:
        wanted, tolerance = 0 if case.status < 400 else requests, 0
    if abs((int(bad[1]) if bad else 0) - wanted) > tolerance or errors:
        raise WrongResponse(
            f"{case.path}: {bad[0] if bad else ''} {errors[0] if errors else ''} of {requests} requests"
        )
    return requests, milliseconds(match[2]) / 1000


class Watch(threading.Thread):
    """Thread that reads the server's memory four times a second and stores the largest values."""

    def __init__(self, running: Running) -> None:
        super().__init__(daemon=True)
        self.running, self.peak, self.over = running, running.memory(), threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.25):
            self.peak = self.peak.most(self.running.memory())

    def result(self) -> Memory:
        """Return the peak; ends the thread."""
        self.over.set()
        self.join()
        return self.peak.most(self.running.memory())


Arguments = tuple[list[str], list[str]]  # of wrk, before and after the URL


def script(case: Case, server: Server) -> Arguments:
    """Return the arguments of the script that prepares the requests."""
    if case.replay:
        return ["-s", str(SCRIPTS / "replay.lua")], ["--", str(server.root / REQUESTS)]
    if case.varied:
        return ["-s", str(SCRIPTS / "varied.lua")], []
    if case.visitors:
        return ["-s", str(SCRIPTS / "visitors.lua")], []
    if case.pages:
        return ["-s", str(SCRIPTS / "pages.lua")], ["--", str(case.pages)]
    if case.fresh:
        return ["-s", str(SCRIPTS / "fresh.lua")], ["--", case.fresh, str(time.time_ns())]
    if case.body:
        return ["-s", str(SCRIPTS / "body.lua")], ["--", case.method, case.body]
    return [], []


def command(server: Server, case: Case, seconds: int, arguments: Arguments) -> list[str]:
    """Return the command line of wrk."""
    headers = [word for name, value in case.headers.items() for word in ("-H", f"{name}: {value}")]
    before, after = arguments
    return [
        "wrk",
        "-t1",
        f"-c{case.connections}",
        f"-d{seconds}s",
        "--latency",
        *before,
        *headers,
        server.url(case.path),
        *after,
    ]


def by_wrk(server: Server, case: Case, seconds: int, core: int | None) -> tuple[int, float, float, float]:
    """Return requests, seconds, p50 and p99 of one run of wrk."""
    output = output_of(command(server, case, seconds, script(case, server)), core)
    requests, took = done(output, case, server)
    return requests, took, percentile(output, "50"), percentile(output, "99")


def by_h2load(server: Server, case: Case, seconds: int, core: int | None) -> tuple[int, float, float, float]:
    """Return the same of one run of h2load."""
    times = h2load.measure(server, case, seconds, core)
    return times.count, float(seconds), times.at(0.5), times.at(0.99)


def measure(running: Running, case: Case, seconds: int, core: int | None) -> Sample:
    """Send the requests of *case* for *seconds* over keep-alive connections, at full load."""
    generate: Callable[[Server, Case, int, int | None], tuple[int, float, float, float]] = (
        by_h2load if case.http2 else by_wrk
    )
    watch, before = Watch(running), running.cpu_seconds()
    watch.start()
    try:
        requests, took, middle, late = generate(running.server, case, seconds, core)
        used = running.cpu_seconds() - before
    finally:
        memory = watch.result()
    return Sample(requests, took, used, middle, late, memory)
