"""mod_echo: a connection whose lines are sent back.

As in httpd, a line goes back when it is complete, when it has 8,192 bytes, or at the end of the input. The
first bytes must come within Timeout, further ones within KeepAliveTimeout. Manual: mod/mod_echo.html.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, cast

from whimbrel.base.latin1 import to_text
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.server.connection.addresses import addresses, plain
from whimbrel.server.worker.scoreboard import connection_row
from whimbrel.server.worker.state import FOREVER, TimedConnection, WorkerState

MAX_LINE: Final = 8192  # bytes of an incomplete line that are held


class EchoProtocol(asyncio.Protocol, TimedConnection):
    """Lowest layer of a connection; it leaves the connection to the protocol of *make_other* if the
    connection's server does not echo.
    """

    __slots__ = (
        "_client",
        "_is_draining",
        "_line",
        "_make_other",
        "_keep_alive",
        "_server",
        "_shown",
        "_state",
        "service",
        "transport",
    )

    def __init__(self, service: WorkerState, make_other: Callable[[], asyncio.Protocol]) -> None:
        TimedConnection.__init__(self)
        self.service = service
        self._make_other = make_other
        self._line = b""
        self._is_draining = False
        self._state = "R"
        self._shown = "ECHO "

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        client, local = addresses(transport)
        listener = self.service.listener(plain(local[0]), local[1])
        if not self.service.engine.configuration.provider("echo", "is_enabled")(listener.server):
            other = self._make_other()
            self.transport.set_protocol(other)
            other.connection_made(transport)
            return
        self._client = plain(client[0])
        self._server = listener.server
        self._keep_alive = listener.keep_alive
        self.service.add(self)
        self.deadline = self.service.clock + listener.timeout

    def set_proxied(self, address: str, _port: int) -> None:
        """Take the client's address from a PROXY header."""
        self._client = address

    def data_received(self, data: bytes) -> None:
        self.deadline = self.service.clock + self._keep_alive
        data = self._line + data
        end = data.rfind(b"\n") + 1
        if len(data) - end >= MAX_LINE:
            end = len(data)
        self._line = data[end:]
        if end:
            self._echo(data[:end])

    def _echo(self, data: bytes) -> None:
        self._shown = "ECHO " + to_text(data[:MAX_LINE].split(b"\n", 1)[0])
        self._state = "K"
        self.transport.write(data)
        if self._is_draining:
            self._close()

    def eof_received(self) -> bool:
        """Send the incomplete line; close."""
        if self._line:
            self.transport.write(self._line)
        self.service.engine.error_log.about_server(
            self._server,
            LogLine(
                "info",
                f"ProtocolEcho: Error - read empty brigade from {self._client}!",
                "AH01612",
                "echo",
            ),
        )
        return False

    def pause_writing(self) -> None:
        """Stop reading until the client reads."""
        self.deadline = self.service.clock + self._keep_alive
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        self.deadline = self.service.clock + self._keep_alive
        self.transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self.service.remove(self)

    def _close(self) -> None:
        self._state = "C"
        self.transport.close()
        is_sent = not self.transport.get_write_buffer_size()
        self.deadline = FOREVER if is_sent else self.service.clock + self._keep_alive

    def expire(self) -> None:
        """Close the connection without a log line; drop what the client did not take in time."""
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self._close()

    def drain(self) -> None:
        """Close the connection after its next line."""
        self._is_draining = True

    def close_now(self) -> None:
        self._close()

    def scoreboard_row(self) -> dict[str, Any]:
        return connection_row(self._state, self._client, "", self._shown, self._server.name, 0)
