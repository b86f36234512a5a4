"""What a connection does in one turn of the loop, and how much it stores for a client that reads nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
from tests.support.fakes import FakeLoop, FakeTransport

from whimbrel.http.http2.hpack import FieldBlock
from whimbrel.server.http1.protocol import HttpProtocol
from whimbrel.server.http2.connection import MAX_BEGUN, MAX_HEADS, MAX_RESETS, MAX_WORK, WRITE_AHEAD

OPEN = (
    PREFACE
    + settings((4, (1 << 31) - 1), (5, (1 << 24) - 1))
    + frame(SETTINGS, ACK)
    + window(0, (1 << 31) - 1 - 65535)
)


TURNS = 300


class UnreadTransport(FakeTransport):
    """A transport whose client takes nothing: it says so when told to by `pause`."""

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
    """A loop that makes one turn at a time, and no tasks."""

    def create_task(self, work: Any) -> None:
        work.close()


class Asked:
    """A connection with its transport and loop."""

    def __init__(self, root: Path) -> None:
        (root / "htdocs").mkdir(exist_ok=True)
        self.site = BenchmarkWorker(root)
        self.loop = self.site.loop = self.site.service.loop = TasklessLoop()  # type: ignore[assignment]
        (root / "htdocs/big.html").write_bytes(b"y" * 50_000)
        self.wire = UnreadTransport()
        first = HttpProtocol(self.site.service)
        first.connection_made(self.wire)
        first.data_received(OPEN)
        self.session: Any = self.wire.protocol
        self.wire.out = b""

    def counts(self, data: bytes) -> list[int]:
        """Take *data*; how many frames were worked on in each turn until all were."""
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
def asked(tmp_path: Path) -> Iterator[Asked]:
    yield Asked(tmp_path)


def test_a_turn_takes_so_many_frames(asked: Asked) -> None:
    counts = asked.counts(frame(0xEE) * 900)
    assert counts[:4] == [MAX_WORK, MAX_WORK, MAX_WORK, 900 - 3 * MAX_WORK]


def test_reading_rests_while_there_is_work(asked: Asked) -> None:
    asked.session.data_received(frame(0xEE) * 900)
    assert not asked.wire.is_reading_on
    while asked.loop.ready:
        asked.loop.tick()
    assert asked.wire.is_reading_on


def test_a_turn_takes_fewer_blocks_of_fields(asked: Asked) -> None:
    counts = asked.counts(
        b"".join([request(n, ("x", f"{n:0400}"), ("connection", "close")) for n in range(1, 20, 2)])
    )
    assert max(counts) == 2


def test_a_turn_begins_so_many_requests(asked: Asked) -> None:
    before = asked.session.answered
    asked.session.repeater.quick = lambda number, raw: False
    asked.session.data_received(b"".join([request(n, path="/none") for n in range(1, 60, 2)]))
    while asked.session.answered == before:
        asked.loop.tick()
    assert asked.session.answered == before + MAX_BEGUN


def test_requests_that_are_taken_back_are_not_begun(asked: Asked) -> None:
    begun: list[Any] = []
    asked.session._respond = begun.append
    asked.counts(
        b"".join(
            [request(n, path=f"/none{n}") + frame(RST_STREAM, 0, n, bytes(4)) for n in range(1, 1000, 2)]
        )
    )
    assert not begun and asked.session.running == 0 and not asked.session.streams


def test_resets_are_counted(asked: Asked) -> None:
    data = b"".join(
        [request(n) + frame(RST_STREAM, 0, n, bytes(4)) for n in range(1, 2 * MAX_RESETS + 20, 2)]
    )
    asked.session.repeater.quick = lambda number, raw: False
    asked.counts(data)
    assert outcome_of(asked.wire.out, closed=True).goaway == "ENHANCE_YOUR_CALM"


def test_malformed_requests_are_counted(asked: Asked) -> None:
    """2.4.71 goes on for ever."""
    asked.counts(b"".join([request(n, ("connection", "close")) for n in range(1, 2 * MAX_RESETS + 20, 2)]))
    found = [(kind, payload[4:8]) for kind, _flags, _number, payload in read_frames(asked.wire.out)]
    assert len([kind for kind, _code in found if kind == RST_STREAM]) == MAX_RESETS + 1
    assert found[-1] == (7, b"\0\0\0\x0b")


def test_large_heads_are_refused_while_others_are_worked_on(asked: Asked) -> None:
    asked.session._begin_some = lambda more: None
    asked.counts(b"".join([request(n, ("x", "x" * 8000), ("y", "y" * 8000)) for n in range(1, 180, 2)]))
    refused = outcome_of(asked.wire.out, closed=False).streams
    assert set(refused.values()) == {"REFUSED_STREAM"}
    assert asked.session.heads <= MAX_HEADS + 17_000
    assert len(refused) + len(asked.session.streams) == 90


def test_cached_pages_wait_for_a_client_that_reads_nothing(asked: Asked) -> None:
    """50 kB each, 100 of them from 6 kB."""
    for number in range(1, 7, 2):
        asked.wire.out = b""
        asked.session.data_received(request(number, path="/big.html"))
        while asked.loop.ready:
            asked.loop.tick()
    asked.wire.out = b""
    asked.session.data_received(b"".join([request(n, path="/big.html") for n in range(101, 301, 2)]))
    for _ in range(100):
        if len(asked.wire.out) > WRITE_AHEAD and not asked.session.paused:
            asked.session.pause_writing()
        asked.loop.tick()
    assert 0 < len(asked.wire.out) <= 2 * (WRITE_AHEAD + 51_000)
    assert not asked.wire.is_reading_on


def test_a_block_that_is_known_answers_from_the_cache_with_its_verdict(asked: Asked) -> None:
    """The fields keep-alive and proxy-connection are refused whether the page is cached or not."""
    pseudo = [(b":method", b"GET"), (b":scheme", b"http"), (b":authority", b"a"), (b":path", b"/")]
    for name in (b"keep-alive", b"proxy-connection", b"connection", b"upgrade", b"transfer-encoding", b"te"):
        assert FieldBlock([*pseudo, (name, b"x")]).raw_head(True) == b""
    for number in range(1, 20, 2):
        data = block(("keep-alive", "3")) if number % 4 == 1 else block()
        asked.wire.out = b""
        asked.session.data_received(frame(HEADERS, END_HEADERS | END_STREAM, number, data))
        asked.loop.tick()
        kinds = [kind for kind, *_ in read_frames(asked.wire.out)]
        assert kinds == ([RST_STREAM] if number % 4 == 1 else kinds) and (number % 4 == 1 or HEADERS in kinds)
