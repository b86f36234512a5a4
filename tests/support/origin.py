"""An HTTP/1.1 origin server on the loopback that records requests as they arrived, and answers by path."""

from __future__ import annotations

import contextlib
import socket
import time
from dataclasses import dataclass
from typing import BinaryIO

from tests.support.thread_server import ThreadServer

FIELDS = b"X-Odd: a\xe9\xff\tb\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=9\r\n"


@dataclass(frozen=True)
class Received:
    """A request as it arrived.

    Attributes:
        line: the request line.
        fields: names in lower case with values, in their order.
        body: the body without chunk sizes.
        is_chunked: whether it came in chunks.
    """

    line: bytes
    fields: tuple[tuple[bytes, bytes], ...]
    body: bytes
    is_chunked: bool

    def values(self, name: bytes) -> list[bytes]:
        """Return the values of the fields *name*."""
        return [value for field, value in self.fields if field == name]


class Origin(ThreadServer):
    """Answers with its name and the query: `/slow` after a while, `/STATUS` by that status.

    `/cut` closes the connection after the request; *name* is the first word of each answer.
    """

    def __init__(self, name: bytes = b"origin", port: int = 0) -> None:
        super().__init__(socket.create_server(("127.0.0.1", port)))
        self.name, self.received = name, list[Received]()
        self._connections: set[socket.socket] = set()

    def stop(self) -> None:
        """Close the socket and all connections; the port refuses from now on."""
        super().stop()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _serve(self, connection: socket.socket) -> None:
        self._connections.add(connection)
        try:
            with connection.makefile("rb") as stream:
                while request := _read(stream):
                    self.received.append(request)
                    if not self._answer(connection, request):
                        break
        except OSError:
            pass
        finally:
            self._connections.discard(connection)
            connection.close()

    def _answer(self, connection: socket.socket, request: Received) -> bool:
        method, target, _ = request.line.split(b" ", 2)
        path, _, query = target.partition(b"?")
        last = path.rsplit(b"/", 1)[1]
        if last == b"cut":
            return False
        if last == b"slow":
            time.sleep(0.3)
        status = last if last.isdigit() else b"200"
        body = b"%b %b %d" % (self.name, query, len(request.body))
        head = b"HTTP/1.1 %b Status\r\n%bContent-Length: %d\r\n\r\n" % (status, FIELDS, len(body))
        connection.sendall(head + body * (method != b"HEAD"))
        return True


def _read(stream: BinaryIO) -> Received | None:
    line = stream.readline().rstrip(b"\r\n")
    if not line:
        return None
    fields = []
    while field := stream.readline().rstrip(b"\r\n"):
        name, _, value = field.partition(b":")
        fields.append((name.lower(), value.removeprefix(b" ")))
    known = dict(fields)
    if known.get(b"transfer-encoding", b"").lower() != b"chunked":
        return Received(line, tuple(fields), stream.read(int(known.get(b"content-length", b"0"))), False)
    body = b""
    while size := int(stream.readline(), 16):
        body += stream.read(size)
        stream.readline()
    stream.readline()
    return Received(line, tuple(fields), body, True)
