"""Latency of an honest client beside an attack."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.hostile.server import Server


def percentile(values: list[float], share: float) -> float:
    """Return the value below which *share* of *values* lie; 0.0 for none."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


class HonestClient:
    """Client that requests one small document every *interval* seconds on one connection and records the
    latency.
    """

    def __init__(self, server: Server, target: str = "/a.txt", interval: float = 0.01) -> None:
        self.server, self.interval, self.seconds, self.failures = server, interval, [0.0][:0], 0
        self._request = f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def _ask(self) -> None:
        wire = None
        while not self._ended.is_set():
            begin = time.perf_counter()
            try:
                wire = wire or self.server.connect(60)
                wire.sendall(self._request)
                if not _read_response(wire.recv):
                    wire = None
                    continue
                self.seconds.append(time.perf_counter() - begin)
            except OSError:
                self.failures += 1
                wire = None
            self._ended.wait(self.interval)

    @property
    def p99(self) -> float:
        """The 99th percentile of the latency, in seconds."""
        return percentile(self.seconds, 0.99)

    @contextmanager
    def at_work(self) -> Iterator[HonestClient]:
        """Send requests while the block runs."""
        self._thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            self._thread.join(90)


def _read_response(receive: Callable[[int], bytes]) -> bool:
    """Read one response with Content-Length; return False if the server has closed the connection."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = receive(65536)
        if not more:
            return False
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        ),
        0,
    )
    while len(body) < length:
        more = receive(65536)
        if not more:
            return False
        body += more
    return True
