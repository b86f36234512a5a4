"""One stream of HTTP/2 as a transport: DATA frames in both directions under flow control, END_STREAM as the
end of each, RST_STREAM for `abort`.

Tunnels (CONNECT, WebSocket) use it like the transport of a socket. RFC 9113, 8.5; RFC 8441.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.http.http2.protocol import ErrorCode

if TYPE_CHECKING:
    from whimbrel.server.http2.connection import Http2Connection
    from whimbrel.server.http2.sender import Sender
    from whimbrel.server.http2.stream import Stream

HIGH: Final = 64 * 1024  # default bytes above which writing pauses


class StreamTransport(asyncio.Transport):
    """The transport of one stream.

    Attributes:
        is_blocked: bytes wait for the client, which has to open a window.
    """

    def __init__(
        self, session: Http2Connection, sender: Sender, stream: Stream, *, lost: Callable[[], object]
    ) -> None:
        """*lost* is called when the stream is over, after `connection_lost` of its protocol."""
        super().__init__()
        self._session = session
        self._sender = sender
        self._stream = stream
        self._lost = lost
        self._protocol: asyncio.BaseProtocol | None = None
        self._out = bytearray()  # not sent yet
        self._held: list[bytes] = []  # received while reading is paused; the stream's window limits it
        self._high = HIGH
        self._low = HIGH // 4
        self._is_paused = False
        self._is_writing_paused = False
        self._is_closing = False
        self._is_lost = False
        self._has_read_end = False
        self._has_write_end = False
        self._has_sent_end = False
        self.is_blocked = False

    # frames of the client -------------------------------------------------------------------------
    def receive(self, data: bytes, *, ended: bool) -> None:
        """Pass data of the client on."""
        if data:
            self._held.append(data)
        if ended:
            self._has_read_end = True
        self._deliver()

    def _deliver(self) -> None:
        protocol: Any = self._protocol
        if protocol is None:
            return
        while self._held and not self._is_paused and not self._is_lost:
            data = self._held.pop(0)
            if not self._is_closing:
                protocol.data_received(data)
            self._session.wire.consume(self._stream, len(data))
        if self._has_read_end and not self._held and not self._is_lost and not self._is_closing:
            self._has_read_end = False
            if not protocol.eof_received():
                self.close()
        self._finish()

    @property
    def held(self) -> int:
        """The number of bytes of the client that wait for the protocol."""
        return sum(map(len, self._held))

    def pump(self) -> None:
        """Send what the windows admit: one may have grown."""
        if self._is_lost:
            return
        session = self._session
        out = self._out
        at = 0
        while at < len(out):
            if session.is_full:
                session.flush()
                if session.is_full:
                    break
            size = self._sender.fits(self._stream, len(out) - at)
            if size <= 0:
                break
            self._sender.frame(self._stream, bytes(out[at : at + size]), end=False)
            at += size
        if at:
            del out[:at]
        self._set_blocked(blocked=bool(out))
        if self._is_writing_paused and len(out) <= self._low:
            self._is_writing_paused = False
            protocol: Any = self._protocol
            protocol.resume_writing()
        if not self._out and self._has_write_end and not self._has_sent_end:
            self._has_sent_end = True
            session.wire.send_data(self._stream, b"", end=True)
        self._finish()

    def _set_blocked(self, *, blocked: bool) -> None:
        if blocked is not self.is_blocked:
            self.is_blocked = blocked
            self._session.waiting += 1 if blocked else -1

    def _finish(self) -> None:
        """End the stream once both sides are done."""
        is_over = self._is_closing or (self._stream.ended and not self._held)
        if self._has_sent_end and is_over:
            self.detach(None)

    def detach(self, problem: Exception | None) -> None:
        """End the connection of the protocol: the stream is over."""
        if not self._is_lost:
            self._is_lost = True
            self._is_closing = True
            self._set_blocked(blocked=False)
            self._out.clear()
            self._session.wire.consume(self._stream, self.held)
            self._held.clear()
            self._session.service.loop.call_soon(self._end, problem)

    def _end(self, problem: Exception | None) -> None:
        protocol, self._protocol = self._protocol, None
        if protocol is not None:
            protocol.connection_lost(problem)
        self._lost()

    # the transport --------------------------------------------------------------------------------
    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._protocol = protocol

    def get_protocol(self) -> asyncio.BaseProtocol:
        assert self._protocol is not None
        return self._protocol

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return not self._is_paused and not self._is_closing

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        if self._is_paused:
            self._is_paused = False
            self._deliver()
            self._session.flush()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high = HIGH if high is None else high
        self._low = self._high // 4 if low is None else low

    def get_write_buffer_size(self) -> int:
        return len(self._out)

    def get_write_buffer_limits(self) -> tuple[int, int]:
        return self._low, self._high

    def write(self, data: bytes | bytearray | memoryview[Any]) -> None:
        if not data or self._is_closing or self._has_write_end:
            return
        self._out += data
        self.pump()
        self._session.flush()
        if len(self._out) > self._high and not self._is_writing_paused:
            self._is_writing_paused = True
            protocol: Any = self._protocol
            protocol.pause_writing()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self._has_write_end = True
        self.pump()
        self._session.flush()

    def close(self) -> None:
        """End the stream after what waits to be sent."""
        if not self._is_closing:
            self._is_closing = True
            self.write_eof()

    def abort(self) -> None:
        """Reset the stream."""
        if not self._is_lost:
            if not self._stream.gone:
                self._stream.gone = True
                self._session.wire.reset(self._stream.number, ErrorCode.CANCEL)
                self._session.flush()
            self.detach(None)
