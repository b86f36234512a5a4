"""RemoteIPProxyProtocol: reads the PROXY header at the start of a connection, then hands over to HTTP.

Specification: the PROXY protocol, versions 1 and 2. Manual: mod/mod_remoteip.html#remoteipproxyprotocol. A
connection without a valid header is closed without a response.
"""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from whimbrel.base.latin1 import to_text
from whimbrel.base.numbers import atoi
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.request import Connection
from whimbrel.server.connection.addresses import addresses, plain
from whimbrel.server.connection.layer import ConnectionLayer
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.scoreboard import connection_row
from whimbrel.server.worker.state import FOREVER, TimedConnection, WorkerState

if TYPE_CHECKING:
    from whimbrel.server.connection.echo import EchoProtocol

MOST_V1: Final = 107  # bytes of a header of version 1, including its line end
MOST_V2: Final = 1024  # bytes of addresses and TLVs in a header of version 2
SIGNATURE: Final = b"\r\n\r\n\0\r\nQUIT\n"
# bytes that httpd has read before it knows the version, and omits from the lengths that it logs
_FIRST_READ: Final = 15
_ENDLESS: Final = 8192  # bytes without a line end that are buffered
_FAMILY_NAMES: Final = {"TCP4": socket.AF_INET, "TCP6": socket.AF_INET6}
_PARTS: Final = ("client-address", "destination-address", "client-port")
_CHARACTERS: Final = {socket.AF_INET: "0123456789.", socket.AF_INET6: "0123456789abcdefABCDEF.:"}
_NUMBER: Final = re.compile(r"[ \t\n\v\f\r]*[-+]?[0-9]").match  # sscanf's %hu
_FAMILIES: Final = {0x11: (socket.AF_INET, 4, 12, "TCPv4"), 0x21: (socket.AF_INET6, 16, 36, "TCPv6")}


class ProxyHeaderFields(NamedTuple):
    """A header of *size* bytes; *address* is "" if it names no client."""

    size: int
    address: str = ""
    port: int = 0


class BadHeader(Exception):
    """Error: the connection is unusable; *line* is the log line, if any."""

    def __init__(self, code: str = "", words: str = "", cause: str = "") -> None:
        super().__init__(words)
        self.line = LogLine("error", words, code, "remoteip", cause) if code else None


def read_header(data: bytes) -> ProxyHeaderFields | None:
    """Return the header at the start of *data*, None while it is incomplete; raise BadHeader."""
    if data.startswith(SIGNATURE[: len(data)]):
        return _version_2(data)
    if data.startswith(b"PROXY"[: len(data)]):
        return _version_1(data)
    raise BadHeader


def _version_1(data: bytes) -> ProxyHeaderFields | None:
    end = data.find(b"\r\n")
    if end < 0:
        if len(data) > _ENDLESS:
            raise BadHeader
        return None
    if end + 2 > MOST_V1:
        raise BadHeader(
            "AH10185",
            f"RemoteIPProxyProtocol header too long, got {end + 2 - _FIRST_READ}"
            f" expected {MOST_V1 + 1 - _FIRST_READ}",
        )
    line = to_text(data[:end])
    words = [word for word in line.split(" ") if word]  # apr_strtok: runs of spaces separate words
    if words[1:2] == ["UNKNOWN"] and len(words) > 2:
        return ProxyHeaderFields(end + 2)
    if words[1:] == ["UNKNOWN"]:
        raise BadHeader  # as httpd, which reads the following bytes as the rest of the header
    if len(words) < 2:
        raise _bad_line("AH03497", "no family found", line)
    kind = _FAMILY_NAMES.get(words[1])
    if kind is None:
        raise _bad_line("AH03499", f"unknown family '{words[1]}'", line)
    for word, what in enumerate(_PARTS, 2):  # httpd reads no destination port
        if len(words) <= word:
            raise _bad_line("AH03497", f"no {what} found", line)
        if what == "client-address" and words[word].strip(_CHARACTERS[kind]):
            raise _bad_line("AH03500", f"invalid {what} '{words[word]}' found", line)
    if _NUMBER(words[4]) is None:
        raise _bad_line("AH03501", f"error parsing port '{words[4]}'", line)
    port = atoi(words[4]) & 0xFFFF
    try:
        return ProxyHeaderFields(end + 2, _address(kind, words[2]), port)
    except (OSError, ValueError):
        raise BadHeader(
            "AH03502",
            f"RemoteIPProxyProtocol: error converting family '{kind.value}', host '{words[2]}', and port "
            f"'{port}' to sockaddr; header was '{line}'",
            "(EAI 2)Name or service not known",
        ) from None


def _bad_line(code: str, what: str, line: str) -> BadHeader:
    return BadHeader(code, f"RemoteIPProxyProtocol: {what} in header '{line}'")


