"""Interim responses of HTTP/1: before the final head alone, and to no client of HTTP/1.0."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.fakes import FakeEngine, FakeResponse, FakeTransport

from whimbrel.engine.body import Source
from whimbrel.engine.input.body import EARLY_BODY_NOTE, RequestBody
from whimbrel.http.syntax.head import Head
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.state import WorkerState

HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"
FIELDS = [("Link", "</a.css>; rel=preload"), ("Bad\r\nName", "x"), ("X-Bad", "a\r\nb: c")]
GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


class Hinting:
    """A connection whose handler sends hints."""

    def __init__(self, loop: asyncio.AbstractEventLoop, handler: Any) -> None:
        def respond(head: Head, body: RequestBody) -> Any:
            return handler(self.protocol.connection.send_interim, body)

        engine: Any = FakeEngine(respond)
        self.protocol, self.wire = Http1Connection(WorkerState(engine, loop)), FakeTransport()
        self.protocol.connection_made(self.wire)


def test_hints_come_before_the_final_head(loop: asyncio.AbstractEventLoop) -> None:
    def handler(send_interim: Any, _body: RequestBody) -> FakeResponse:
        send_interim(103, FIELDS)
        return FakeResponse(b"body")

    hinting = Hinting(loop, handler)
    hinting.protocol.data_received(GET)
    assert hinting.wire.out == HINTS + b"[head]body"


def test_no_hints_follow_the_final_head(loop: asyncio.AbstractEventLoop) -> None:
    class Late(Source):
        async def read(self) -> bytes | None:
            hinting.protocol.connection.send_interim(103, FIELDS)  # type: ignore[misc]
            return None

    hinting = Hinting(loop, lambda _send, _body: FakeResponse(b"body", Late()))
    hinting.protocol.data_received(GET)
    for _ in range(5):
        loop.run_until_complete(asyncio.sleep(0))
    assert hinting.wire.out == b"[head]body"
    hinting.protocol.connection.send_interim(103, FIELDS)  # type: ignore[misc]
    assert hinting.wire.out == b"[head]body"


def test_100_continue_is_sent_once(loop: asyncio.AbstractEventLoop) -> None:
    async def handler(send_interim: Any, body: RequestBody) -> FakeResponse:
        send_interim(100)
        return FakeResponse(await body.read_all())

    hinting = Hinting(loop, handler)
    hinting.protocol.data_received(
        b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    )
    loop.run_until_complete(asyncio.sleep(0))
    hinting.protocol.data_received(b"ab")
    for _ in range(5):
        loop.run_until_complete(asyncio.sleep(0))
    assert hinting.wire.out == b"HTTP/1.1 100 Continue\r\n\r\n[head]ab"


@pytest.mark.parametrize("is_early", [True, False])
def test_a_body_that_came_with_the_head_needs_no_100(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch, is_early: bool
) -> None:
    """Apache2 sends no 100 Continue for a FastCGI application that gets a body which came with the head."""

    async def handler(_send_interim: Any, body: RequestBody) -> FakeResponse:
        first: Any = SimpleNamespace(status=200, is_committed=False, next=None, server=None)
        first.notes = {EARLY_BODY_NOTE: "1"}
        hinting.protocol.connection.request = first
        return FakeResponse(await body.read_all())

    hinting = Hinting(loop, handler)
    protocol = hinting.protocol
    monkeypatch.setattr(protocol.service, "settings_of", lambda server: protocol.listener)
    head = b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    hinting.protocol.data_received(head + b"a" * is_early)
    loop.run_until_complete(asyncio.sleep(0))
    hinting.protocol.data_received(b"a" * (2 - is_early))
    for _ in range(5):
        loop.run_until_complete(asyncio.sleep(0))
    assert hinting.wire.out == (b"" if is_early else b"HTTP/1.1 100 Continue\r\n\r\n") + b"[head]aa"


def test_an_expectation_of_http_1_0_stays_unmet(loop: asyncio.AbstractEventLoop) -> None:
    async def handler(_send_interim: Any, body: RequestBody) -> FakeResponse:
        return FakeResponse(await body.read_all())

    hinting = Hinting(loop, handler)
    hinting.protocol.data_received(
        b"POST / HTTP/1.0\r\nConnection: keep-alive\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab"
    )
    for _ in range(5):
        loop.run_until_complete(asyncio.sleep(0))
    assert hinting.wire.out == b"[head]ab"


def test_a_closed_connection_gets_none(loop: asyncio.AbstractEventLoop) -> None:
    hinting = Hinting(loop, lambda _send, _body: FakeResponse(b""))
    hinting.protocol.connection_lost(None)
    assert hinting.protocol.connection.send_interim is None


def test_an_error_document_finds_a_body_empty_for_which_the_client_awaits_100(
    loop: asyncio.AbstractEventLoop,
) -> None:
    """httpd's HTTP_IN filter sends no 100 Continue after a failure."""

    async def handler(_send_interim: Any, body: RequestBody) -> FakeResponse:
        first: Any = SimpleNamespace(status=200, is_committed=False)
        first.next = SimpleNamespace(status=403, next=None, is_committed=False)
        hinting.protocol.connection.request = first
        return FakeResponse(b"<" + await body.read_all() + b">")

    hinting = Hinting(loop, handler)
    hinting.protocol.data_received(
        b"POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab"
    )
    for _ in range(5):
        loop.run_until_complete(asyncio.sleep(0))
    assert hinting.wire.out == b"[head]<>"
