"""An hour of mixed requests: documents, missing names, WebDAV, sessions, scripts, back ends, and failures.

The memory of the workers reaches a level and stays there.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.memory_errors import all_failures, site
from tests.hostile.server import WHIMBREL, ServerProcess

MAX_GROWTH = 5.0  # MB of one worker after the first sixth of the time
PAUSE = 0.015  # seconds between two requests: the machine has other work
FAILURES_EACH = 40  # one request in so many is a failing one
SAMPLES = 120  # of the memory, evenly over the time
REQUEST = "{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{fields}\r\n"


def requests(random_source: random.Random) -> Iterator[bytes]:
    """Yield requests without end; the same for the same source."""
    failing = [failure.request() for failure in all_failures()]
    number = 0
    while True:
        number += 1
        if number % FAILURES_EACH == 0:
            yield failing[number // FAILURES_EACH % len(failing)]
            continue
        method, target, fields = random_source.choice(
            (
                ("GET", "/a.txt", ""),
                ("GET", "/a.txt", f"User-Agent: agent {number}\r\n"),
                ("GET", f"/a.txt?{number}", "Accept-Encoding: gzip\r\n"),
                ("HEAD", "/dav/a.txt", f"Cookie: id={number}\r\n"),
                ("GET", f"/none/{number}", ""),
                ("GET", f"/back/a.txt?{number}", ""),
                ("GET", "/a.txt", "Range: bytes=1-2\r\n"),
                ("GET", "/session/a.txt", f"Cookie: s={number}\r\n"),
                ("PROPFIND", "/dav/", "Depth: 1\r\n"),
                ("OPTIONS", "/dav/", ""),
                ("GET", "/loops/" + "y" * (number % 50), ""),
                ("GET", "/lines.txt", "Range: bytes=0-9\r\n"),
                ("POST", "/form", "Content-Length: 0\r\n"),
            )
        )
        yield REQUEST.format(method=method, target=target, fields=fields).encode()


def resident(pid: int) -> float:
    """Return the resident memory of a process in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


def soak(seconds: float, seed: int) -> Result:
    """Send requests for *seconds*; compare the memory of each worker after a sixth and at the end."""
    result = Result()
    content = site()
    content.processes = 2
    server = ServerProcess(WHIMBREL, content)
    server.conf.write_text(server.conf.read_text().replace("%PORT%", str(server.port)))
    with server:
        workers = server.workers()
        samples: dict[int, list[float]] = {pid: [] for pid in workers}
        begin, sent, unanswered = time.monotonic(), 0, 0
        for data in requests(random.Random(seed)):
            spent = time.monotonic() - begin
            if spent > seconds:
                break
            if spent >= seconds / SAMPLES * len(samples[workers[0]]):
                for pid in workers:
                    samples[pid].append(resident(pid))
            unanswered += not server.exchange(data, timeout=30)
            sent += 1
            time.sleep(PAUSE)
        result.figures.update({"minutes": round(seconds / 60, 1), "requests": sent, "unanswered": unanswered})
        if server.workers() != workers:
            result.failures.append("a worker has been replaced")
        if "Traceback" in server.output:
            result.failures.append("a traceback in the log")
    for number, pid in enumerate(workers, 1):
        settled = median(samples[pid][SAMPLES // 6 : SAMPLES // 6 + 5])
        growth = median(samples[pid][-5:]) - settled
        result.figures[f"worker {number} MB"] = round(settled, 1)
        result.figures[f"worker {number} MB more"] = round(growth, 1)
        if growth > MAX_GROWTH:
            result.failures.append(f"worker {number}: {growth:.1f} MB more, {samples[pid]}")
    if unanswered:
        result.failures.append(f"{unanswered} requests without an answer")
    return result


def run(budget: Budget) -> Result:
    """Send mixed requests for the time of the budget."""
    return soak(budget.seconds, budget.seed)


MEASURES = (
    Measure(
        "soak",
        "In an hour of mixed requests each worker grows by at most 5 MB after the first ten minutes.",
        run,
        1,
        3600,
    ),
)
