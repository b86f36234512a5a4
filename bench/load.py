"""One measurement: wrk on its own core, the server's CPU time and memory around it."""

from __future__ import annotations

import http.client
import re
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from bench.documents import Case
from bench.process import Running, pinned
from bench.servers import Server

VARIED = Path(__file__).with_name("varied.lua")
UNITS = {"us": 0.001, "ms": 1.0, "s": 1000.0, "m": 60000.0}


class WrongAnswer(Exception):
    """A server answered something else than the case says: its figures would mean nothing."""


@dataclass(frozen=True)
class Sample:
    """What one run of wrk showed: times in milliseconds, memory in bytes."""

    requests: int
    seconds: float
    cpu_seconds: float
    p50: float
    p99: float
    memory: int

    @property
    def per_cpu_second(self) -> float:
        return self.requests / max(self.cpu_seconds, 0.01)


def check_answer(case: Case, server: Server) -> None:
    """Asks once and raises WrongAnswer unless status and length are those of the case."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    try:
        connection.request("GET", server.prefix + case.path, headers=case.headers)
        reply = connection.getresponse()
        body = reply.read()
    finally:
        connection.close()
    if reply.status != case.status or (case.status < 400 and case.length not in (None, len(body))):
        raise WrongAnswer(f"{server.name} {case.path}: {reply.status}, {len(body)} bytes; expected {case.status}, {case.length}")


def milliseconds(text: str) -> float:
    """wrk's ``1.25ms`` in milliseconds."""
    match = re.fullmatch(r"([\d.]+)([a-z]+)", text)
    assert match is not None, text
    return float(match[1]) * UNITS[match[2]]


def done_http2(output: str, case: Case) -> tuple[int, float, float]:
    """Requests, seconds and mean latency (milliseconds) that h2load reports; raises WrongAnswer when some failed."""
    found = re.search(r"finished in ([\d.]+\w+),", output), re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored", output)
    mean = re.search(r"^time for request:\s+\S+\s+\S+\s+(\S+)", output, re.M)
    assert found[0] is not None and found[1] is not None and mean is not None, output
    if found[1][2] != "0" or found[1][3] != "0" or f"status codes: {found[1][1]} 2xx" not in output:
        raise WrongAnswer(f"{case.path}: {found[1][0]}")
    return int(found[1][1]), milliseconds(found[0][1]) / 1000, milliseconds(mean[1])


def percentile(output: str, which: str) -> float:
    """The latency of wrk's line ``99%    1.25ms``."""
    match = re.search(rf"^\s+{which}%\s+(\S+)\s*$", output, re.M)
    assert match is not None, output
    return milliseconds(match[1])


def done(output: str, case: Case) -> tuple[int, float]:
    """Requests and seconds that wrk reports; raises WrongAnswer when some answers had another status or failed."""
    match = re.search(r"(\d+) requests in ([\d.]+\w+),", output)
    assert match is not None, output
    requests = int(match[1])
    bad = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    errors = re.search(r"Socket errors: .*", output)
    if (int(bad[1]) if bad else 0) != (0 if case.status < 400 else requests) or errors:
        raise WrongAnswer(f"{case.path}: {bad[0] if bad else ''} {errors[0] if errors else ''} of {requests} requests")
    return requests, milliseconds(match[2]) / 1000


class Watch(threading.Thread):
    """Reads the server's memory four times a second and keeps the largest value."""

    def __init__(self, running: Running) -> None:
        super().__init__(daemon=True)
        self.running, self.peak, self.over = running, running.memory(), threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.25):
            self.peak = max(self.peak, self.running.memory())

    def result(self) -> int:
        """The peak in bytes; ends the thread."""
        self.over.set()
        self.join()
        return max(self.peak, self.running.memory())


def measure(running: Running, case: Case, seconds: int, core: int | None) -> Sample:
    """Asks *case* for *seconds* over kept-alive connections."""
    headers = [word for name, value in case.headers.items() for word in ("-H", f"{name}: {value}")]
    url = f"http://127.0.0.1:{running.server.port}{running.server.prefix}{case.path}"
    if case.http2:
        argv = ["h2load", f"-c{case.connections}", "-m10", "-t1", f"-D{seconds}", *headers, url]
    else:
        script = ["-s", str(VARIED)] if case.varied else []
        argv = ["wrk", "-t1", f"-c{case.connections}", f"-d{seconds}s", "--latency", *script, *headers, url]
    watch, before = Watch(running), running.cpu_seconds()
    watch.start()
    output = subprocess.run(pinned(argv, core), capture_output=True, text=True, check=True).stdout
    used, memory = running.cpu_seconds() - before, watch.result()
    if case.http2:
        requests, took, middle = done_http2(output, case)
        return Sample(requests, took, used, middle, middle, memory)
    requests, took = done(output, case)
    return Sample(requests, took, used, percentile(output, "50"), percentile(output, "99"), memory)
