"""WebSocket connections of scripts: r:wsupgrade and its relatives (lua_request.c; RFC 6455)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import struct
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.connection import TakeoverEnd
from whimbrel.modules.lua.mod_lua.arguments import CallArguments
from whimbrel.modules.lua.mod_lua.text_functions import NOTHING

if TYPE_CHECKING:
    from whimbrel.modules.lua.mod_lua.request_api import RequestApi

MAX_INPUT: Final = 1024 * 1024  # bytes that no script waits for, after which reading stops
MAX_QUEUED: Final = 1024 * 1024  # bytes that the event loop has yet to write, after which a script waits
MAX_START: Final = 60.0  # seconds until the head of the response must be out
MAX_FRAME: Final = 16 * 1024 * 1024  # bytes of one frame; a longer one ends the connection
_KEY: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT = 1
CLOSE = 8
PING = 9
PONG = 10


class SocketProtocol(asyncio.Protocol):
    """The client's connection after the upgrade, read by the thread of a script.

    A client has *timeout* seconds for the bytes that the script waits for.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        ended: TakeoverEnd,
        api: RequestApi,
        timeout: float,
    ) -> None:
        self.transport = transport
        self._on_end = ended
        self._api = api
        self._timeout = timeout
        self._wanted = 0
        self._queued = 0
        self._is_paused = False
        self._is_full = False
        self._data = bytearray()
        self._changed = threading.Condition()
        self.is_lost = False
        self._sent = 0
        self._received = 0

    # in the event loop ----------------------------------------------------------------------------
    def data_received(self, data: bytes) -> None:
        with self._changed:
            self._data += data
            self._received += len(data)
            if len(self._data) > max(MAX_INPUT, self._wanted) and not self._is_paused:
                self._is_paused = True
                self.transport.pause_reading()
            if len(self._data) >= self._wanted:
                self._changed.notify_all()

    def pause_writing(self) -> None:
        self._is_full = True

    def resume_writing(self) -> None:
        with self._changed:
            self._is_full = False
            self._changed.notify_all()

    def _resume(self) -> None:
        with self._changed:
            if self._is_paused and len(self._data) <= max(MAX_INPUT, self._wanted):
                self._is_paused = False
                if not self.transport.is_closing():
                    self.transport.resume_reading()

    def eof_received(self) -> bool:
        self._lose()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose()
        end, self._on_end = self._on_end, _ignore
        end(self._sent, self._received)

    def _lose(self) -> None:
        with self._changed:
            self.is_lost = True
            self._changed.notify_all()
        self._api.abandon()

    def send(self, data: bytes) -> None:
        """Write bytes to the client."""
        if not self.transport.is_closing():
            self._sent += len(data)
            self.transport.write(data)
        with self._changed:
            self._queued -= len(data)
            self._changed.notify_all()

    # in the thread of the script --------------------------------------------------------------------
    def wait_for(self, count: int) -> bytes | None:
        """Return the next *count* bytes; None if the connection ends, or is silent too long, before."""
        with self._changed:
            self._wanted = count
            while len(self._data) < count and not self.is_lost:
                received = self._received
                if self._is_paused:
                    self._api.post(self._resume)
                is_ready = self._changed.wait_for(
                    lambda: len(self._data) >= count or self.is_lost, self._timeout
                )
                if not is_ready and received == self._received:
                    break
            self._wanted = 0
            if len(self._data) < count:
                return None
            data = bytes(self._data[:count])
            del self._data[:count]
            if self._is_paused:
                self._api.post(self._resume)
        return data

    def post(self, data: bytes) -> bool:
        """Let the loop send *data* once the client is near; False if it takes nothing or has gone."""
        with self._changed:
            self._changed.wait_for(self._has_room, self._timeout)
            if self.is_lost or not self._has_room():
                return False
            self._queued += len(data)
        self._api.post(lambda: self.send(data))
        return True

    def _has_room(self) -> bool:
        return self.is_lost or not (self._is_full or self._queued > MAX_QUEUED)

    def has_data(self) -> bool:
        """Return True if bytes wait."""
        return bool(self._data)


def _ignore(_sent: int, _received: int) -> None:
    """The end was reported."""


