"""The client's socket, sent to another process by SCM_RIGHTS (mod_proxy_fdpass)."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import Final

from whimbrel.base.errors import apr_error
from whimbrel.base.latin1 import to_bytes
from whimbrel.engine.connection import TakeoverEnd
from whimbrel.engine.identity import server_tokens
from whimbrel.http.client.answer import TIMEOUT
from whimbrel.http.semantics.dates import format_http
from whimbrel.modules.proxy.mod_proxy.scheme import ProxyCall
from whimbrel.modules.proxy.mod_proxy.tunnels import PlainOrigin
from whimbrel.registry.phases import DONE, HookStatus

FLUSH: Final = 0.001  # seconds between looks at what the kernel has not taken


class SocketSender(asyncio.Protocol):
    """Sends the client's socket through a connected Unix socket, and closes its own copy."""

    def __init__(self, call: ProxyCall, origin: PlainOrigin, module: str) -> None:
        self._r = call.r
        self._origin = origin
        self._module = module
        self._ended: TakeoverEnd | None = None
        self._size = 0

    @classmethod
    async def connected(cls, call: ProxyCall, module: str) -> SocketSender | None:
        """Return a sender for `call.url`'s socket, None (logged) if it cannot be connected."""
        r = call.r
        path = call.url[5:]
        try:
            origin = await r.engine.runtime.connect(PlainOrigin, path, timeout=r.plan.server_core.timeout)
        except TimeoutError:
            cause = TIMEOUT
        except OSError as problem:
            cause = apr_error(problem)
        else:
            return cls(call, origin, module)
        r.log("error", f"Failed to connect to '{path}'", code="AH01152", module=module, cause=cause)
        return None

    def begin(self) -> HookStatus:
        """Let the response be the passing of the socket."""
        r = self._r
        r.status = 200
        r.status_line = None
        r.assbackwards = True
        r.body = []
        r.output_filters = []
        r.takeover = self._take_over
        r.connection.open_sources.add(self)
        return DONE

    def close(self) -> None:
        """Close the connection to the other process."""
        self._origin.abandon()

    async def aclose(self) -> None:
        """Close it: the client went away."""
        self.close()

    def _take_over(self, client: asyncio.Transport, ended: TakeoverEnd) -> asyncio.Protocol:
        self._ended, self._client, r = ended, client, self._r
        r.connection.open_sources.discard(self)
        date = format_http(int(r.engine.runtime.now()))
        head = f"HTTP/1.1 200 OK\r\nDate: {date}\r\nServer: {server_tokens(r)}\r\nConnection: close\r\n\r\n"
        client.write(to_bytes(head))
        self._size = len(head)
        self._send_after_head()
        return self

    def _send_after_head(self) -> None:
        """Pass the socket once the kernel has the head."""
        client = self._client
        r = self._r
        if client.get_write_buffer_size() and not client.is_closing():
            asyncio.get_running_loop().call_later(FLUSH, self._send_after_head)
            return
        theirs = self._origin.transport.get_extra_info("socket")
        ours = client.get_extra_info("socket")
        try:
            if ours is None or theirs is None:
                raise OSError(88, os.strerror(88))  # a layer or a stream of HTTP/2 has no socket of its own
            with socket.socket(fileno=os.dup(theirs.fileno())) as channel:
                socket.send_fds(channel, [b"\0"], [ours.fileno()])
        except OSError as problem:
            cause = f"({problem.errno}){problem.strerror}"
            r.log("error", "send_socket failed:", code="AH01154", module=self._module, cause=cause)
            r.status = 500
        self.close()
        client.abort()  # which closes this copy

    def connection_lost(self, exc: Exception | None) -> None:
        if self._ended is not None:
            self._ended(self._size, 0)
