"""One connection, with a recording transport and a scripted engine."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from whimbrel.base.dialect import V24
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import Server
from whimbrel.engine.cache.index import ResponseCache
from whimbrel.engine.deps.files import TickStatCache
from whimbrel.engine.input.body import BodyError, RequestBody
from whimbrel.engine.response import Framing, Response
from whimbrel.http.syntax.head import Head
from whimbrel.http.syntax.line_reader import LogMessage
from whimbrel.registry.methods import Methods
from whimbrel.server.http1.protocol import HttpProtocol
from whimbrel.server.worker.state import WorkerState


class Wire(asyncio.Transport):
    """A transport whose writes can be read."""

    def __init__(self) -> None:
        super().__init__({"peername": ("192.0.2.7", 4711), "sockname": ("::ffff:192.0.2.1", 80)})
        self.out = b""
        self.ended = self.closed = self.paused = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def write(self, data: Any) -> None:
        self.out += bytes(data)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def get_write_buffer_size(self) -> int:
        return 0


class Reply(Response):
    """A response with a body of bytes."""

    def __init__(
        self, body: bytes, *, close: bool = False, stream: Any = None, framing: Framing = Framing.LENGTH
    ) -> None:
        request: Any = types.SimpleNamespace(status=200, time=0.0)
        super().__init__(request, b"[", b"]", [body], stream, close=close, framing=framing)
        self.counted: list[int] = []

    def head(self, date: bytes) -> bytes:
        return b"[head]"

    def on_sent(self, count: int, more: int = 0) -> None:
        self.counted.append(count)


class ScriptedEngine:
    """An engine that calls *handler* for each request."""

    def __init__(self, handler: Callable[[Head, RequestBody], Any]) -> None:
        self.handler = handler
        self.main = Server()
        self.main.record(CoreServerConfig).keep_alive_timeout = 1.0
        self.response_cache, self.stat_cache = ResponseCache(), TickStatCache()
        self.configuration = types.SimpleNamespace(
            servers=lambda: [self.main], hosts=None, dialect=V24, methods=Methods(), provider=self.provider
        )

    def provider(self, group: str, name: str) -> None:
        """Return None: no module is loaded."""

    def respond(self, connection: Any, head: Head, body: RequestBody) -> Any:
        return self.handler(head, body)


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    asyncio.set_event_loop(made)
    yield made
    made.close()
    asyncio.set_event_loop(None)


def connected(
    loop: asyncio.AbstractEventLoop, handler: Callable[[Head, RequestBody], Any]
) -> tuple[HttpProtocol, Wire]:
    problems: list[BaseException] = []
    service = WorkerState(ScriptedEngine(handler), loop, report=problems.append)  # type: ignore[arg-type]
    protocol, wire = HttpProtocol(service), Wire()
    protocol.connection_made(wire)
    return protocol, wire


def turns(loop: asyncio.AbstractEventLoop, count: int = 5) -> None:
    async def wait() -> None:
        for _ in range(count):
            await asyncio.sleep(0)

    loop.run_until_complete(wait())


def test_addresses_of_a_mapped_ipv6_socket_are_ipv4(loop: asyncio.AbstractEventLoop) -> None:
    protocol, _wire = connected(loop, lambda head, body: Reply(b""))
    assert (protocol.connection.client_ip, protocol.connection.client_port, protocol.connection.local_ip) == (
        "192.0.2.7",
        4711,
        "192.0.2.1",
    )


def test_pipelined_requests_are_answered_in_order(loop: asyncio.AbstractEventLoop) -> None:
    protocol, wire = connected(loop, lambda head, body: Reply(head.uri.encode()))
    protocol.data_received(b"GET /a HTTP/1.1\r\nHost: h\r\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n")
    assert wire.out == b"[head]/a[head]/b"
    assert protocol.connection.served == 2


def test_a_head_may_come_in_pieces(loop: asyncio.AbstractEventLoop) -> None:
    protocol, wire = connected(loop, lambda head, body: Reply(head.uri.encode()))
    for piece in (b"GET /a HT", b"TP/1.1\r\nHost", b": h\r\n\r", b"\nGET"):
        assert wire.out == b""
        protocol.data_received(piece)
    assert wire.out == b"[head]/a"


def test_a_later_request_waits_for_a_slow_answer(loop: asyncio.AbstractEventLoop) -> None:
    gate = loop.create_future()

    async def slow() -> Response:
        await gate
        return Reply(b"slow")

    protocol, wire = connected(loop, lambda head, body: slow() if head.uri == "/slow" else Reply(b"fast"))
    protocol.data_received(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\nGET /fast HTTP/1.1\r\nHost: h\r\n\r\n")
    turns(loop)
    assert wire.out == b""
    gate.set_result(None)
    turns(loop)
    assert wire.out == b"[head]slow[head]fast"


async def read_it(body: RequestBody) -> Response:
    return Reply(await body.read_all())


@pytest.mark.parametrize(
    "framed",
    [
        b"Content-Length: 5\r\n\r\nhello",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
    ],
)
def test_a_body_is_read_to_its_end_and_no_further(loop: asyncio.AbstractEventLoop, framed: bytes) -> None:
    protocol, wire = connected(
        loop, lambda head, body: read_it(body) if head.method == "POST" else Reply(head.uri.encode())
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
    protocol, wire = connected(loop, lambda head, body: Reply(b"no", close=True))
    protocol.data_received(
        b"POST /p HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    )
    assert wire.out == b"[head]no"
    assert wire.ended


def test_an_unread_body_is_dropped_before_the_next_request(loop: asyncio.AbstractEventLoop) -> None:
    protocol, wire = connected(loop, lambda head, body: Reply(head.uri.encode()))
    protocol.data_received(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 30\r\n\r\nGET /trap HTTP/1.1\r\n")
    protocol.data_received(b"\r\n12345678" + b"GET /next HTTP/1.1\r\nHost: h\r\n\r\n")
    assert wire.out == b"[head]/p[head]/next"


def test_a_client_that_leaves_in_its_body_fails_the_reader(loop: asyncio.AbstractEventLoop) -> None:
    seen: list[int] = []

    async def handler(body: RequestBody) -> Response:
        try:
            await body.read_all()
        except BodyError as problem:
            seen.append(problem.status)
        return Reply(b"", close=True)

    protocol, _wire = connected(loop, lambda head, body: handler(body))
    protocol.data_received(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhe")
    turns(loop)
    protocol.eof_received()
    turns(loop)
    assert seen == [400]


def test_after_the_last_answer_our_side_closes_and_the_rest_is_dropped(
    loop: asyncio.AbstractEventLoop,
) -> None:
    protocol, wire = connected(loop, lambda head, body: Reply(b"last", close=True))
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\nGET /more HTTP/1.1\r\nHost: h\r\n\r\n")
    protocol.data_received(b"GET /evenmore HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (wire.out, wire.ended, wire.closed) == (b"[head]last", True, False)
    protocol.expire()
    assert wire.closed


def test_a_client_that_half_closes_still_gets_its_answer(loop: asyncio.AbstractEventLoop) -> None:
    async def slow() -> Response:
        await asyncio.sleep(0)
        return Reply(b"late")

    protocol, wire = connected(loop, lambda head, body: slow())
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert protocol.eof_received()
    turns(loop)
    assert (wire.out, wire.closed) == (b"[head]late", True)


def test_a_failure_noted_in_an_absent_body_is_not_the_next_request_s(loop: asyncio.AbstractEventLoop) -> None:
    seen: list[Any] = []

    def handler(head: Head, body: RequestBody) -> Reply:
        seen.append((body.failure, body.failure_reported, body.ended, body.length))
        if head.uri == "/b":
            body.refused(BodyError(413, LogMessage("", "", "", "")))
        return Reply(b"")

    protocol, _wire = connected(loop, handler)
    for path in (b"/a", b"/b", b"/c", b"/d"):
        protocol.data_received(b"GET %b HTTP/1.1\r\nHost: h\r\n\r\n" % path)
    assert seen == [(None, False, True, 0)] * 4


def test_an_idle_connection_ends_without_a_word(loop: asyncio.AbstractEventLoop) -> None:
    protocol, wire = connected(loop, lambda head, body: Reply(b""))
    protocol.expire()
    assert (wire.out, wire.ended) == (b"", True)


def test_too_much_ahead_stops_reading_until_the_answer_is_out(loop: asyncio.AbstractEventLoop) -> None:
    gate = loop.create_future()

    async def slow() -> Response:
        await gate
        return Reply(b"x")

    protocol, wire = connected(loop, lambda head, body: slow() if head.uri == "/slow" else Reply(b"y"))
    protocol.data_received(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
    for _ in range(3000):
        protocol.data_received(b"GET /f HTTP/1.1\r\nHost: h\r\n\r\n")
    assert wire.paused
    gate.set_result(None)
    turns(loop, 400)
    assert not wire.paused
    assert wire.out.count(b"[head]") == 3001


async def pieces() -> Any:
    yield b"one"
    yield b""
    yield b"three"


@pytest.mark.parametrize(
    ("framing", "wanted"),
    [
        (Framing.CHUNKED, b"[head]3\r\none\r\n5\r\nthree\r\n0\r\n\r\n"),
        (Framing.CLOSE, b"[head]onethree"),
    ],
)
def test_streams_are_framed(loop: asyncio.AbstractEventLoop, framing: Framing, wanted: bytes) -> None:
    answer = Reply(b"", stream=pieces(), close=framing is Framing.CLOSE, framing=framing)
    protocol, wire = connected(loop, lambda head, body: answer)
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    turns(loop, 10)
    assert (wire.out, answer.counted) == (wanted, [8])
    assert wire.ended is (framing is Framing.CLOSE)


def test_a_fault_of_the_server_is_a_500_and_reported(loop: asyncio.AbstractEventLoop) -> None:
    def broken(head: Head, body: RequestBody) -> Response:
        raise RuntimeError("oops")

    problems: list[BaseException] = []
    service = WorkerState(ScriptedEngine(broken), loop, report=problems.append)  # type: ignore[arg-type]
    protocol, wire = HttpProtocol(service), Wire()
    protocol.connection_made(wire)
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert wire.out.startswith(b"HTTP/1.1 500 ")
    assert [str(p) for p in problems] == ["oops"]


def test_draining_ends_a_connection_with_its_next_answer(loop: asyncio.AbstractEventLoop) -> None:
    protocol, wire = connected(loop, lambda head, body: Reply(b"a", close=protocol.connection.is_draining))
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    protocol.service.drain()
    assert not wire.ended
    protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
    assert (wire.out, wire.ended) == (b"[head]a[head]a", True)