def upgrade(api: RequestApi, _words: CallArguments) -> Any:
    """Answer 101 and take the connection over; nothing if the client did not ask for it."""
    r = api.r
    key = r.headers_in.get("Sec-WebSocket-Key")
    can = api.output is not None and not r.connection.is_http2 and r.main is None
    if key is None or not can:
        api.log("notice", "Websocket: Upgrade from HTTP to Websocket failed", "AH02666")
        return NOTHING
    api.log("debug", f"Websocket: Got websocket key: {key}", "AH03011")
    accept = base64.b64encode(hashlib.sha1(to_bytes(key) + _KEY, usedforsecurity=False).digest())
    has_begun = threading.Event()

    def take_over(transport: asyncio.Transport, ended: TakeoverEnd) -> asyncio.Protocol:
        timeout = r.server_conf(CoreServerConfig).timeout
        api.socket = SocketProtocol(transport, ended, api, timeout)
        has_begun.set()
        return api.socket

    def begin() -> None:
        r.status = 101
        for name, value in (
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", accept.decode("latin-1")),
        ):
            r.headers_out.set(name, value)
        r.takeover = take_over
        assert api.output is not None
        api.output.hand_over()

    api.post(begin)
    if not has_begun.wait(timeout=MAX_START):
        return NOTHING
    api.log("debug", "Websocket: Upgraded from HTTP to Websocket", "AH03012")
    return True


def _frame(opcode: int, data: bytes) -> bytes:
    size = len(data)
    if size < 126:
        return bytes((0x80 | opcode, size)) + data
    if size < 65536:
        return bytes((0x80 | opcode, 126)) + struct.pack("!H", size) + data
    return bytes((0x80 | opcode, 127)) + struct.pack("!Q", size) + data


def read(api: RequestApi, _words: CallArguments) -> Any:
    """Return the next frame and whether it ends its message; nothing at the end of the connection."""
    socket = api.socket
    while socket is not None:
        head = socket.wait_for(2)
        if head is None:
            return NOTHING
        opcode = head[0] & 15
        size = head[1] & 127
        if size > 125:
            more = socket.wait_for(2 if size == 126 else 8)
            if more is None:
                return NOTHING
            size = int.from_bytes(more, "big")
        if size > MAX_FRAME:
            api.post(socket.transport.close)
            return NOTHING
        mask = socket.wait_for(4) if head[1] & 128 else b""
        data = socket.wait_for(size)
        if data is None or mask is None:
            return NOTHING
        data = _unmasked(data, mask)
        if opcode == PONG:
            api.log("debug", f"Websocket: Got PONG opcode: {opcode:x}", "AH03015")
        elif opcode == PING:
            _send(api, PONG, data)
        elif opcode == CLOSE:
            return NOTHING
        else:
            return to_text(data), bool(head[0] & 128)
    return NOTHING


def _unmasked(data: bytes, mask: bytes) -> bytes:
    if not mask or not data:
        return data
    repeated = (mask * (len(data) // 4 + 1))[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(data), "big")


def _send(api: RequestApi, opcode: int, data: bytes) -> bool:
    socket = api.socket
    return socket is not None and socket.post(_frame(opcode, data))


def write(api: RequestApi, words: CallArguments) -> bool:
    """Send a text frame."""
    return _send(api, TEXT, to_bytes(words.text(1)))


def ping(api: RequestApi, _words: CallArguments) -> bool:
    """Send a ping."""
    return _send(api, PING, b"")


def peek(api: RequestApi, _words: CallArguments) -> bool:
    """Return True if the client has sent something."""
    return api.socket is not None and api.socket.has_data()


def close(api: RequestApi, _words: CallArguments) -> Any:
    """End the connection; the close frame of httpd stays in its buffers, so a client gets none."""
    socket = api.socket
    if socket is not None:
        api.post(socket.transport.close)
    return NOTHING


WEBSOCKET: Final[dict[str, Callable[[RequestApi, CallArguments], Any]]] = {
    "wsupgrade": upgrade,
    "wsread": read,
    "wspeek": peek,
    "wswrite": write,
    "wsping": ping,
    "wsclose": close,
}
