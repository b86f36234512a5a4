"""Frames of HTTP/2 back ends, split anywhere."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from h2.config import H2Configuration
from h2.connection import H2Connection
from tests.support.http2_backend import goaway

from whimbrel.backends.connection import BackendConnection, ConnectionOwner
from whimbrel.http.client.response_reader import MAX_INTERIM
from whimbrel.modules.proxy.mod_proxy_http2.connection import (
    MAX_IDLE_FRAMES,
    MAX_UNSENT,
    BackendStream,
    MultiplexedConnection,
    StreamError,
)

HEAD = [(b":method", b"GET"), (b":scheme", b"http"), (b":authority", b"a"), (b":path", b"/")]
ANSWER = [(":status", "200"), ("x-name", "value")]
SETTINGS_FRAME = b"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x64"
PING = b"\x00\x00\x08\x06\x00\x00\x00\x00\x00" + bytes(8)


class Transport(asyncio.Transport):
    """What was written, which a peer that reads nothing leaves in the buffer."""

    def __init__(self) -> None:
        self.written = b""
        self.aborted = False

    def write(self, data: Any) -> None:
        self.written += data

    def get_write_buffer_size(self) -> int:
        return len(self.written)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted = True


class Owner(ConnectionOwner):
    """A pool that keeps nothing."""

    def release(self, connection: BackendConnection) -> None:
        pass

    def lost(self, connection: BackendConnection) -> None:
        pass


def connected() -> tuple[MultiplexedConnection, Transport]:
    connection, transport = MultiplexedConnection(Owner()), Transport()
    connection.connection_made(transport)
    return connection, transport


def peer_of(transport: Transport) -> H2Connection:
    """Return the state of a back end that has read everything."""
    peer = H2Connection(H2Configuration(client_side=False))
    peer.initiate_connection()
    peer.receive_data(transport.written)
    return peer


@pytest.mark.parametrize("size", [1, 7, 8, 9, 10, 1000])
def test_an_answer_split_anywhere(size: int) -> None:
    async def main() -> None:
        connection, transport = connected()
        stream = connection.begin_stream(HEAD, 5.0, ends=True)
        peer = peer_of(transport)
        peer.send_headers(1, ANSWER)
        peer.send_data(1, b"body")
        data = peer.data_to_send() + goaway(1)
        peer.send_data(1, b" end", end_stream=True)
        data += peer.data_to_send()
        for at in range(0, len(data), size):
            connection.data_received(data[at : at + size])
        assert stream.done
        assert stream.take() == b"body end"
        assert stream.head is not None
        assert list(stream.head.fields.entries().values()) == [("X-Name", "value")]
        assert connection.is_draining
        assert transport.aborted

    asyncio.run(main())


def test_goaway_leaves_later_streams_untouched() -> None:
    async def main() -> None:
        connection, transport = connected()
        connection.data_received(peer_of(transport).data_to_send())
        first, second = (connection.begin_stream(HEAD, 5.0, ends=True) for _ in range(2))
        connection.data_received(goaway(1))
        assert first.failure is None
        assert isinstance(second.failure, StreamError)
        assert second.failure.is_untouched
        assert not transport.aborted
        connection.connection_lost(None)
        assert first.failure is not None
        assert first.failure.is_lost

    asyncio.run(main())


def test_frames_that_the_back_end_does_not_read_are_bounded() -> None:
    async def main() -> None:
        connection, transport = connected()
        connection.data_received(peer_of(transport).data_to_send())
        for _ in range(MAX_UNSENT // 1000):
            connection.data_received(PING * 100)
        assert transport.aborted
        assert len(transport.written) < MAX_UNSENT + 10_000

    asyncio.run(main())


@pytest.mark.parametrize(
    "header",
    [
        b"\xff\xff\xff\x00\x00\x00\x00\x00\x01",
        b"\x00\x40\x01\x00\x00\x00\x00\x00\x01",
        b"HTTP/1.1 ",
        b"220 mail ",
    ],
)
def test_a_frame_that_is_too_long_is_not_awaited(header: bytes) -> None:
    async def main() -> None:
        connection, transport = connected()
        stream = connection.begin_stream(HEAD, 5.0, ends=True)
        connection.data_received(header)
        assert isinstance(stream.failure, StreamError)
        assert stream.failure.status == 503
        assert transport.aborted
        assert connection.is_draining

    asyncio.run(main())


@pytest.mark.parametrize("first", [PING, b"\x00\x00\x00\x04\x01\x00\x00\x00\x00"])
def test_the_first_frame_is_settings(first: bytes) -> None:
    async def main() -> None:
        connection, transport = connected()
        connection.data_received(first)
        assert transport.aborted

    asyncio.run(main())


@pytest.mark.parametrize(
    "frame",
    [
        b"\x00\x00\x04\x03\x00\x00\x00\x00\x03" + bytes(4),
        b"\x00\x00\x01\x01\x05\x00\x00\x00\x02\x88",
        b"\x00\x00\x08\x07\x00\x00\x00\x00\x01" + bytes(8),
    ],
)
def test_frames_of_streams_that_no_request_has_begun(frame: bytes) -> None:
    async def main() -> None:
        connection, transport = connected()
        connection.data_received(peer_of(transport).data_to_send())
        stream = connection.begin_stream(HEAD, 5.0, ends=True)
        connection.data_received(frame)
        assert stream.failure is not None
        assert transport.aborted

    asyncio.run(main())


def test_requests_beside_a_broken_one_may_be_repeated() -> None:
    async def main() -> None:
        connection, transport = connected()
        connection.data_received(peer_of(transport).data_to_send())
        streams = [connection.begin_stream(HEAD, 5.0, ends=True) for _ in range(2)]
        connection.data_received(b"\xff" * 9)
        for stream in streams:
            assert isinstance(stream.failure, StreamError)
            assert stream.failure.is_lost
        connection, transport = connected()
        stream = connection.begin_stream(HEAD, 5.0, ends=True)
        connection.data_received(b"\xff" * 9)
        assert isinstance(stream.failure, StreamError)
        assert not stream.failure.is_lost

    asyncio.run(main())


def test_frames_before_a_bad_one_count() -> None:
    async def main() -> None:
        connection, transport = connected()
        stream = connection.begin_stream(HEAD, 5.0, ends=True)
        peer = peer_of(transport)
        peer.send_headers(1, ANSWER)
        peer.send_data(1, b"body", end_stream=True)
        connection.data_received(peer.data_to_send() + b"\xff" * 20)
        assert stream.done
        assert stream.take() == b"body"
        assert transport.aborted

    asyncio.run(main())


def test_frames_that_bring_no_answer_forward_are_bounded() -> None:
    async def main() -> None:
        connection, transport = connected()
        connection.data_received(peer_of(transport).data_to_send())
        stream = connection.begin_stream(HEAD, 5.0, ends=True)
        connection.data_received(PING * (MAX_IDLE_FRAMES - 1))
        assert stream.failure is None
        connection.data_received(PING * 2)
        assert stream.failure is not None
        assert transport.aborted

    asyncio.run(main())


OF_STREAM = struct.pack(">I", 1)


@pytest.mark.parametrize(
    ("frame", "is_bounded"),
    [
        (b"\0\0\x01\0\0" + OF_STREAM + b"x", False),  # DATA
        (b"\0\0\0\0\0" + OF_STREAM, True),  # DATA without content
        (b"\0\0\x04\x08\0" + OF_STREAM + struct.pack(">I", 1), True),  # WINDOW_UPDATE
    ],
)
def test_content_brings_an_answer_forward(frame: bytes, is_bounded: bool) -> None:
    async def main() -> None:
        connection, transport = connected()
        stream = connection.begin_stream(HEAD, 5.0, ends=True)
        peer = peer_of(transport)
        peer.send_headers(1, ANSWER)
        connection.data_received(peer.data_to_send() + frame * (MAX_IDLE_FRAMES + 5))
        assert (stream.failure is not None) is transport.aborted is is_bounded

    asyncio.run(main())


def test_interim_heads_of_one_read_are_bounded() -> None:
    async def main() -> None:
        connection, transport = connected()
        stream = connection.begin_stream(HEAD, 5.0, ends=True)
        peer = peer_of(transport)
        peer.send_headers(1, [(":status", "103")])
        data = peer.data_to_send()
        one = b"\x00\x00\x05\x01\x04\x00\x00\x00\x01\x08\x03103"
        connection.data_received(data + one * (MAX_INTERIM + 5))
        assert isinstance(stream.failure, StreamError)
        assert stream.failure.status == 502
        assert len(stream.interim) == MAX_INTERIM + 1
        assert not transport.aborted
        connection.data_received(one * MAX_IDLE_FRAMES)
        assert transport.aborted

    asyncio.run(main())


def test_a_silent_connection_gets_no_further_stream() -> None:
    """Frames that are none of the stream give the back end no more time."""

    async def main() -> None:
        connection, transport = connected()
        connection.data_received(peer_of(transport).data_to_send())
        stream = connection.begin_stream(HEAD, 0.05, ends=True)
        waiting = asyncio.get_running_loop().create_task(until_it_ends(stream))
        while not waiting.done():
            connection.data_received(PING + SETTINGS_FRAME)
            await asyncio.sleep(0.005)
        assert isinstance(stream.failure, StreamError)
        assert connection.is_draining
        assert transport.aborted

    asyncio.run(main())


async def until_it_ends(stream: BackendStream) -> None:
    while stream.failure is None and not stream.done:
        await stream.changed()


@pytest.mark.parametrize("is_together", [True, False])
def test_an_upload_that_is_answered_and_reset(is_together: bool) -> None:
    """RFC 9113, 8.1: a complete answer, then RST_STREAM with NO_ERROR."""

    async def main() -> None:
        connection, transport = connected()
        stream = connection.begin_stream(HEAD, 5.0, ends=False)
        sending = asyncio.get_running_loop().create_task(stream.send(bytes(100_000), ends=True))
        await asyncio.sleep(0)
        peer = peer_of(transport)
        peer.send_headers(1, [(":status", "413")], end_stream=True)
        answer = peer.data_to_send()
        peer.reset_stream(1, 0)
        for data in [answer + peer.data_to_send()] if is_together else [answer, peer.data_to_send()]:
            connection.data_received(data)
        assert await sending is False
        assert stream.done
        stream.cancel()
        assert not await stream.send(b"more", ends=True)
        assert not transport.aborted

    asyncio.run(main())


def test_one_malformed_answer_leaves_the_others() -> None:
    async def main() -> None:
        connection, transport = connected()
        connection.data_received(peer_of(transport).data_to_send())
        first, second = (connection.begin_stream(HEAD, 5.0, ends=True) for _ in range(2))
        peer = peer_of(transport)
        peer.data_to_send()
        peer.send_headers(1, [(":status", "200"), ("content-length", "2x")], end_stream=False)
        peer.send_headers(3, ANSWER, end_stream=True)
        connection.data_received(peer.data_to_send())
        assert isinstance(first.failure, StreamError)
        assert first.failure.status == 502
        assert second.done
        assert not transport.aborted

    asyncio.run(main())


@pytest.mark.parametrize(
    ("method", "status", "body", "is_good"),
    [
        (b"GET", "200", b"abc", True),
        (b"GET", "200", b"ab", False),
        (b"GET", "200", b"abcd", False),
        (b"HEAD", "200", b"", True),
        (b"GET", "304", b"", True),
    ],
)
def test_bodies_are_as_long_as_announced(method: bytes, status: str, body: bytes, is_good: bool) -> None:
    async def main() -> None:
        connection, transport = connected()
        stream = connection.begin_stream([(b":method", method), *HEAD[1:]], 5.0, ends=True)
        peer = peer_of(transport)
        peer.send_headers(1, [(":status", status), ("content-length", "3")], end_stream=not body)
        if body:
            peer.send_data(1, body, end_stream=True)
        connection.data_received(peer.data_to_send())
        assert stream.done is is_good
        assert (stream.failure is None) is is_good
        assert not transport.aborted

    asyncio.run(main())