def _address(kind: socket.AddressFamily, text: str) -> str:
    """Return the client's address as the header spells it; raise OSError or ValueError if it is none.

    IPv4 addresses with fewer than four numbers, or with octal ones, become those that they stand for, which
    httpd admits or refuses too; its logs have the spelling.
    """
    if kind is socket.AF_INET6:
        socket.inet_pton(kind, text)
        return text
    return socket.inet_ntop(kind, socket.inet_aton(text))


def _version_2(data: bytes) -> ProxyHeaderFields | None:
    if len(data) < 16:
        return None
    command, family, size = struct.unpack_from(">BBH", data, 12)
    if command >> 4 != 2:
        raise BadHeader
    if size > MOST_V2:
        raise BadHeader("AH10186", "RemoteIPProxyProtocol protocol header length too long")
    if len(data) < 16 + size:
        return None
    if command == 0x20:
        return ProxyHeaderFields(16 + size)
    if command != 0x21:
        raise BadHeader("AH03507", f"RemoteIPProxyProtocol: unsupported command {command:02x}")
    if family not in _FAMILIES:
        raise BadHeader("AH10183", f"RemoteIPProxyProtocol: unsupported protocol {family:02x}")
    kind, width, least, name = _FAMILIES[family]
    if size < least:
        raise BadHeader("AH10597", f"RemoteIPProxyProtocol: address length {size} too short for {name}")
    address = plain(socket.inet_ntop(kind, data[16 : 16 + width]))
    return ProxyHeaderFields(16 + size, address, struct.unpack_from(">H", data, 16 + 2 * width)[0])


class ProxyProtocolReader(asyncio.Protocol, TimedConnection):
    """Lowest layer of the start of a connection; it leaves the connection to the protocol of *make_inner*
    behind the header, or immediately if the client sends none: *expects* decides by the address and port of
    the connection and by its client.
    """

    __slots__ = ("_buffer", "_expects", "_make_inner", "connection", "server", "service", "transport")

    def __init__(
        self,
        service: WorkerState,
        make_inner: Callable[[], asyncio.Protocol],
        expects: Callable[[str, int, str], bool],
    ) -> None:
        TimedConnection.__init__(self)
        self.service = service
        self._make_inner = make_inner
        self._expects = expects
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        client, local = addresses(transport)
        self.connection = Connection(plain(client[0]), client[1], plain(local[0]), local[1])
        listener = self.service.listener(self.connection.local_ip, self.connection.local_port)
        self.server = listener.server
        if not self._expects(plain(local[0]), local[1], self.connection.client_ip):
            self._hand_over(ProxyHeaderFields(0))
            return
        self._log(
            LogLine(
                "debug",
                f"RemoteIPProxyProtocol: enabled on connection to {plain(local[0])}:{local[1]}",
                "AH03503",
                "remoteip",
            )
        )
        self.service.add(self)
        self.deadline = self.service.clock + listener.timeout

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        try:
            header = read_header(self._buffer)
        except BadHeader as problem:
            if problem.line is not None:
                self._log(problem.line)
            self._close()
            return
        if header is not None:
            address = (
                f"{header.address}:{header.port}"
                if header.address
                else f"{self.connection.client_ip}:{self.connection.client_port}"
            )
            self._log(
                LogLine(
                    "debug",
                    f"RemoteIPProxyProtocol: received valid PROXY header: {address}",
                    "AH03511",
                    "remoteip",
                )
            )
            self._hand_over(header)

    def _hand_over(self, header: ProxyHeaderFields) -> None:
        following = self._make_inner()
        self.transport.set_protocol(following)
        following.connection_made(self.transport)
        current = cast(asyncio.Protocol, self.transport.get_protocol())  # the layer may have handed over
        self.service.remove(self)
        if header.address:
            above = cast("ConnectionLayer | Http1Connection | EchoProtocol", current)
            above.set_proxied(header.address, header.port)
        rest = self._buffer[header.size :]
        if rest:
            current.data_received(rest)

    def _log(self, line: LogLine) -> None:
        self.service.engine.log_connection(self.connection, self.server, line)

    def _close(self) -> None:
        self.deadline = FOREVER
        self.transport.close()

    def eof_received(self) -> bool:
        words = "RemoteIPProxyProtocol: connection closed before a complete header was received"
        self._log(LogLine("info", words, "AH10634", "remoteip", "(70014)End of file found"))
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.service.remove(self)

    def expire(self) -> None:
        """Close the connection: no header came in time."""
        self._log(
            LogLine(
                "error",
                "failed reading input",
                "AH10184",
                "remoteip",
                "(70007)The timeout specified has expired",
            )
        )
        self._close()

    def drain(self) -> None:
        """Close a connection that has not sent its header."""

    def close_now(self) -> None:
        """Close a connection that has sent no request."""
        self._close()

    def scoreboard_row(self) -> dict[str, Any]:
        return connection_row("R", self.connection.client_ip, "", "", "", 0)
