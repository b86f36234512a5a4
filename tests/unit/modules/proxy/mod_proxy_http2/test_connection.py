"""Frames of HTTP/2 back ends, split anywhere."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from tests.support.http2_backend import goaway

from whimbrel.backends.connection import BackendConnection, ConnectionOwner
from whimbrel.modules.proxy.mod_proxy_http2.connection import MAX_UNSENT, MultiplexedConnection, StreamError

HEAD = [(b":method", b"GET"), (b":scheme", b"http"), (b":authority", b"a"), (b":path", b"/")]
ANSWER = [(":status", "200"), ("x-name", "value")]
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


def test_a_frame_that_is_too_long_ends_the_connection() -> None:
    async def main() -> None:
        connection, transport = connected()
        connection.data_received(peer_of(transport).data_to_send())
        stream = connection.begin_stream(HEAD, 5.0, ends=True)
        connection.data_received(b"\x00\x50\x00\x00\x00\x00\x00\x00\x01" + bytes(0x5000))
        assert stream.failure is not None
        assert transport.aborted

    asyncio.run(main())
