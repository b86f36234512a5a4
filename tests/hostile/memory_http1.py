"""Memory under attacks over HTTP/1: each adds less than 50 MB to a worker."""

from __future__ import annotations

import random
import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import APACHE, WHIMBREL, HostileSite, Program, ServerProcess

MOST = 50.0  # MB
# 260 kB: a page that is cached as bytes
PAGE = b"".join(b'<!--#include virtual="part%d.txt" -->\n' % number for number in range(26))
COMPRESSED = 300  # distinct documents that are compressed at the same time
LARGE = b"".join(b"p%d { margin: %dpx }\n" % (number % 997, number % 89) for number in range(12_000))
DOCUMENTS = {
    "index.html": b"front\n",
    "a.txt": b"plain a\n",
    "page.shtml": PAGE,
    "file.txt": b"x" * 260_000,
    **{f"part{number}.txt": b"%d" % (number % 10) * 10_000 for number in range(26)},
}
CONF = (
    "AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\nTimeout 30\nKeepAliveTimeout "
    "15\nMaxKeepAliveRequests 0\nAddOutputFilter DEFLATE .css\n"
)
ADDRESSES = 250  # loopback addresses that the server listens on
GROUP = 50  # pipelined requests that a client sends before it reads
Attack = Callable[[ServerProcess, Budget], int]


def ask_all(
    server: ServerProcess,
    requests: Iterator[bytes],
    host: str = "127.0.0.1",
    *,
    end: Callable[[], bool] = lambda: False,
) -> int:
    """Send *requests* pipelined in small groups on connections of a thousand each, reading all responses.

    Returns the number of requests.
    """
    count, group = 0, list(_taken(requests, GROUP))
    while group and not end():
        with socket.create_connection((host, server.port), timeout=30) as wire:
            for _ in range(20):
                wire.sendall(b"".join(group))
                count += len(group)
                left = len(group)
                while left > 0:
                    data = wire.recv(1 << 20)
                    if not data:
                        break
                    left -= data.count(b"\r\nDate: ")
                group = list(_taken(requests, GROUP))
                if not group or left > 0:
                    break
    return count


def _taken(requests: Iterator[bytes], count: int) -> Iterator[bytes]:
    for _ in range(count):
        request = next(requests, None)
        if request is None:
            return
        yield request


def unique_agents(server: ServerProcess, budget: Budget) -> int:
    """404s for some hundred paths, each repeated with unique User-Agents."""
    dice = random.Random(budget.seed)
    return ask_all(
        server,
        (
            b"GET /none/%d HTTP/1.1\r\nHost: localhost\r\nUser-Agent: %d %b\r\n\r\n"
            % (dice.randrange(500), number, b"\xff" * dice.choice((100, 2000)))
            for number in range(budget.cases)
        ),
        end=lambda: budget.is_spent,
    )


