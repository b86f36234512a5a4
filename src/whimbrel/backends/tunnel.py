"""Tunnels: two transports joined, for CONNECT, WebSocket and other upgraded connections.

Each side is read no faster than the other one writes. The end of one side's input ends the other's output;
the tunnel ends with both, with a failure, or when no byte came from either side for some time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

WRITE_AHEAD: Final = 64 * 1024  # bytes that one side has not taken
FOREVER: Final = float("inf")
LINGER: Final = 30.0  # seconds in which a closed side takes its last bytes


def _forget(_tunnel: Tunnel) -> None:
    """Take the place of the function that was called at the end."""


class TunnelEnd(asyncio.Protocol):
    """The protocol of one side of a tunnel.

    Attributes:
        count: bytes written to this side. `received`: bytes read from it.
    """

    __slots__ = ("_has_ended", "_tunnel", "count", "is_lost", "received", "transport")

    def __init__(self, tunnel: Tunnel, transport: asyncio.Transport) -> None:
        self._tunnel = tunnel
        self.transport = transport
        self.count = 0
        self.received = 0
        self._has_ended = False
        self.is_lost = False
        transport.set_write_buffer_limits(high=WRITE_AHEAD)

    @property
    def other(self) -> TunnelEnd:
        """Return the other side."""
        tunnel = self._tunnel
        return tunnel.backend if self is tunnel.client else tunnel.client

    @property
    def has_ended(self) -> bool:
        """Return True if no more input comes from this side."""
        return self._has_ended

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        self._tunnel.touch()
        self.other.send(data)

    def send(self, data: bytes) -> None:
        """Write *data* to this side."""
        if not self.transport.is_closing():
            self.count += len(data)
            self.transport.write(data)

    def eof_received(self) -> bool:
        self._has_ended = True
        other = self.other
        if other.has_ended or not self._tunnel.is_half_closing:
            self._tunnel.close()
        elif not other.transport.is_closing():
            if other.transport.can_write_eof():
                other.transport.write_eof()
            else:
                self._tunnel.close()
        return (
            self.transport.get_extra_info("sslcontext") is None
        )  # the library's TLS ends in both directions

    def pause_writing(self) -> None:
        other = self.other
        if not other.transport.is_closing():
            other.transport.pause_reading()

    def resume_writing(self) -> None:
        other = self.other
        if not other.transport.is_closing():
            other.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.is_lost:
            self.is_lost = True
            self._tunnel.lost(self)


class Tunnel:
    """Two transports joined.

    Attributes:
        client, backend: the two sides.
        is_half_closing: the end of one side's input ends the other's output alone, not the tunnel.
        has_expired: the time limit has ended the tunnel.
    """

    __slots__ = (
        "_closed",
        "_deadline",
        "_is_closing",
        "_loop",
        "_timeout",
        "_timer",
        "backend",
        "client",
        "has_expired",
        "is_half_closing",
    )

    def __init__(
        self,
        client: asyncio.Transport,
        backend: asyncio.Transport,
        *,
        timeout: float,
        closed: Callable[[Tunnel], object],
        is_half_closing: bool = True,
    ) -> None:
        """Join two transports, whose protocols become `client` and `backend`; *closed* is called once, when
        both are closed. A tunnel without traffic ends after *timeout* seconds.
        """
        self._loop = asyncio.get_running_loop()
        self._timeout = timeout
        self._closed = closed
        self.is_half_closing = is_half_closing
        self.has_expired = False
        self._is_closing = False
        self.client, self.backend = TunnelEnd(self, client), TunnelEnd(self, backend)
        self._deadline = self._loop.time() + timeout
        self._timer: asyncio.TimerHandle | None = None
        if timeout != FOREVER:
            self._timer = self._loop.call_at(self._deadline, self._expire)

    def touch(self) -> None:
        """Note that bytes have passed."""
        self._deadline = self._loop.time() + self._timeout

    def _expire(self) -> None:
        if self._loop.time() < self._deadline:
            self._timer = self._loop.call_at(self._deadline, self._expire)
            return
        self._timer = None
        if self.client.transport.is_closing() and self.backend.transport.is_closing():
            self.abort()
        else:
            self.has_expired = True
            self.close()

    def close(self) -> None:
        """Close both sides once their output is written, at the latest after `LINGER` seconds without any."""
        for end in (self.client, self.backend):
            if not end.transport.is_closing():
                end.transport.close()
        if self._is_closing or (self.client.is_lost and self.backend.is_lost):
            return
        self._is_closing, self._timeout = True, min(self._timeout, LINGER)
        if self._timer is not None:
            self._timer.cancel()
        self.touch()
        self._timer = self._loop.call_at(self._deadline, self._expire)

    def abort(self) -> None:
        """Close both sides at once."""
        for end in (self.client, self.backend):
            end.transport.abort()

    def lost(self, end: TunnelEnd) -> None:
        """One side is closed: so is the other, after its output."""
        if not end.other.is_lost:
            self.close()
            return
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        closed = self._closed
        self._closed = _forget  # the request: both sides refer to the tunnel, in a cycle
        closed(self)
