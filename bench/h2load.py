"""h2load: HTTP/2, and requests at a rate that is held; the times come from its log, a line for each request.

h2load sends what is due every hundredth of a second, on all connections at once: short bursts, the same for every server.  A time counts from the
moment in which the request was sent.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from bench.answers import WrongAnswer
from bench.documents import Case
from bench.process import output_of
from bench.servers import Server

WARM_UP = 1     # seconds before a rate is measured
STREAMS = 10    # requests at once on a connection of HTTP/2


@dataclass(frozen=True)
class Times:
    """Sorted times of all requests, in milliseconds."""

    sorted: list[float]

    @property
    def count(self) -> int:
        return len(self.sorted)

    def at(self, share: float) -> float:
        """The time that *share* of all requests (0.99) did not pass: the smallest such one of the list."""
        return self.sorted[max(0, ceil(share * self.count) - 1)]


def times(lines: Iterable[str], case: Case) -> Times:
    """The log's lines (start, status, microseconds; by tabs); raises WrongAnswer when a status is another one, or there is none.

    h2load forgets the status of what was being answered when the warm-up ended, and writes 0: at most one for each request that can be on its way.
    """
    found, early = [], case.connections * STREAMS
    for line in lines:
        _start, status, took = line.split()[:3]
        if status == "0" and early:
            early -= 1
        elif int(status) != case.status:
            raise WrongAnswer(f"{case.path}: {status}, expected {case.status}")
        else:
            found.append(int(took) / 1000)
    if not found:
        raise WrongAnswer(f"{case.path}: no answer in the time that was measured")
    return Times(sorted(found))


def command(server: Server, case: Case, seconds: int, log: Path, rate: float | None) -> list[str]:
    """h2load for *seconds*, at *rate* requests a second of all connections together or as fast as it is answered."""
    headers = [word for name, value in case.headers.items() for word in ("-H", f"{name}: {value}")]
    protocol = [f"-m{STREAMS}"] if case.http2 else ["--h1", "-m1"]
    pace = [] if rate is None else [f"--rps={rate / case.connections:.4f}", f"--warm-up-time={WARM_UP}s"]
    return ["h2load", *protocol, f"-c{case.connections}", "-t1", f"-D{seconds}", *pace, f"--log-file={log}", *headers, server.url(case.path)]


def ask(server: Server, case: Case, seconds: int, core: int | None, rate: float | None = None) -> Times:
    """Run it and read the times."""
    with tempfile.TemporaryDirectory(prefix="whimbrel-h2load-") as folder:
        log = Path(folder) / "log"
        output_of(command(server, case, seconds, log, rate), core)
        with log.open() as lines:
            return times(lines, case)
