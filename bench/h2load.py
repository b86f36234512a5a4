"""h2load: HTTP/2 at full load and at a constant rate. The times come from its log, one line for each request.

At a rate, h2load sends the requests that are due on a connection every hundredth of a second (`TICK`),
counted from the start of that connection. To avoid one burst of all, connections start some milliseconds
apart (see `apart`), so their sending times are spread over the hundredth. A time counts from the moment of
sending.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from itertools import pairwise
from math import ceil
from pathlib import Path

from bench.documents import Case
from bench.errors import WrongResponse
from bench.process import output_of
from bench.servers import Server
from bench.times import Times

WARM_UP = 1  # seconds before a rate is measured: all connections have started
SPARE = 0.25  # seconds for which a rate goes on after that
TICK = 10.0  # milliseconds between two sending times of a connection, unless its next request is due later
MOST_APART = 20  # milliseconds
STREAMS = 10  # requests at once on a connection of HTTP/2


def times(lines: Iterable[str], case: Case, window: int = 0) -> Times:
    """Parse the lines of the log (start, status, microseconds; by tabs); raises WrongResponse for another
    status or an empty log.

    *window*: only requests sent within so many seconds after the warm-up count.
    """
    found = []
    for line in lines:
        start, status, took = map(int, line.split()[:3])
        if status != case.status:
            raise WrongResponse(f"{case.path}: {status}, expected {case.status}")
        found.append((start, took / 1000))
    if window:
        begin = min((start for start, _took in found), default=0) + WARM_UP * 1_000_000
        found = [one for one in found if begin <= one[0] < begin + window * 1_000_000]
    if not found:
        raise WrongResponse(f"{case.path}: no answer in the time that was measured")
    return Times(sorted(took for _start, took in found), window)


def apart(rate: float, connections: int) -> int:
    """Return the milliseconds between the starts of two connections that spread their sending times most
    evenly.
    """
    tick = max(TICK, 1000 * connections / rate)

    def longest(milliseconds: int) -> float:
        """Return the longest time without a sending time of any connection."""
        moments = sorted(number * milliseconds % tick for number in range(connections))
        return max(b - a for a, b in pairwise([*moments, moments[0] + tick]))

    return min(range(1, MOST_APART + 1), key=longest)


def command(server: Server, case: Case, seconds: int, log: Path, rate: float | None) -> list[str]:
    """Return the command line for *seconds* at full load, or longer (see `times`) at *rate* requests a
    second.
    """
    headers = [word for name, value in case.headers.items() for word in ("-H", f"{name}: {value}")]
    if rate is None:
        pace = [f"-D{seconds}"]
    else:
        count, wait = ceil(rate * (WARM_UP + seconds + SPARE)), apart(rate, case.connections)
        pace = [
            f"-n{max(count, case.connections)}",
            f"--rps={rate / case.connections:.4f}",
            "-r1",
            f"--rate-period={wait}ms",
        ]
    return [
        "h2load",
        f"-m{STREAMS}",
        f"-c{case.connections}",
        "-t1",
        *pace,
        f"--log-file={log}",
        *headers,
        server.url(case.path),
    ]


def measure(server: Server, case: Case, seconds: int, core: int | None, rate: float | None = None) -> Times:
    """Run h2load and read the times."""
    with tempfile.TemporaryDirectory(prefix="whimbrel-h2load-") as folder:
        log = Path(folder) / "log"
        output_of(command(server, case, seconds, log, rate), core)
        with log.open() as lines:
            return times(lines, case, 0 if rate is None else seconds)
