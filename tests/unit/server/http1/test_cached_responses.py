"""Fast path: the requests that it leaves to the general path, and its bound per tick."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.hostile.cuts import CuttingWorker, lay_out
from tests.support.fakes import FakeTransport

from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.state import MAX_MORE

HEAD = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[CuttingWorker]:
    lay_out(tmp_path)
    made = CuttingWorker(tmp_path, "unlimited")
    for _ in range(3):
        made.ask(HEAD)
    yield made
    made.close()


def connected(desk: CuttingWorker) -> tuple[Any, FakeTransport]:
    wire = FakeTransport(server=("127.0.0.1", 8080))
    wire.protocol = Http1Connection(desk.service)
    wire.protocol.connection_made(wire)
    return wire.protocol, wire


def answered(protocol: Any, data: bytes) -> int:
    """Return how many bytes of *data* the fast path answers."""
    return len(data) - len(protocol.cached.answer(data))


@pytest.mark.parametrize("cut", range(1, len(HEAD)))
def test_nothing_is_found_for_a_head_that_is_cut(desk: CuttingWorker, cut: int) -> None:
    protocol, wire = connected(desk)
    desk.service.begin_tick()
    assert answered(protocol, HEAD[:cut]) == 0 and answered(protocol, HEAD + HEAD[:cut]) == len(HEAD)
    desk.service.write_gathered()
    assert wire.out.count(b"HTTP/1.1 200") == 1


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n" + HEAD,
        HEAD[:-2] + b"X: 1\r\nGET /",
        b"\0" + HEAD,
        HEAD.replace(b"\r\n", b"\n"),
        HEAD[:-2] + b" x\r\n\r\n",
        HEAD[:-2] + b"X : 1\r\n\r\n",
        HEAD[:-2] + b"\n\r\n",
        HEAD[:-2] + b"X: 1\n\nGET / HTTP/1.1\r\n\r\n",
    ],
)
def test_nothing_is_found_for_another_form(desk: CuttingWorker, data: bytes) -> None:
    protocol, wire = connected(desk)
    desk.service.begin_tick()
    assert answered(protocol, data) == 0
    desk.service.write_gathered()
    assert not wire.out


def test_requests_per_tick_are_bounded_and_the_next_tick_continues(desk: CuttingWorker) -> None:
    protocol, wire = connected(desk)
    protocol.data_received(HEAD * (3 * MAX_MORE))
    desk.service.write_gathered()
    assert MAX_MORE <= wire.out.count(b"HTTP/1.1 200") <= MAX_MORE + 1
    other, honest = connected(desk)
    other.data_received(HEAD)
    desk.service.write_gathered()
    assert honest.out.count(b"HTTP/1.1 200") == 1
    for _ in range(6):
        desk.turn(lambda: None)
    assert wire.out.count(b"HTTP/1.1 200") == 3 * MAX_MORE


def test_no_more_is_answered_once_the_client_does_not_read(desk: CuttingWorker) -> None:
    protocol, wire = connected(desk)
    protocol.pause_writing()
    protocol.data_received(HEAD * 3)
    desk.service.write_gathered()
    assert not wire.out
    protocol.resume_writing()
    desk.service.write_gathered()
    assert wire.out.count(b"HTTP/1.1 200") == 3


def test_the_end_of_the_connection_waits_for_what_was_postponed(desk: CuttingWorker) -> None:
    protocol, wire = connected(desk)
    protocol.data_received(HEAD * (2 * MAX_MORE) + HEAD[:-2])
    protocol.eof_received()
    for _ in range(6):
        desk.turn(lambda: None)
    assert wire.out.count(b"HTTP/1.1 200") == 2 * MAX_MORE and wire.out.count(b"HTTP/1.1 400") == 1
