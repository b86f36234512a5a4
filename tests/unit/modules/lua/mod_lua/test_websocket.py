"""Frames of WebSocket connections of scripts (RFC 6455)."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from whimbrel.modules.lua.mod_lua import websocket
from whimbrel.modules.lua.mod_lua.arguments import CallArguments


class FakeTransport(asyncio.Transport):
    """A transport that records."""

    def __init__(self) -> None:
        super().__init__()
        self.is_paused = self.is_closed = False
        self.sent = b""

    def write(self, data: Any) -> None:
        self.sent += data

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False


class FakeApi:
    """The part of a request that frames need."""

    def __init__(self) -> None:
        self.transport = FakeTransport()
        self.is_abandoned = False
        self.socket = websocket.SocketProtocol(
            self.transport,
            lambda sent, received: None,
            self,  # type: ignore[arg-type]
            0.05,
        )

    def post(self, work: Any) -> None:
        work()

    def abandon(self) -> None:
        self.is_abandoned = True

    def log(self, *words: str) -> None:
        """Log nothing."""


def read(api: FakeApi) -> Any:
    return websocket.read(api, CallArguments("wsread", ()))  # type: ignore[arg-type]


def test_masked_frames_of_all_lengths() -> None:
    api = FakeApi()
    api.socket.data_received(bytes.fromhex("818537fa213d7f9f4d5158"))  # RFC 6455, 5.7: a masked "Hello"
    assert read(api) == ("Hello", True)
    api.socket.data_received(b"\x01\x03Hel\x80\x02lo")
    assert read(api) == ("Hel", False) and read(api) == ("lo", True)
    api.socket.data_received(
        b"\x82\x7e\x01\x00" + b"x" * 256 + b"\x82\x7f" + (65536).to_bytes(8, "big") + b"y" * 65536
    )
    assert read(api) == ("x" * 256, True) and read(api) == ("y" * 65536, True)


def test_control_frames() -> None:
    api = FakeApi()
    api.socket.data_received(b"\x89\x05Hello" + b"\x8a\x00" + b"\x81\x01x" + b"\x88\x00")
    assert read(api) == ("x", True) and api.transport.sent == b"\x8a\x05Hello"
    assert read(api) == ()


def test_bounds_of_input() -> None:
    api = FakeApi()
    api.socket.data_received(b"\x81\x7f" + (2**40).to_bytes(8, "big"))
    assert read(api) == () and api.transport.is_closed
    api = FakeApi()
    api.socket.data_received(b"\x00" * (websocket.MAX_INPUT + 1))
    assert api.transport.is_paused


@pytest.mark.parametrize("size", [0, 125, 126, 65535, 65536])
def test_frames_of_the_server_are_read_back(size: int) -> None:
    api = FakeApi()
    websocket.write(api, CallArguments("wswrite", ("z" * size,)))  # type: ignore[arg-type]
    other = FakeApi()
    other.socket.data_received(api.transport.sent)
    assert read(other) == ("z" * size, True)


def test_the_end_of_the_connection() -> None:
    api = FakeApi()
    api.socket.data_received(b"\x81\x05He")
    api.socket.connection_lost(None)
    assert read(api) == ()


def test_a_frame_beyond_the_bound_of_unread_bytes_arrives_whole() -> None:
    api = FakeApi()
    size = 2 * websocket.MAX_INPUT

    def client() -> None:
        for at in range(0, size, 65536):
            while api.transport.is_paused:
                time.sleep(0.001)
            api.socket.data_received(b"z" * min(65536, size - at))

    api.socket.data_received(b"\x82\x7f" + size.to_bytes(8, "big"))
    sender = threading.Thread(target=client, daemon=True)
    sender.start()
    text, is_last = read(api)
    assert len(text) == size and is_last
    sender.join(5)


def test_a_silent_client_and_one_that_takes_nothing_end_the_wait() -> None:
    api = FakeApi()
    api.socket.data_received(b"\x81\x05ab")
    assert read(api) == ()
    api.socket.pause_writing()
    assert websocket.write(api, CallArguments("wswrite", ("text",))) is False  # type: ignore[arg-type]
    api.socket.resume_writing()
    assert websocket.write(api, CallArguments("wswrite", ("text",))) is True  # type: ignore[arg-type]
    assert api.transport.sent == b"\x81\x04text"
    api.socket.connection_lost(None)
    assert api.is_abandoned
