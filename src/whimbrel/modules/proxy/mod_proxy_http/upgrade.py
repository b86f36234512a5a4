"""Switching protocols: which ones a worker passes on, and the tunnel behind a 101 answer."""

from __future__ import annotations

import asyncio
from typing import Final

from whimbrel.backends.connection import BackendConnection
from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.http.http1.response import interim_bytes
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.fields import has_token
from whimbrel.http.syntax.head import HTTP_1_1
from whimbrel.modules.proxy.mod_proxy.model import ProxyWorker
from whimbrel.modules.proxy.mod_proxy.tunnels import TunnelOrigin, begin_tunnel

_WEBSOCKET: Final = "websocket"


def may_upgrade(worker: ProxyWorker, wanted: str, url: str) -> bool:
    """Return True if *wanted* is among the worker's ``upgrade=`` protocols, or WebSocket for ws URLs
    (ap_proxy_worker_can_upgrade).
    """
    known, wanted = worker.parameters.upgrade, lower(wanted)
    if known:
        return known == "*" or lower(known) == wanted or has_token(known, wanted)
    return url[:2] == "ws" and wanted == _WEBSOCKET


def switch(
    r: Request, backend: BackendConnection, fields: Headers, reason: str | None, timeout: float
) -> None:
    """Let a tunnel to *backend* take the client's connection over, after a 101 response with *fields* and
    *reason*; a client of HTTP/1.0 gets no interim response (ap_send_interim_response).
    """
    r.status = 101
    r.status_line = None
    r.headers_out = fields
    head = interim_bytes(101, fields.items(), reason) if r.proto >= HTTP_1_1 else b""
    begin_tunnel(r, UpgradedOrigin(backend), head, timeout=timeout)


class UpgradedOrigin(TunnelOrigin):
    """The connection of a pool that has switched protocols; it counts as open until the tunnel ends."""

    __slots__ = ("_backend", "transport")

    def __init__(self, backend: BackendConnection) -> None:
        self._backend = backend
        self.transport = backend.transport

    def hand_over(self, protocol: asyncio.Protocol) -> bytes:
        if self._backend.is_closed:  # right behind its answer
            asyncio.get_running_loop().call_soon(protocol.connection_lost, None)
        return self._backend.hand_over(protocol)

    def abandon(self) -> None:
        self._backend.close()
        self._backend.finish()

    def lost(self) -> None:
        self._backend.connection_lost(None)