def unique_heads(server: ServerProcess, budget: Budget) -> int:
    """Heads of nearly 8 kB that all differ, each sent twice.

    They differ in the query, in a field that matters, in one that does not, in the host, in the path.
    """

    def heads() -> Iterator[bytes]:
        for number in range(budget.cases // 2):
            long = b"%d-%b" % (number, b"x" * 6000)
            target, fields = (
                (b"/a.txt?" + long, b""),
                (b"/a.txt", b"Cookie: " + long),
                (b"/a.txt", b"Connection: " + long),
                (b"/" + long, b""),
                (b"/a.txt", b"Referer: " + long),
                (b"/a.txt", b"If-None-Match: " + long),
                (b"/a.txt", b"Accept: " + long),
            )[number % 7]
            host = b"localhost" if number % 2 else b"%d.%b.test" % (number, b"h" * 1000)
            yield from [
                b"GET %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (target, host, fields + b"\r\n" if fields else b"")
            ] * 2

    return ask_all(server, heads(), end=lambda: budget.is_spent)


def many_addresses(server: ServerProcess, budget: Budget) -> int:
    """The same documents through every local address, with different heads."""
    return sum(
        ask_all(
            server,
            (
                b"GET /%b HTTP/1.1\r\nHost: localhost\r\nReferer: %d\r\nUser-Agent: %b\r\n\r\n"
                % ((b"a.txt", b"page.shtml", b"none")[number % 3], number // 6, b"y" * 3000)
                for number in range(max(budget.cases // ADDRESSES, 30))
            ),
            f"127.0.0.{1 + last}",
            end=lambda: budget.is_spent,
        )
        for last in range(ADDRESSES)
    )


def _unread(server: ServerProcess, connections: int, requests: bytes, seconds: float) -> int:
    """Send *requests* on many connections and read nothing for some seconds."""
    wires = []
    for _ in range(connections):
        wire = socket.socket()
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        wire.connect(("127.0.0.1", server.port))
        wire.setblocking(False)
        wires.append(wire)
    end = time.monotonic() + seconds
    left = dict.fromkeys(wires, requests)
    while time.monotonic() < end:
        for wire, data in left.items():
            if data:
                try:
                    left[wire] = data[wire.send(data) :]
                except BlockingIOError:
                    pass
                except OSError:
                    left[wire] = b""
        time.sleep(0.05)
    for wire in wires:
        wire.close()
    return connections


def pipelined(server: ServerProcess, budget: Budget) -> int:
    """35 kB of requests for a page of 260 kB, unread: some on one connection, then on many."""
    request = b"GET /page.shtml HTTP/1.1\r\nHost: x\r\n\r\n"
    server.get("/page.shtml")
    server.get("/page.shtml")
    return _unread(server, 1, request * 1000, 2) + _unread(server, 20, request * 1000, 3)


def slow_readers(server: ServerProcess, budget: Budget) -> int:
    """Three hundred clients that ask for pages and files and read nothing, or that pipeline without end."""
    done = 0
    for target in ("page.shtml", "file.txt", "a.txt", "none"):
        request = b"GET /%b HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n" % target.encode()
        done += _unread(server, 300, request * (35_000 // len(request)), 4)
    return done


def compressed(server: ServerProcess, budget: Budget) -> int:
    """Many clients that each ask for another large document, compressed; all at the same time."""
    wires = [socket.create_connection(("127.0.0.1", server.port), timeout=60) for _ in range(COMPRESSED)]
    for number, wire in enumerate(wires):
        server.write(f"large{number}.css", b"%d;" % number + LARGE[:250_000])
        wire.sendall(
            b"GET /large%d.css HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n" % number
            + b"Connection: close\r\n\r\n"
        )
    done = 0
    for wire in wires:
        data = b""
        while more := wire.recv(1 << 20):
            data += more
        done += b"\r\nContent-Encoding: gzip\r\n" in data
        wire.close()
    return done


def dripped(server: ServerProcess, budget: Budget) -> int:
    """Two hundred heads and trailers of many lines that never end."""
    line = b"X-%d: " + b"x" * 4000 + b"\r\n"
    lines = b"".join(line % number for number in range(90))
    half = _unread(server, 100, b"GET /a.txt HTTP/1.1\r\nHost: x\r\n" + lines[:100_000], 3)
    return half + _unread(
        server,
        100,
        b"POST /a.txt HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + lines[:100_000],
        3,
    )


@contextmanager
def _limits() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def growth(program: Program, attack: Attack, budget: Budget) -> tuple[float, int, list[str]]:
    """Return the growth of one worker under *attack* in MB, the amount of work, and the failures."""
    listens = (
        "".join(f"Listen 127.0.0.{last}:%PORT%\n" for last in range(2, ADDRESSES + 1))
        if attack is many_addresses
        else ""
    )
    with _limits(), _serving(program, listens) as server:
        for target in ("/a.txt", "/page.shtml", "/file.txt", "/none"):
            for _ in range(3):
                server.get(target)
        workers = server.workers()
        server.reset_peak()
        before = server.peak_memory()
        done = attack(server, budget)
        failures = [] if server.workers() == workers else ["a worker has been replaced"]
        if b" 200 " not in server.get("/a.txt")[:20]:
            failures.append("no answer after the attack")
        if "Traceback" in server.output:
            failures.append(server.output[-1500:])
        return server.peak_memory() - before, done, failures


@contextmanager
def _serving(program: Program, listens: str) -> Iterator[ServerProcess]:
    server = ServerProcess(
        program,
        HostileSite(
            CONF + "ServerLimit 1\nThreadLimit 400\nThreadStackSize 262144\nThreadsPerChild "
            "400\nMaxRequestWorkers 400\nMaxSpareThreads 400\n" + listens,
            DOCUMENTS,
        ),
    )
    server.conf.write_text(server.conf.read_text().replace("%PORT%", str(server.port)))
    with server:
        yield server


def measure(name: str, promise: str, attack: Attack, cases: int, seconds: float = 60.0) -> Measure:
    """Return the measure of one attack, with apache2's figure where it is installed."""

    def run(budget: Budget) -> Result:
        result = Result()
        more, done, result.failures = growth(WHIMBREL, attack, budget)
        result.figures = {"done": done, "MB more": more}
        if more >= MOST:
            result.failures.append(f"{more:.0f} MB more")
        if APACHE.is_present:
            result.figures["apache2 MB more"] = growth(
                APACHE, attack, Budget(budget.cases, budget.seconds, budget.seed)
            )[0]
        return result

    return Measure(name, promise, run, cases, seconds)


MEASURES = (
    measure("memory-agents", "Unique User-Agents on 404s take less than 50 MB.", unique_agents, 60_000),
    measure("memory-heads", "Long heads that all differ take less than 50 MB.", unique_heads, 30_000),
    measure(
        "memory-addresses", "Caches of 250 local addresses take less than 50 MB.", many_addresses, 30_000
    ),
    measure(
        "memory-pipelined", "Unread pipelined requests for a large page take less than 50 MB.", pipelined, 1
    ),
    measure("memory-slow", "Three hundred clients that do not read take less than 50 MB.", slow_readers, 1),
    measure(
        "memory-compressed",
        "Three hundred large documents compressed at the same time take less than 50 MB.",
        compressed,
        1,
    ),
    measure("memory-dripped", "Two hundred heads and trailers without end take less than 50 MB.", dripped, 1),
)
