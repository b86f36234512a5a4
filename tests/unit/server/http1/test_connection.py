"""One connection, with a recording transport and a scripted engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.support.fakes import FakeEngine, FakeResponse, FakeTransport

from whimbrel.engine.body import Source
from whimbrel.engine.input.body import BodyError, RequestBody
from whimbrel.engine.response import Framing, Response
from whimbrel.http.syntax.head import Head
from whimbrel.http.syntax.line_reader import LogMessage
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.state import WorkerState


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield made
    made.close()
    asyncio.set_event_loop(None)


def connected(
    loop: asyncio.AbstractEventLoop, handler: Callable[[Head, RequestBody], Any]
) -> tuple[Http1Connection, FakeTransport]:
    problems: list[BaseException] = []
    service = WorkerState(FakeEngine(handler), loop, report=problems.append)  # type: ignore[arg-type]
    service.round = float("inf")  # a busy machine ends no tick
    protocol, wire = Http1Connection(service), FakeTransport(server=("::ffff:192.0.2.1", 80))
    protocol.connection_made(wire)
    return protocol, wire


def turns(loop: asyncio.AbstractEventLoop, count: int = 5) -> None:
    async def wait() -> None:
        for _ in range(count):
            await asyncio.sleep(0)

    loop.run_until_complete(wait())


def test_addresses_of_a_mapped_ipv6_socket_are_ipv4(loop: asyncio.AbstractEventLoop) -> None:
    protocol, _wire = connected(loop, lambda head, body: FakeResponse(b""))
    assert (protocol.connection.client_ip, protocol.connection.client_port, protocol.connection.local_ip) == (
        "192.0.2.7",
        4711,
        "192.0.2.1",
    )


def test_pipelined_requests_are_answered_in_order(loop: asyncio.AbstractEventLoop) -> None:
    protocol, wire = connected(loop, lambda head, body: FakeResponse(head.uri.encode()))
    protocol.data_received(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
    assert wire.out == b"[head]/a[head]/b"
    assert protocol.connection.served == 2


def test_a_head_may_come_in_pieces(loop: asyncio.AbstractEventLoop) -> None:
    protocol, wire = connected(loop, lambda head, body: FakeResponse(head.uri.encode()))
    for piece in (b"GET /a HT", b"TP/1.1\r\nHost", b": h\r\n\r", b"\nGET"):
        assert wire.out == b""
        protocol.data_received(piece)
    assert wire.out == b"[head]/a"


def test_a_later_request_waits_for_a_slow_answer(loop: asyncio.AbstractEventLoop) -> None:
    gate = loop.create_future()

    async def slow() -> Response:
        await gate
        return FakeResponse(b"slow")

    protocol, wire = connected(
        loop, lambda head, body: slow() if head.uri == "/slow" else FakeResponse(b"fast")
    )
    protocol.data_received(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /fast HTTP/1.1\r\nHost: h\r\n\r\n")
    turns(loop)
    assert wire.out == b""
    gate.set_result(None)
    turns(loop)
    assert wire.out == b"[head]slow[head]fast"


async def read_it(body: RequestBody) -> Response:
    return FakeResponse(await body.read_all())


@pytest.mark.parametrize(
    "framed",
    [
        b"Content-Length: 5\r\n\r\nhello",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
    ],
)
def test_a_body_is_read_to_its_end_and_no_further(loop: asyncio.AbstractEventLoop, framed: bytes) -> None:
    protocol, wire = connected(
        loop, lambda head, body: read_it(body) if head.method == "POST" else FakeResponse(head.uri.encode())
    )
    stream = b"POST /p HTTP/1.1\r\nHost: h\r\n" + framed + b"GET /next HTTP/1.1\r\nHost: h\r\n\r\n"
    for at in range(0, len(stream), 7):
        protocol.data_received(stream[at : at + 7])
        turns(loop, 2)
    assert wire.out == b"[head]hello[head]/next"


def test_continue_is_sent_when_the_body_is_wanted(loop: asyncio.AbstractEventLoop) -> None:
    protocol, wire = connected(loop, lambda head, body: read_it(body))
    protocol.data_received(
        b"POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    )
    turns(loop)
    assert wire.out == b"HTTP/1.1 100 Continue\r\n\r\n"
    protocol.data_received(b"ok")
    turns(loop)
    assert wire.out == b"HTTP/1.1 100 Continue\r\n\r\n[head]ok"


def test_continue_is_not_sent_when_nobody_reads(loop: asyncio.AbstractEventLoop) -> None:
    protocol, wire = connected(loop, lambda head, body: FakeResponse(b"no", close=True))
    protocol.data_received(
        b"POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    )
    assert wire.out == b"[head]no"
    assert wire.has_eof


def test_an_unread_body_is_dropped_before_the_next_request(loop: asyncio.AbstractEventLoop) -> None:
    protocol, wire = connected(loop, lambda head, body: FakeResponse(head.uri.encode()))
    protocol.data_received(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 30\r\n\r\nGET /trap HTTP/1.1\r\n")
    protocol.data_received(b"\r\n12345678" + b"GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
    assert wire.out == b"[head]/p[head]/next"


def test_a_body_without_a_reader_has_a_deadline_after_its_client_has_read(
    loop: asyncio.AbstractEventLoop,
) -> None:
    protocol, wire = connected(loop, lambda head, body: FakeResponse(head.uri.encode()))
    protocol.data_received(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 30\r\n\r\n12345678")
    protocol.pause_writing()
    protocol.resume_writing()
    assert protocol.deadline == protocol.service.clock + protocol.listener.timeout
    protocol.expire()
    assert (wire.out, wire.has_eof) == (b"[head]/p", True)


def test_a_client_that_leaves_in_its_body_fails_the_reader(loop: asyncio.AbstractEventLoop) -> None:
    seen: list[int] = []

    async def handler(body: RequestBody) -> Response:
        try:
            await body.read_all()
        except BodyError as problem:
            seen.append(problem.status)
        return FakeResponse(b"", close=True)

    protocol, _wire = connected(loop, lambda head, body: handler(body))
    protocol.data_received(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe")
    turns(loop)
    protocol.eof_received()
    turns(loop)
    assert seen == [400]


@pytest.mark.parametrize("sent", [b"hello", b"he"])
@pytest.mark.parametrize("expect", [b"", b"Expect: 100-continue\r\n"])
def test_a_body_that_waited_when_the_client_half_closed(
    loop: asyncio.AbstractEventLoop, expect: bytes, sent: bytes
) -> None:
    """It is read as far as it goes; a part of a body is a failure at once."""

    async def read(body: RequestBody) -> Response:
        await asyncio.sleep(0)
        try:
            return FakeResponse(await body.read_all())
        except BodyError as problem:
            return FakeResponse(str(problem.status).encode(), close=True)

    async def slow() -> Response:
        for _ in range(3):
            await asyncio.sleep(0)
        return FakeResponse(b"slow")

    post = b"POST /p HTTP/1.1\r\nHost: h\r\n" + expect + b"Content-Length: 5\r\n\r\n" + sent
    for first in (b"", b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"):
        protocol, wire = connected(loop, lambda head, body: read(body) if head.method == "POST" else slow())
        protocol.data_received(first + post)
        protocol.eof_received()
        turns(loop, 20)
        interim = b"HTTP/1.1 100 Continue\r\n\r\n" if expect else b""
        answer = b"[head]hello" if sent == b"hello" else b"[head]400"
        assert wire.out == (b"[head]slow" if first else b"") + interim + answer


def test_after_the_last_answer_our_side_closes_and_the_rest_is_dropped(
    loop: asyncio.AbstractEventLoop,
) -> None:
    protocol, wire = connected(loop, lambda head, body: FakeResponse(b"last", close=True))
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /more HTTP/1.1\r\nHost: h\r\n\r\n")
    protocol.data_received(b"GET /evenmore HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (wire.out, wire.has_eof, wire.is_closed) == (b"[head]last", True, False)
    protocol.expire()
    assert wire.is_closed


def test_a_client_that_half_closes_still_gets_its_answer(loop: asyncio.AbstractEventLoop) -> None:
    async def slow() -> Response:
        await asyncio.sleep(0)
        return FakeResponse(b"late")

    protocol, wire = connected(loop, lambda head, body: slow())
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert protocol.eof_received()
    turns(loop)
    assert (wire.out, wire.is_closed) == (b"[head]late", True)


def test_a_failure_noted_in_an_absent_body_is_not_the_next_request_s(loop: asyncio.AbstractEventLoop) -> None:
    seen: list[Any] = []

    def handler(head: Head, body: RequestBody) -> FakeResponse:
        seen.append((body.failure, body.failure_reported, body.ended, body.length))
        if head.uri == "/b":
            body.refused(BodyError(413, LogMessage("", "", "", "")))
        return FakeResponse(b"")

    protocol, _wire = connected(loop, handler)
    for path in (b"/a", b"/b", b"/c", b"/d"):
        protocol.data_received(b"GET %b HTTP/1.1\r\nHost: h\r\n\r\n" % path)
    assert seen == [(None, False, True, 0)] * 4


def test_an_idle_connection_ends_without_a_word(loop: asyncio.AbstractEventLoop) -> None:
    protocol, wire = connected(loop, lambda head, body: FakeResponse(b""))
    protocol.expire()
    assert (wire.out, wire.has_eof) == (b"", True)


def test_too_much_ahead_stops_reading_until_the_answer_is_out(loop: asyncio.AbstractEventLoop) -> None:
    gate = loop.create_future()

    async def slow() -> Response:
        await gate
        return FakeResponse(b"x")

    protocol, wire = connected(loop, lambda head, body: slow() if head.uri == "/slow" else FakeResponse(b"y"))
    protocol.data_received(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    for _ in range(3000):
        protocol.data_received(b"GET /f HTTP/1.1\r\nHost: h\r\n\r\n")
    assert wire.is_paused
    gate.set_result(None)
    turns(loop, 400)
    assert not wire.is_paused
    assert wire.out.count(b"[head]") == 3001


class Pieces(Source):
    """Source of two pieces."""

    def __init__(self) -> None:
        self.left = [b"one", b"three"]

    async def read(self) -> bytes | None:
        return self.left.pop(0) if self.left else None


@pytest.mark.parametrize(
    ("framing", "wanted"),
    [
        (Framing.CHUNKED, b"[head]3\r\none\r\n5\r\nthree\r\n0\r\n\r\n"),
        (Framing.CLOSE, b"[head]onethree"),
    ],
)
def test_streams_are_framed(loop: asyncio.AbstractEventLoop, framing: Framing, wanted: bytes) -> None:
    answer = FakeResponse(Pieces(), close=framing is Framing.CLOSE, framing=framing)
    protocol, wire = connected(loop, lambda head, body: answer)
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    turns(loop, 10)
    assert (wire.out, answer.counted) == (wanted, [8])
    assert wire.has_eof is (framing is Framing.CLOSE)


def test_a_fault_of_the_server_is_a_500_and_reported(loop: asyncio.AbstractEventLoop) -> None:
    def broken(head: Head, body: RequestBody) -> Response:
        raise RuntimeError("oops")

    problems: list[BaseException] = []
    service = WorkerState(FakeEngine(broken), loop, report=problems.append)  # type: ignore[arg-type]
    service.round = float("inf")  # a busy machine ends no tick
    protocol, wire = Http1Connection(service), FakeTransport(server=("::ffff:192.0.2.1", 80))
    protocol.connection_made(wire)
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert wire.out.startswith(b"HTTP/1.1 500 ")
    assert [str(p) for p in problems] == ["oops"]


def test_draining_ends_a_connection_with_its_next_answer(loop: asyncio.AbstractEventLoop) -> None:
    protocol, wire = connected(
        loop, lambda head, body: FakeResponse(b"a", close=protocol.connection.is_draining)
    )
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    protocol.service.drain()
    assert not wire.has_eof
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (wire.out, wire.has_eof) == (b"[head]a[head]a", True)


def test_a_connection_that_was_reset_before_it_was_accepted_is_aborted(
    loop: asyncio.AbstractEventLoop,
) -> None:
    service = WorkerState(FakeEngine(lambda head, body: None), loop)  # type: ignore[arg-type]
    protocol, wire = Http1Connection(service), FakeTransport(client=None)  # type: ignore[arg-type]
    protocol.connection_made(wire)
    protocol.connection_lost(None)
    assert wire.is_closed and not service.connections


class ClosedTransport(FakeTransport):
    """A transport that raises like a closed one of uvloop."""

    def write(self, data: object) -> None:
        if self.is_closed:
            raise RuntimeError("the handler is closed")
        super().write(data)


class EndlessSource(Source):
    """A body without an end that records its closing."""

    closed = False

    async def read(self) -> bytes | None:
        await asyncio.sleep(0)
        return b"more"

    async def aclose(self) -> None:
        self.closed = True


def test_a_body_is_closed_whose_client_leaves_while_it_begins(loop: asyncio.AbstractEventLoop) -> None:
    source = EndlessSource()

    async def later() -> Response:
        response = FakeResponse(b"")
        response.parts = [source]
        return response  # type: ignore[return-value]

    service = WorkerState(FakeEngine(lambda head, body: later()), loop)  # type: ignore[arg-type]
    protocol, wire = Http1Connection(service), ClosedTransport()
    protocol.connection_made(wire)
    protocol.data_received(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
    wire.is_closed = True
    loop.call_soon(protocol.connection_lost, None)
    turns(loop, 10)
    assert source.closed
