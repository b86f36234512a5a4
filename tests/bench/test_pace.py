"""Requests at a constant rate: the histogram without what wrk adds, and a run against a slow server."""

from __future__ import annotations

import random
import shutil
import socket
import threading
import time
from collections import Counter

import pytest
from bench import pace
from bench.documents import BY_NAME
from bench.errors import WrongResponse
from bench.servers import Server

from tests.support.samples import amount


def corrected(counts: dict[int, int], expected: int) -> dict[int, int]:
    """Return the histogram as wrk's stats_correct changes it."""
    out = Counter(counts)
    for value in range(2 * expected, max(counts) + 1):
        less = value - expected
        while counts.get(value, 0) and less > expected:
            out[less] += counts[value]
            less -= expected
    return dict(out)


@pytest.mark.parametrize("seed", range(amount(6, 20)))
def test_times_that_wrk_adds_are_removed(seed: int) -> None:
    source = random.Random(seed)
    counts = dict(Counter(int(source.paretovariate(0.7) * 10) % 3000 + 1 for _ in range(500)))
    expected = source.randint(20, 300)
    assert pace.measured(corrected(counts, expected), expected) == counts


def test_the_histogram_of_a_run() -> None:
    output = "microseconds 1000000 requests 3\nlatency 100 2\nlatency 300 1\n"
    assert pace.times(output, BY_NAME["1k"]).sorted == [0.1, 0.1, 0.3]
    with pytest.raises(WrongResponse):
        pace.times("microseconds 1000000 requests 0\n", BY_NAME["1k"])


@pytest.mark.skipif(not shutil.which("wrk"), reason="wrk is not on this machine")
def test_a_rate_and_the_time_of_a_slow_response() -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    answered = iter(range(1 << 30))

    def serve(client: socket.socket) -> None:
        with client:
            while client.recv(65536):
                if next(answered) == 100:
                    time.sleep(0.2)
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx")

    def accept() -> None:
        while True:
            try:
                threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
            except OSError:
                return

    threading.Thread(target=accept, daemon=True).start()
    server = Server("test", [], listener.getsockname()[1], [])
    found = pace.measure(server, BY_NAME["1k-fresh"], 1, None, 400.0)
    listener.close()
    assert 250 < found.per_second <= 410
    assert sum(1 for one in found.sorted if 195 < one < 400) >= 1
    assert found.at(0.5) < 20
