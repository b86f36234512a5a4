"""Measurements besides requests per second: memory of idle connections, start-up, the check of a
configuration.
"""

from __future__ import annotations

import argparse
import resource
import socket
import subprocess
import time
from pathlib import Path
from statistics import median

from bench import pace
from bench.documents import BY_NAME, write_documents
from bench.process import Running, cores
from bench.servers import Server, prepare
from whimbrel.testing.ports import free_port

RATE = 2000.0  # requests per second beside idle connections
HEAD = b"GET /1k.html HTTP/1.1\r\nHost: localhost\r\n\r\n"


def room_for(count: int) -> int:
    """Return how many connections this process and its servers may open: at most *count*."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count + 200
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit - 200


def idle(running: Running, count: int, seconds: int, core: int | None) -> dict[str, float]:
    """Measure connections that stay open after one request each: their number, the memory, the latency of
    other requests.
    """
    open_ones: list[socket.socket] = []
    try:
        for number in range(count):
            # a loopback address has about 28,000 ports: one more address for each 10,000
            client = socket.create_connection(
                ("127.0.0.1", running.server.port),
                timeout=2,
                source_address=(f"127.0.1.{1 + number // 10_000}", 0),
            )
            open_ones.append(client)
            client.sendall(HEAD)
            if not client.recv(65536):
                break
    except OSError:
        pass
    out = {"(MB)": running.memory().all / 1e6}
    if len(open_ones) == count:
        times = pace.measure(running.server, BY_NAME["1k"], seconds, core, RATE)
        out |= {
            f"p99 at {RATE:,.0f} a second (ms)": times.at(0.99),
            f"p99.9 at {RATE:,.0f} a second (ms)": times.at(0.999),
        }
    alive = sum(_alive(client) for client in open_ones)
    for client in open_ones:
        client.close()
    return {"still open": alive, **out}


def _alive(client: socket.socket) -> bool:
    client.setblocking(False)
    try:
        while client.recv(65536):
            pass
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def start_seconds(server: Server, times: int) -> float:
    """Measure from the start of the process to the first accepted connection."""
    found = []
    for _ in range(times):
        before = time.monotonic()
        with Running(server, None):
            found.append(time.monotonic() - before)
        time.sleep(0.3)
    return median(found)


def check_seconds(server: Server, times: int) -> float:
    """Measure ``-t``."""
    argv = [word for word in server.argv if word != "-DFOREGROUND"]
    found = []
    for _ in range(times):
        before = time.monotonic()
        subprocess.run([*argv, "-t"], capture_output=True, check=True)
        found.append(time.monotonic() - before)
    return median(found)


def extras(options: argparse.Namespace, root: Path, names: list[str]) -> dict[str, dict[str, float]]:
    """Return start-up, -t and the memory of idle connections, by row and server."""
    out: dict[str, dict[str, float]] = {}
    for site in ("plain", "hosts"):
        for name in (n for n in names if n in ("whimbrel", "apache")):
            server = _own_server(name, root / f"extras-{site}-{name}", site)
            out.setdefault(f"start, {site} (s)", {})[name] = start_seconds(server, options.rounds)
            out.setdefault(f"-t, {site} (s)", {})[name] = check_seconds(server, options.rounds)
    count, (mine, other) = room_for(options.idle), cores()
    for name in names if options.idle else ():
        with Running(_own_server(name, root / f"extras-idle-{name}", "idle"), mine) as running:
            for title, value in idle(running, count, options.seconds, other).items():
                out.setdefault(f"{count:,} idle connections: {title}", {})[name] = value
    return out


def _own_server(name: str, folder: Path, site: str) -> Server:
    """Return a server with a directory of its own."""
    folder.mkdir()
    write_documents(folder)
    return prepare(name, folder, free_port(), site)
