"""Floods over HTTP/1 beside an honest client, compared with apache2.

Its requests take at most ten times as long as beside the same flood at apache2.
"""

from __future__ import annotations

import multiprocessing
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count

from tests.hostile.latency import HonestClient
from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.memory_http1 import CONF, DOCUMENTS
from tests.hostile.server import APACHE, WHIMBREL, Program, Server, Site

MULTIPLE = 10.0
LEAST = 0.005  # seconds: a p99 below this is harmless, whatever apache2's is
CONNECTIONS = 50
Flood = Callable[[int], None]


def _connect(port: int) -> socket.socket:
    wire = socket.create_connection(("127.0.0.1", port), timeout=20)
    wire.setblocking(False)
    return wire


def _drive(
    port: int,
    data_of: Callable[[int], bytes],
    *,
    reads: bool,
    connections: int = CONNECTIONS,
    pause: float = 0.0,
) -> None:
    """Send the data of *data_of* endlessly on many connections, renewing those that the server closes."""
    numbers = count()
    wires = {_connect(port): b"" for _ in range(connections)}
    while True:
        for wire, left in list(wires.items()):
            try:
                data = left or data_of(next(numbers))
                wires[wire] = data[wire.send(data) :]
            except BlockingIOError:
                pass
            except OSError:
                wires.pop(wire)
                wire.close()
                with suppress(OSError):
                    wires[_connect(port)] = b""
                continue
            if reads:
                with suppress(OSError):
                    while wire.recv(1 << 18):
                        pass
        if pause:
            time.sleep(pause)


def pipelining(port: int) -> None:
    """Many requests in each piece, for documents that are there and that are not, all read."""
    _drive(
        port,
        lambda number: (
            b"GET /a.txt HTTP/1.1\r\nHost: x\r\n\r\nGET /none/%d HTTP/1.1\r\nHost: x\r\n\r\n" % number * 400
        ),
        reads=True,
    )


def unread(port: int) -> None:
    """Pipelined requests for a large page, whose responses are never read."""
    _drive(
        port,
        lambda _number: b"GET /page.shtml HTTP/1.1\r\nHost: x\r\n\r\n" * 400,
        reads=False,
        connections=200,
        pause=0.02,
    )


def dripping(port: int) -> None:
    """Heads that come a field line at a time and never end."""
    line = b"X-%d: " + b"x" * 1000 + b"\r\n"
    wires: dict[socket.socket, int] = {}
    while True:
        while len(wires) < CONNECTIONS:
            with suppress(OSError):
                wires[_connect(port)] = 0
        for wire, sent in list(wires.items()):
            try:
                wire.send(
                    b"GET /a.txt HTTP/1.1\r\nHost: x\r\n" if not sent else line % sent if sent < 90 else b"x"
                )
                wires[wire] = sent + 1
            except BlockingIOError:
                pass
            except OSError:
                wires.pop(wire)
                wire.close()
            if sent > 2000:
                wires.pop(wire, None)
                wire.close()


def agents(port: int) -> None:
    """404s with User-Agents that all differ."""
    _drive(
        port,
        lambda number: (
            b"GET /none/%d HTTP/1.1\r\nHost: x\r\nUser-Agent: %d %b\r\n\r\n"
            % (number % 300, number, b"y" * 500)
        ),
        reads=True,
    )


@contextmanager
def attacking(flood: Flood, port: int) -> Iterator[None]:
    """Run *flood* in a separate process while the block runs."""
    process = multiprocessing.get_context("fork").Process(target=flood, args=(port,), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.kill()
        process.join()


def latency(program: Program, flood: Flood, seconds: float) -> tuple[float, int]:
    """Return the p99 of an honest client beside a flood, in seconds, and its number of requests."""
    site = Site(
        CONF
        + "ServerLimit 1\nThreadLimit 400\nThreadStackSize 262144\nThreadsPerChild 400\nMaxRequestWorkers "
        "400\nMaxSpareThreads 400\n",
        DOCUMENTS,
    )
    with Server(program, site) as server:
        for _ in range(3):
            server.get("/a.txt")
        client = HonestClient(server)
        with attacking(flood, server.port):
            time.sleep(1.0)
            with client.at_work():
                time.sleep(seconds)
        return client.p99, len(client.seconds)


def measure(name: str, flood: Flood) -> Measure:
    """Return the measure of one flood."""

    def run(budget: Budget) -> Result:
        result, seconds = Result(), min(budget.seconds / 2, 8.0)
        mine, asked = latency(WHIMBREL, flood, seconds)
        result.figures = {"requests": asked, "p99 ms": mine * 1000}
        if not APACHE.is_present:
            result.skipped = "apache2 is not installed"
            return result
        theirs, answered = latency(APACHE, flood, seconds)
        result.figures |= {"apache2 requests": answered, "apache2 p99 ms": theirs * 1000}
        if not asked or (answered and mine > max(MULTIPLE * theirs, LEAST)):
            result.failures.append(
                f"p99 {mine * 1000:.1f} ms with {asked} requests, apache2's {theirs * 1000:.1f} ms"
            )
        return result

    promise = (
        f"Beside this flood an honest client waits at most {MULTIPLE:.0f} times as long as at apache2: "
        f"{(flood.__doc__ or '').strip()}"
    )
    return Measure(name, promise, run, 1, 20.0)


MEASURES = tuple(
    measure(f"flood-{flood.__name__}", flood) for flood in (pipelining, unread, dripping, agents)
)
