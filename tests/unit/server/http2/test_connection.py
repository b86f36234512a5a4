"""Work of a connection in one tick, and memory for a client that reads nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.fakes import FakeLoop, FakeTransport

pytest.importorskip("hpack", reason="the optional package hpack is not installed")

from tests.hostile.http2_frames import (
    ACK,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    block,
    frame,
    outcome_of,
    read_frames,
    request,
    settings,
    window,
)
from tests.performance.site import BenchmarkWorker

from whimbrel.http.http2.hpack import FieldBlock
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.http2 import connection as connection_module
from whimbrel.server.http2.connection import (
    MAX_BEGUN,
    MAX_HEADS,
    MAX_HELD,
    MAX_RESETS,
    MAX_WORK,
    WRITE_AHEAD,
)
from whimbrel.server.worker import state

OPEN = (
    PREFACE
    + settings((4, (1 << 31) - 1), (5, (1 << 24) - 1))
    + frame(SETTINGS, ACK)
    + window(0, (1 << 31) - 1 - 65535)
)


TURNS = 300


class UnreadTransport(FakeTransport):
    """A transport whose client reads nothing; `pause` reports a full buffer."""

    def __init__(self) -> None:
        super().__init__(("192.0.2.7", 40_000))
        self.is_reading_on = True

    def get_write_buffer_size(self) -> int:
        return len(self.out)

    def pause_reading(self) -> None:
        self.is_reading_on = False

    def resume_reading(self) -> None:
        self.is_reading_on = True


class TasklessLoop(FakeLoop):
    """A loop that runs one tick at a time, and no tasks."""

    def create_task(self, work: Any) -> None:
        work.close()


class Client:
    """A connection with its transport and loop."""

    def __init__(self, root: Path) -> None:
        (root / "htdocs").mkdir(exist_ok=True)
        self.site = BenchmarkWorker(root)
        self.loop = self.site.loop = self.site.service.loop = TasklessLoop()  # type: ignore[assignment]
        (root / "htdocs/big.html").write_bytes(b"y" * 50_000)
        self.wire = UnreadTransport()
        first = Http1Connection(self.site.service)
        first.connection_made(self.wire)
        first.data_received(OPEN)
        self.session: Any = self.wire.protocol
        self.wire.out = b""

    def counts(self, data: bytes) -> list[int]:
        """Process *data*; return how many frames were processed in each tick."""
        found, receive = [0], self.session.wire.receive

        def counted(*arguments: Any) -> None:
            found[-1] += 1
            receive(*arguments)

        self.session.wire.receive = counted
        self.session.data_received(data)
        for _ in range(TURNS):
            found.append(0)
            self.loop.tick()
        return found


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    yield Client(tmp_path)


def test_frames_per_tick_are_bounded(client: Client) -> None:
    counts = client.counts(frame(0xEE) * 900)
    assert counts[:4] == [MAX_WORK, MAX_WORK, MAX_WORK, 900 - 3 * MAX_WORK]


def test_reading_rests_while_there_is_work(client: Client) -> None:
    client.session.data_received(frame(0xEE) * 900)
    assert not client.wire.is_reading_on
    while client.loop.ready:
        client.loop.tick()
    assert client.wire.is_reading_on


def test_field_blocks_per_tick_are_bounded_further(client: Client) -> None:
    counts = client.counts(
        b"".join([request(n, ("x", f"{n:0400}"), ("connection", "close")) for n in range(1, 20, 2)])
    )
    assert max(counts) == 2


def test_requests_started_per_tick_are_bounded(client: Client) -> None:
    before = client.session.served
    client.session.data_received(b"".join([request(n, path="/none") for n in range(1, 60, 2)]))
    while client.session.served == before:
        client.loop.tick()
    assert client.session.served == before + MAX_BEGUN


def test_expensive_requests_of_connections_take_turns(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """apache2 works on the streams of all connections with one pool of threads."""
    clock, begun, service = [100.0], [(0, 0)][:0], client.site.service
    for module in (state, connection_module):
        monkeypatch.setattr(module, "monotonic", lambda: clock[0])
    service.round = state.MAX_ROUND

    def attach(number: int) -> Any:
        wire = UnreadTransport()
        first = Http1Connection(service)
        first.connection_made(wire)
        first.data_received(OPEN)

        def respond(stream: Any) -> None:
            clock[0] += 2 * state.MAX_ROUND
            begun.append((len(ticks), number))

        wire.protocol._respond = respond
        return wire.protocol

    ticks = [0]
    sessions = [attach(number) for number in range(3)]
    for session in sessions:
        session.data_received(b"".join([request(n, path="/none") for n in range(1, 40, 2)]))
    assert begun == [(1, 0), (1, 1), (1, 2)]
    for _ in range(9):
        ticks.append(len(begun))
        client.loop.tick()
    assert begun[3:] == [(2 + n, n % 3) for n in range(9)]
    other = attach(3)
    other.data_received(request(1, path="/none"))
    assert begun[-1] == (len(ticks), 3)


def test_input_is_not_read_while_a_connection_waits_for_its_turn(client: Client) -> None:
    client.session.data_received(b"".join([request(n, path="/none") for n in range(1, 40, 2)]))
    client.session.data_received(b"\0" * 4)
    assert not client.wire.is_reading_on
    client.loop.tick()
    assert client.wire.is_reading_on


def test_requests_that_are_taken_back_are_not_begun(client: Client) -> None:
    begun: list[Any] = []
    client.session._respond = begun.append
    client.counts(
        b"".join(
            [request(n, path=f"/none{n}") + frame(RST_STREAM, 0, n, bytes(4)) for n in range(1, 1000, 2)]
        )
    )
    assert not begun and client.session.running == 0 and not client.session.streams


def test_resets_are_counted(client: Client) -> None:
    data = b"".join(
        [request(n) + frame(RST_STREAM, 0, n, bytes(4)) for n in range(1, 2 * MAX_RESETS + 20, 2)]
    )
    client.counts(data)
    assert outcome_of(client.wire.out, closed=True).goaway == "ENHANCE_YOUR_CALM"


def test_malformed_requests_are_counted(client: Client) -> None:
    """2.4.71 continues without end."""
    client.counts(b"".join([request(n, ("connection", "close")) for n in range(1, 2 * MAX_RESETS + 20, 2)]))
    found = [(kind, payload[4:8]) for kind, _flags, _number, payload in read_frames(client.wire.out)]
    assert len([kind for kind, _code in found if kind == RST_STREAM]) == MAX_RESETS + 1
    assert found[-1] == (7, b"\0\0\0\x0b")


def test_large_heads_are_refused_while_others_are_worked_on(client: Client) -> None:
    client.session._begin_some = lambda more: None
    client.counts(b"".join([request(n, ("x", "x" * 8000), ("y", "y" * 8000)) for n in range(1, 180, 2)]))
    refused = outcome_of(client.wire.out, closed=False).streams
    assert set(refused.values()) == {"REFUSED_STREAM"}
    assert client.session.heads <= MAX_HEADS + 17_000
    assert len(refused) + len(client.session.streams) == 90


def test_cached_pages_wait_for_a_client_that_reads_nothing(client: Client) -> None:
    """50 kB each, 100 of them from 6 kB."""
    for number in range(1, 7, 2):
        client.wire.out = b""
        client.session.data_received(request(number, path="/big.html"))
        while client.loop.ready:
            client.loop.tick()
    client.wire.out = b""
    client.session.data_received(b"".join([request(n, path="/big.html") for n in range(101, 301, 2)]))
    for _ in range(100):
        if len(client.wire.out) > WRITE_AHEAD and not client.session.paused:
            client.session.pause_writing()
        client.loop.tick()
    assert 0 < len(client.wire.out) <= 2 * (WRITE_AHEAD + 51_000)
    assert not client.wire.is_reading_on


def test_a_block_that_is_known_answers_from_the_cache_with_its_verdict(client: Client) -> None:
    """The fields keep-alive and proxy-connection are refused whether the page is cached or not."""
    pseudo = [(b":method", b"GET"), (b":scheme", b"http"), (b":authority", b"a"), (b":path", b"/")]
    for name in (b"keep-alive", b"proxy-connection", b"connection", b"upgrade", b"transfer-encoding", b"te"):
        assert FieldBlock([*pseudo, (name, b"x")]).raw_head(True) == b""
    for number in range(1, 20, 2):
        data = block(("keep-alive", "3")) if number % 4 == 1 else block()
        client.wire.out = b""
        client.session.data_received(frame(HEADERS, END_HEADERS | END_STREAM, number, data))
        client.loop.tick()
        kinds = [kind for kind, *_ in read_frames(client.wire.out)]
        assert kinds == ([RST_STREAM] if number % 4 == 1 else kinds) and (number % 4 == 1 or HEADERS in kinds)


def test_promised_streams_begin_when_the_client_takes_more(client: Client) -> None:
    limits: list[int | None] = []
    client.session.pusher.begin = lambda: limits.append(client.session.wire.max_pushed)
    client.session.data_received(settings((3, 0)))
    client.session.data_received(settings((3, 2)))
    assert limits == [0, 2]


def test_requests_begin_when_a_full_buffer_empties_without_a_pause(client: Client) -> None:
    """A transport writes at the end of its tick, and pauses its protocol only if data is left then."""
    client.wire.out = b"x" * (WRITE_AHEAD + 1)
    served = client.session.served
    client.session.data_received(request(1, path="/none"))
    assert client.session.served == served
    client.wire.out = b""
    client.loop.tick()
    assert client.session.served == served + 1


def test_requests_begin_when_a_held_response_is_reset(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The window of the stream keeps the rest of the body in memory: the next request waits for it."""
    path = tmp_path / "htdocs/held.html"
    path.write_bytes(b"y" * (MAX_HELD + 100_000))
    os.utime(path, (1_600_000_000, 1_600_000_000))
    unsent: list[Any] = []

    async def note(*arguments: Any) -> None:
        unsent.append(arguments)

    monkeypatch.setattr(client.loop, "create_task", lambda work: asyncio.run(work))
    monkeypatch.setattr(client.session.sender, "_rest", note)
    client.session.data_received(request(1, path="/held.html"))
    client.wire.out = b""
    assert client.session.held >= MAX_HELD
    served = client.session.served
    client.session.data_received(request(3, path="/none"))
    client.session.data_received(frame(RST_STREAM, 0, 1, bytes(4)))
    client.loop.tick()
    assert client.session.served == served
    client.session.sender.finish(*unsent[0])
    client.loop.tick()
    assert client.session.served == served + 2
