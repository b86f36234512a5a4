"""Function calls of one request, case by case: a guard against regressions.

`CALLS.tsv` holds the bound of each case.  If a figure falls by more than a tenth, write the lower one there,
so that the gain is kept.  Calls of functions in Python and in C are counted by the profiling hook of the
interpreter: the figures are the same on every machine and under any load.
"""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hpack import Encoder

from tests.performance.counting import count_calls
from tests.performance.site import NOW, BenchmarkWorker, heads, posts
from whimbrel.http.http2.protocol import PREFACE
from whimbrel.server.worker import accounting, state

TABLE = Path(__file__).with_name("CALLS.tsv")
ROUNDS = 20
CASES: dict[str, tuple[int, Callable[[], Iterator[bytes]]]] = {
    "exact head": (200, lambda: heads("/1k.html")),
    "differing heads": (200, lambda: heads("/1k.html", varied=True)),
    "unkept: other query each time": (200, lambda: heads("/1k.html?#")),
    "unkept: not found": (404, lambda: heads("/none/#.html")),
    "unkept: range": (206, lambda: heads("/1k.html?range#", "Range: bytes=0-99")),
    "unkept: not modified": (
        304,
        lambda: heads("/1k.html?since#", "If-Modified-Since: Sun, 13 Sep 2020 12:26:40 GMT"),
    ),
    "unkept: 1000 rules, none applies": (404, lambda: heads("/never/asked/#", host="rules")),
    "unkept: 1000 rules, the last applies": (200, lambda: heads("/old999.html?#", host="rules")),
    "ssi": (200, lambda: heads("/page.shtml")),
    "unkept ssi": (200, lambda: heads("/clock.shtml")),
    "server-status": (200, lambda: heads("/server-status")),
    "server-status?auto": (200, lambda: heads("/server-status?auto")),
    "prepared": (200, lambda: posts("/reflect")),
    "auth": (200, lambda: heads("/private/1k.html", "Authorization: Basic YmVuY2g6Y3VybGV3")),
    "unkept: auth": (200, lambda: heads("/private/1k.html?#", "Authorization: Basic YmVuY2g6Y3VybGV3")),
    "htaccess": (200, lambda: heads("/deep/a/b/c/d/1k.html")),
    "unkept: htaccess": (200, lambda: heads("/deep/a/b/c/d/1k.html?#")),
    "index": (200, lambda: heads("/list/")),
    "other query each time": (200, lambda: heads("/1k.html?#")),
}


HEAD_ROOM = 1.25
"""The table guards against regressions; it does not forbid a function."""


def promised() -> dict[str, int]:
    """The table."""
    lines = TABLE.read_text().splitlines()
    return {
        case: int(count)
        for case, count in (line.split("\t") for line in lines if line and not line.startswith("#"))
    }


def calls_per_request(
    site: BenchmarkWorker, feed: Iterator[bytes], status: int, *, forgets: bool = False
) -> int:
    """Return the calls of one request on a persistent connection, one request per tick, after a warm-up.

    *forgets*: the response cache is cleared before.
    """
    connection, wire = site.accept()
    if forgets:
        connection.cached.index.clear()
    for _ in range(6):
        connection.connection.served = 1  # the first response of a connection may offer other protocols
        connection.data_received(next(feed))
        site.loop.tick()
    assert wire.out[9:12] == b"%d" % status, wire.out[:200]
    data = [next(feed) for _ in range(ROUNDS)]

    def ask() -> None:
        for one in data:
            connection.data_received(one)
            site.loop.tick()

    count = count_calls(ask)
    assert wire.out[9:12] == b"%d" % status, wire.out[:200]
    assert not site.problems, site.problems
    connection.connection_lost(None)  # the scoreboard shows connections
    return count // ROUNDS


@pytest.fixture(scope="module")
def site() -> Iterator[BenchmarkWorker]:
    # Not pytest's directory: the depth of a document counts.
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir="/tmp") as root:
        for module in (state, accounting):
            patch.setattr(module, "time", lambda: NOW)
        patch.setattr(os, "times", lambda: os.times_result((1.5, 0.5, 0.0, 0.0, 100.0)))
        yield BenchmarkWorker(Path(root))


@pytest.mark.parametrize("case", CASES)
def test_calls(site: BenchmarkWorker, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    status, feed = CASES[case]
    forgets, limit = case.startswith("unkept"), promised()[case]
    monkeypatch.setattr(site.engine, "is_general_only", forgets)
    count = calls_per_request(site, feed(), status, forgets=forgets)
    assert count <= limit * HEAD_ROOM, f"{case}: {count} calls, {limit} counted before"
    assert count >= limit * 0.9, f"{case}: {count} calls: write that in CALLS.tsv"


def http2_requests() -> Iterator[bytes]:
    """Yield requests on streams of one connection with the same fields, compressed by the dynamic table."""
    encoder = Encoder()
    fields = [
        (":method", "GET"),
        (":scheme", "http"),
        (":authority", "localhost"),
        (":path", "/1k.html"),
        ("user-agent", "h2load"),
    ]
    for number in itertools.count(1, 2):
        block = encoder.encode(fields)
        yield len(block).to_bytes(3) + b"\x01\x05" + number.to_bytes(4) + block


def test_calls_of_http2(site: BenchmarkWorker) -> None:
    first, wire = site.accept()
    first.data_received(PREFACE + b"\0\0\0\x04\0\0\0\0\0")
    session: Any = wire.protocol
    feed = http2_requests()
    for _ in range(4):
        session.data_received(next(feed))
        site.loop.tick()
    data = [next(feed) for _ in range(ROUNDS)]

    def ask() -> None:
        for one in data:
            session.data_received(one)
            site.loop.tick()

    count, limit = count_calls(ask) // ROUNDS, promised()["h2c"]
    assert wire.out.endswith(b"x" * 1024)
    assert not site.problems, site.problems
    assert limit * 0.9 <= count <= limit, f"h2c: {count} calls, the bound is {limit}"


def test_the_table_names_every_case() -> None:
    assert set(promised()) == {*CASES, "h2c"}
