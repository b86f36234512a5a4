"""Tunnels of requests: a client's connection is joined with one to a back end (ap_proxy_tunnel_run)."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final, cast

from whimbrel.backends.tunnel import Tunnel
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.engine.connection import TakeoverEnd
from whimbrel.engine.request import Request

NO_HALF_CLOSE: Final = "proxy-nohalfclose"  # variable: the end of one side's input ends the tunnel


class TunnelOrigin(ABC):
    """The connection to a back end that a request hands to a tunnel."""

    __slots__ = ()
    transport: asyncio.Transport

    @abstractmethod
    def hand_over(self, protocol: asyncio.Protocol) -> bytes:
        """Let *protocol* use the transport; return the bytes that the back end has sent so far."""

    def abandon(self) -> None:
        """Close the connection: the client went away before the tunnel began."""
        self.transport.abort()

    def lost(self) -> object:
        """Account for the end of the connection."""
        return None


class PlainOrigin(TunnelOrigin, asyncio.Protocol):
    """A connection that no request has used; at most one read of its bytes waits for the tunnel."""

    __slots__ = ("_early", "_has_ended", "_is_lost", "transport")

    def __init__(self) -> None:
        self._early = b""
        self._has_ended = False
        self._is_lost = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        self._early += data
        self.transport.pause_reading()

    def eof_received(self) -> bool:
        self._has_ended = True
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True

    def hand_over(self, protocol: asyncio.Protocol) -> bytes:
        soon = asyncio.get_running_loop().call_soon
        if self._is_lost:
            soon(protocol.connection_lost, None)
        else:
            self.transport.set_protocol(protocol)
            self.transport.resume_reading()
            if self._has_ended:
                soon(protocol.eof_received)
        early, self._early = self._early, b""
        return early


@dataclass(slots=True, eq=False)
class TunnelStart:
    """The takeover of a request: closes the back end's connection if the client goes away before the tunnel
    is there. It has no closures, as thousands of idle tunnels may be open.
    """

    _r: Request
    _origin: TunnelOrigin
    _head: bytes
    _timeout: float
    _is_half_closing: bool
    _closed: Callable[[Tunnel], object] | None
    _ended: TakeoverEnd | None = field(init=False, default=None)

    def __call__(self, client: asyncio.Transport, ended: TakeoverEnd) -> asyncio.Protocol:
        """Join *client* with the back end; see Takeover."""
        r = self._r
        origin = self._origin
        self._ended = ended
        tunnel = Tunnel(
            client,
            origin.transport,
            timeout=self._timeout,
            closed=self._on_closed,
            is_half_closing=self._is_half_closing and NO_HALF_CLOSE not in r.env,
        )
        early = b"" if r.body_in.is_filtered else r.body_in.take_buffered()
        rest = origin.hand_over(tunnel.backend)
        if not r.connection.is_http2:  # whose head is a frame, which the protocol sends
            rest = self._head + rest
        if rest:
            tunnel.client.send(rest)
        if early:
            tunnel.backend.send(early)
        self._head = b""
        r.takeover = None
        r.connection.open_sources.discard(self)
        return tunnel.client

    def _on_closed(self, tunnel: Tunnel) -> None:
        self._origin.lost()
        if self._closed is not None:
            self._closed(tunnel)
        if self._ended is not None:
            self._ended(tunnel.client.count, tunnel.client.received)

    async def aclose(self) -> None:
        """Close the connection to the back end."""
        self._origin.abandon()


def begin_tunnel(
    r: Request,
    origin: TunnelOrigin,
    head: bytes,
    *,
    timeout: float,
    is_half_closing: bool = True,
    closed: Callable[[Tunnel], object] | None = None,
) -> None:
    """Make the response to *r* a tunnel to *origin*, which begins with *head*.

    *timeout*: seconds without traffic after which it ends. *closed* is called before the request is logged.
    """
    start = TunnelStart(r, origin, head, timeout, is_half_closing, closed)
    r.connection.open_sources.add(start)
    r.assbackwards = True
    r.body = []
    r.output_filters = []
    r.takeover = start
