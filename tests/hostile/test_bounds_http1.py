"""Bounds of HTTP/1 and of the response cache: caches and buffers of docs/bounds.md under hostile inputs."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.hostile.cuts import CuttingWorker, lay_out
from tests.support.deep_size import deep_size
from tests.support.fakes import FakeTransport
from whimbrel.engine.cache import index
from whimbrel.engine.cache.fd_cache import MAX_OPEN, FdCache
from whimbrel.engine.cache.index import ResponseCache
from whimbrel.engine.specialized import budget
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.http1.input import MAX_AHEAD

TABLE = Path(__file__).parents[2] / "docs/bounds.md"
UNITS = {"kB": 1024, "MB": 1024 * 1024}
HEADS = 3600
# the levels of cached responses are scaled down, so that they overflow
SMALLER = 16
READ = 256 * 1024  # bytes that the event loop reads at one time


def bounds() -> dict[str, int]:
    """Return the rows of the table that name this file: name -> bytes."""
    rows = re.findall(
        r"^\| ([^|]+?) \| [^|]+ \| ([0-9.]+) (kB|MB) \| `test_bounds_http1`[^|]* \|$",
        TABLE.read_text(),
        re.MULTILINE,
    )
    return {name.strip("`"): int(float(count) * UNITS[unit]) for name, count, unit in rows}


def hostile(count: int) -> Iterator[bytes]:
    """Yield unique heads of up to 8 kB, each three times, so that it is admitted."""
    dice = random.Random(5)
    for number in range(count // 3):
        size = dice.choice((10, 300, 300, 2000, 7000))
        long = b"%d%b" % (number, dice.choice((b"x", b"\xff")) * size)
        kind = number % 9
        target = (
            b"/a.txt",
            b"/a.txt?" + long,
            b"/" + long,
            b"/none/" + long[:30],
            b"/",
            b"/page",
            b"/a.txt",
            b"/none",
            b"/moved/" + long,
        )[kind]
        field = (
            b"User-Agent",
            b"X-A",
            b"Referer",
            b"Cookie",
            b"If-None-Match",
            b"Accept-Language",
            b"Range",
            b"Connection",
            b"A-%d" % number,
        )[number // 9 % 9]
        fields = (
            b"".join(b"F-%d-%d: %d\r\n" % (number, each, each) for each in range(90))
            if number % 50 == 0
            else b"%b: %b\r\n" % (field, long)
        )
        host = (b"localhost", b"b.test", b"h%d.%b" % (number, b"h" * min(size, 3000)))[number // 3 % 3]
        yield from [b"GET %b HTTP/1.1\r\nHost: %b\r\n%b\r\n" % (target, host, fields)] * 3


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CuttingWorker]:
    root = tmp_path_factory.mktemp("bounds")
    lay_out(root)
    smaller = pytest.MonkeyPatch()
    for module, bound in (
        (index, "MAX_BYTES"),
        (index, "MAX_HEAD_BYTES"),
        (budget, "MAX_LEARNED_BYTES"),
    ):
        smaller.setattr(module, bound, getattr(module, bound) // SMALLER)
    desk = CuttingWorker(root)
    wires: dict[int, Any] = {}
    for number, head in enumerate(hostile(HEADS)):
        address = f"127.0.{number // 3 % 400}.1" if number % 2 else "127.0.0.1"
        wire = wires.get(number % 40)
        if wire is None or wire.is_closed or wire.protocol.state.name != "READY":
            wire = wires[number % 40] = FakeTransport(server=("127.0.0.1", 8080))
            wire._extra["sockname"] = (address, 8080)
            wire.protocol = Http1Connection(desk.service)
            wire.protocol.connection_made(wire)
        desk.turn(lambda data, to=wire: to.protocol.data_received(data), head)
        wire.out = b""
        if number % 500 == 0:
            wires.clear()
            desk.runtime.logs.clear()
    yield desk
    desk.close()
    smaller.undo()


def _of_engine(name: str) -> Callable[[CuttingWorker], object]:
    return lambda desk: getattr(desk.engine, name)


HELD: dict[str, Callable[[CuttingWorker], object]] = {
    "Engine.response_cache: answers": lambda desk: [
        (b.by_head, b.by_key) for b in desk.engine.response_cache.indexes()
    ],
    "Engine.response_cache: sets of fields": lambda desk: desk.engine.response_cache.specs,
    "Engine.response_cache: request lines": lambda desk: [
        list(book._lines) for book in desk.engine.response_cache.indexes()
    ],
    "Engine.response_cache: heads seen once": lambda desk: desk.engine.response_cache.seen,
    "Engine.response_cache: specialized": lambda desk: [
        index.specialized._directories for index in desk.engine.response_cache.indexes()
    ],
    "Engine.response_cache: shapes": lambda desk: desk.engine.response_cache.shapes,
    "Engine.head_templates": _of_engine("head_templates"),
    "Engine.error_pages": _of_engine("error_pages"),
    "Engine.validated_fields": _of_engine("validated_fields"),
    "Engine.status_lines": _of_engine("status_lines"),
    "Engine._seen_once": _of_engine("_seen_once"),
    "Engine.file_cache": _of_engine("file_cache"),
    "TickStatCache.dependencies": lambda desk: desk.engine.stat_cache.dependencies,
    "PlanCache.by_host": lambda desk: desk.engine.plans.by_host,
    "VirtualHostTable._found": lambda desk: list(desk.engine.configuration.hosts._found),
    "ListenerConfig.fields": lambda desk: [manners.fields for manners in desk.service._listeners.values()],
}


@pytest.mark.parametrize("name", HELD)
def test_a_cache_stays_below_its_bound(filled: CuttingWorker, name: str) -> None:
    most = bounds()[name] // (SMALLER if name == "Engine.response_cache: answers" else 1)
    assert deep_size(HELD[name](filled)) <= most


def test_responses_were_cached(filled: CuttingWorker) -> None:
    indexes = list(filled.engine.response_cache.indexes())
    levels = [one for book in indexes for one in (book.by_head, book.by_key)]
    assert len(indexes) > 100
    assert sum(map(len, levels)) > 10
    assert len(filled.service._listeners) == 2 or len(filled.service._listeners) == 1


def test_the_books_are_bounded_in_number(filled: CuttingWorker) -> None:
    kept = ResponseCache()
    made = [kept.index(f"127.0.{n // 250}.{n % 250}", 80) for n in range(2000)]
    assert len(list(kept.indexes())) == 768 and made[0]._closed and not made[-1]._closed


def test_what_a_client_sends_ahead_is_bounded(filled: CuttingWorker) -> None:
    """While a response is not read, reading pauses; a connection then holds the bound and one read."""
    wire, stopped = FakeTransport(), []
    wire.pause_reading = lambda: stopped.append(True)  # type: ignore[method-assign]
    wire.protocol = Http1Connection(filled.service)
    wire.protocol.connection_made(wire)
    wire.protocol.pause_writing()
    data, sent = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n" * 100, 0
    while not stopped and sent < 10 * READ:
        filled.turn(wire.protocol.data_received, data)
        sent += len(data)
    assert stopped and len(wire.protocol.input.buffer) <= MAX_AHEAD + READ <= bounds()["Input.buffer"]


def test_no_more_is_answered_than_the_transport_takes(tmp_path: Path) -> None:
    """A transport that takes nothing gets the bound and one response."""
    lay_out(tmp_path)
    unlimited = CuttingWorker(tmp_path, "unlimited")
    wire = FakeTransport()
    wire.write = lambda data: (
        FakeTransport.write(wire, data),
        len(wire.out) > 64 * 1024 and wire.protocol.pause_writing(),
    )  # type: ignore[method-assign,assign]
    wire.protocol = Http1Connection(unlimited.service)
    wire.protocol.connection_made(wire)
    unlimited.turn(wire.protocol.data_received, b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1500)
    for _ in range(200):
        unlimited.turn(lambda: None)
    unlimited.close()
    assert 64 * 1024 < len(wire.out) < bounds()["Sender: written ahead"]


def test_a_head_that_never_ends_is_bounded(filled: CuttingWorker) -> None:
    wire = FakeTransport(server=("127.0.0.1", 8080))
    wire.protocol = Http1Connection(filled.service)
    wire.protocol.connection_made(wire)
    filled.turn(wire.protocol.data_received, b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n")
    most = 0
    for number in range(200):
        filled.turn(wire.protocol.data_received, b"N-%d: %b\r\n" % (number, b"x" * 8100))
        most = max(most, deep_size(wire.protocol.input.buffer) + deep_size(wire.protocol.input.reader))
    assert wire.out.startswith(b"HTTP/1.1 400") and most <= bounds()["HeadReader"]


def test_descriptors_are_bounded(tmp_path: Path) -> None:
    from whimbrel.engine.deps.files import stat_signature

    files = FdCache()
    for number in range(MAX_OPEN + 100):
        path = tmp_path / f"{number}-{'n' * 200}"
        path.write_bytes(b"x")
        files.get(bytes(path), stat_signature(path.stat()))
    assert len(files) <= MAX_OPEN and deep_size(files) <= bounds()["WorkerState.files"]
    files.close()


def test_every_row_has_a_test() -> None:
    assert set(HELD) | {
        "Input.buffer",
        "Sender: written ahead",
        "HeadReader",
        "WorkerState.files",
    } == set(bounds())


def test_sizes_are_measured() -> None:
    assert deep_size({b"a" * 1000: ["b" * 1000]}) > 2000
