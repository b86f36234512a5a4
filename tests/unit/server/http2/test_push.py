"""Promised streams of one connection: bounds, concurrency, and the order of bodies."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("hpack", reason="the optional package hpack is not installed")

from hpack import Decoder
from tests.hostile.http2_frames import PUSH_PROMISE, read_frames

from whimbrel.engine.connection import Connection
from whimbrel.engine.input.body import RequestBody
from whimbrel.http.http2.connection import ServerH2Connection
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.head import Head
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions
from whimbrel.server.http2.push import MAX_WAITING, PUSH_OFF, STREAM, Pusher
from whimbrel.server.http2.stream import Stream


class Session:
    """The part of a connection that pushes."""

    def __init__(self, **settings: Any) -> None:
        known = {"push": True, "diary_size": 256, "max_streams": 100, "priorities": {}, **settings}
        self.settings = SimpleNamespace(**known)
        self.listener: Any = SimpleNamespace(limits=HeadLimits(), rules=ParserOptions())
        self.wire: ServerH2Connection[Stream] = ServerH2Connection(self, 100, 65535)  # type: ignore[arg-type]
        self.connection = Connection("192.0.2.7", 4711, "192.0.2.1", 80)
        self.leaving = False
        self.begun: list[Stream] = []
        self.pusher = Pusher(self)

    def open_promised(self, number: int, head: Head, parent: Stream) -> Stream:
        stream = make_stream(number, head)
        stream.parent = parent
        self.wire.open(stream)
        return stream

    def begin_promised(self, stream: Stream) -> None:
        self.begun.append(stream)

    def promises(self) -> list[tuple[int, dict[str, str]]]:
        decoder, out = Decoder(), []
        for kind, _flags, _number, payload in read_frames(self.wire.take()):
            if kind == PUSH_PROMISE:
                pairs = [(str(name), str(value)) for name, value in decoder.decode(payload[4:])]
                out.append((int.from_bytes(payload[:4]), dict(pairs)))
        return out


def make_stream(number: int, head: Head) -> Stream:
    connection = Connection("192.0.2.1", 1, "192.0.2.2", 80)
    return Stream(number, connection, head, RequestBody(0), ended=True)


def request(number: int = 1, method: str = "GET", **fields: str) -> Stream:
    headers = Headers([("Host", "localhost"), *[(name.replace("_", "-"), fields[name]) for name in fields]])
    head = Head(b"", 0, method, "/", "HTTP/2.0", (2, 0), headers, f"{method} / HTTP/2.0", "/", None)
    return make_stream(number, head)


def links(count: int, size: int = 1) -> list[str]:
    return [f"</{number:0{size}d}>;rel=preload" for number in range(count)]


@pytest.mark.parametrize(("limit", "count"), [(135, 0), (136, 1)])
def test_no_promise_is_longer_than_the_limit(limit: int, count: int) -> None:
    """2.4.71 promises /a.txt of localhost under H2MaxHeaderBlockLen 136, not under 135."""
    session = Session()
    session.wire.encoder.limit = limit
    session.pusher.push(request(), 200, ["</a.txt>;rel=preload"])
    assert len(session.promises()) == count


def test_a_promise_has_the_next_even_number_and_the_authority() -> None:
    session = Session()
    assert session.pusher.push(request(Accept="a", Cookie="c"), 200, links(2)) == "default"
    (one, fields), (other, _) = session.promises()
    assert (one, other) == (2, 4)
    assert fields == {
        ":scheme": "http",
        ":authority": "localhost",
        ":path": "/0",
        ":method": "GET",
        "accept": "a",
        "host": "localhost",
    }
    assert [stream.number for stream in session.begun] == [2, 4]


@pytest.mark.parametrize(
    ("stream", "status"),
    [
        (request(method="POST"), 200),
        (request(method="HEAD"), 200),
        (request(), 404),
        (request(), 304),
        (request(2), 200),  # itself pushed
        (request(Accept_Push_Policy="none"), 200),
    ],
)
def test_what_pushes_nothing(stream: Stream, status: int) -> None:
    session = Session()
    assert (session.pusher.push(stream, status, links(1)), session.promises()) == ("", [])


def test_pushes_are_switched_off() -> None:
    off, unwilling, leaving, local = Session(push=False), Session(), Session(), Session()
    unwilling.wire.takes_push, leaving.leaving = False, True
    there = request()
    there.connection.notes[PUSH_OFF] = "1"
    assert [s.pusher.push(request(), 200, links(1)) for s in (off, unwilling, leaving)] == [""] * 3
    assert local.pusher.push(there, 200, links(1)) == ""
    assert [s.pusher.note(request().head) for s in (off, unwilling, local)] == ["off", "off", "on"]


def test_waiting_promises_are_bounded_in_bytes() -> None:
    session = Session(diary_size=0)
    session.wire.max_pushed = 0
    for _ in range(3):
        session.pusher.push(request(), 200, links(10_000, 500))
    count = len(session.promises())
    assert count == len(session.pusher.waiting) == len(session.wire.streams)
    assert MAX_WAITING - 2 * (STREAM + 600) < session.pusher.size <= MAX_WAITING
    assert 100 < count <= MAX_WAITING // STREAM and not session.begun


def test_links_are_read_up_to_the_first_that_is_not_promised() -> None:
    session, read = Session(diary_size=0), 0

    def values() -> Iterator[str]:
        nonlocal read
        for value in links(10_000):
            read += 1
            yield value

    session.wire.max_pushed = 0
    assert session.pusher.push(request(), 200, values()) == "default"
    assert read == len(session.pusher.waiting) + 1 < 200
    assert session.pusher.push(request(3), 200, values()) == "default" and read < 200


def test_the_client_limits_promised_streams_that_respond() -> None:
    session = Session()
    session.wire.max_pushed = 1
    session.pusher.push(request(), 200, links(3))
    assert [stream.number for stream in session.begun] == [2]
    session.pusher.end()
    assert [stream.number for stream in session.begun] == [2, 4]
    assert session.pusher.forget(session.wire.streams[6])
    session.pusher.end()
    assert (len(session.begun), session.pusher.size, session.pusher.running) == (2, 0, 0)


def test_promised_streams_are_no_requests_of_the_client() -> None:
    session = Session()
    session.wire.open(request(3))
    session.pusher.push(request(), 200, links(5))
    assert (session.wire.requests, len(session.wire.streams)) == (1, 6)


def order(priorities: dict[str, str], link: str, media_type: str) -> tuple[bool, bool]:
    """Return whether parent and promised stream wait for the other."""
    session, parent = Session(priorities=priorities), request()
    session.pusher.push(parent, 200, [link])
    promised = session.wire.streams[2]
    session.pusher.order(promised, media_type)
    for stream in (parent, promised):
        stream.is_ready, stream.window = True, 1
    return parent.must_yield, promised.must_yield


def test_the_order_of_bodies() -> None:
    plain, critical = "</a>;rel=preload", "</a>;rel=preload;critical"
    assert order({}, plain, "text/css") == (False, True)
    assert order({}, critical, "text/css") == (True, False)
    assert order({"text/css": "before"}, plain, "text/css; charset=x") == (True, False)
    assert order({"text/css": "before"}, plain, "text/plain") == (False, True)
    assert order({"*": "interleaved"}, plain, "text/css") == (False, False)
    assert order({"*": "interleaved", "text/css": "after"}, plain, "text/css") == (False, True)


def test_a_leader_without_window_or_data_holds_nobody_up() -> None:
    leader, follower = request(), request(2)
    follower.follow(leader)
    leader.is_ready, leader.window = True, 5
    assert follower.must_yield
    leader.window = 0
    assert not follower.must_yield
    leader.window = 5
    loop = asyncio.new_event_loop()
    follower.leaders_rest = waiter = loop.create_future()
    leader.rest()
    assert waiter.done() and not follower.must_yield and follower.leaders_rest is None
    leader.is_ready = True
    leader.unlink()
    assert not follower.must_yield and follower.leaders == ()
    loop.close()
