"""Connection of HTTP/1.1: requests in one piece, responses that are complete or raise."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass

TIMEOUT = 60.0  # seconds: the machine may be busy
_PIECE = 1 << 16


class Lost(Exception):
    """A response that did not come, or not as a whole.

    Attributes:
        is_unprocessed: the server closed a connection that it had used before, without a byte.
    """

    def __init__(self, reason: str, *, is_unprocessed: bool = False) -> None:
        super().__init__(reason)
        self.is_unprocessed = is_unprocessed


@dataclass(frozen=True)
class Reply:
    """A response; names of *fields* are in lower case."""

    status: int
    fields: dict[bytes, bytes]
    body: bytes


class Wire:
    """A connection.

    Attributes:
        served: number of responses. `is_open`: False after the last one.
        session: of TLS, once it is closed; None where nothing was received.
    """

    def __init__(
        self, port: int, context: ssl.SSLContext | None = None, session: ssl.SSLSession | None = None
    ) -> None:
        self.served = 0
        self.is_open = True
        self.session: ssl.SSLSession | None = None
        self._rest = b""
        try:
            plain = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.socket = (
                plain
                if context is None
                else context.wrap_socket(plain, server_hostname="localhost", session=session)
            )
        except OSError as problem:
            raise Lost(f"no connection: {problem!r}") from problem

    def close(self) -> None:
        """Close the connection."""
        self.is_open = False
        if isinstance(self.socket, ssl.SSLSocket) and self.served:
            self.session = self.socket.session or self.session
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send *data*."""
        try:
            self.socket.sendall(data)
        except OSError as problem:
            self._end(repr(problem))

    def _end(self, reason: str) -> None:
        self.is_open = False
        raise Lost(reason, is_unprocessed=self.served > 0 and not self._rest and "timed out" not in reason)

    def receive(self) -> None:
        """Wait for more data."""
        try:
            data = self.socket.recv(_PIECE)
        except OSError as problem:
            self._end(repr(problem))
        if not data:
            self._end("closed")
        self._rest += data

    def head(self) -> Reply:
        """Read the head of a response; interim responses other than 101 are skipped."""
        while (end := self._rest.find(b"\r\n\r\n")) < 0:
            self.receive()
        first, *lines = self._rest[:end].split(b"\r\n")
        if first[:9] != b"HTTP/1.1 ":
            raise Lost(f"no response: {first[:80]!r}")
        self._rest = self._rest[end + 4 :]
        status = int(first[9:12])
        if 100 <= status < 200 and status != 101:
            return self.head()
        pairs = [line.partition(b": ") for line in lines]
        return Reply(status, {name.lower(): value for name, _, value in pairs}, b"")

    def exactly(self, size: int) -> bytes:
        """Read *size* bytes."""
        while len(self._rest) < size:
            self._partial()
        data = self._rest[:size]
        self._rest = self._rest[size:]
        return data

    def _partial(self) -> None:
        """Wait for more of a response whose first bytes have come."""
        try:
            self.receive()
        except Lost as problem:
            raise Lost(f"in the middle of a response: {problem}") from problem

    def _line(self) -> bytes:
        while (end := self._rest.find(b"\r\n")) < 0:
            self._partial()
        return self.exactly(end + 2)[:-2]

    def reply(self, *, is_head: bool = False) -> Reply:
        """Read one response."""
        found = self.head()
        body = b""
        if is_head or found.status in (204, 304):
            pass
        elif found.fields.get(b"transfer-encoding") == b"chunked":
            pieces = []
            while size := int(self._line(), 16):
                pieces.append(self.exactly(size))
                self.exactly(2)
            self.exactly(2)
            body = b"".join(pieces)
        elif b"content-length" in found.fields:
            body = self.exactly(int(found.fields[b"content-length"]))
        self.served += 1
        if found.fields.get(b"connection", b"").lower() == b"close":
            self.close()
        return Reply(found.status, found.fields, body)
