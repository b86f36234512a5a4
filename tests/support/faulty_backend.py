"""A back end on the loopback that fails in the way that the path of a request names."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable

from tests.support.thread_server import ThreadServer

OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
COMPLETE = OK + b"Content-Length: 2\r\n\r\nok"
PIECE = b"x" * 65536


def reset(connection: socket.socket) -> None:
    """Close *connection* with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def sent(data: bytes) -> Callable[[socket.socket], None]:
    """Return the fault of sending *data* and closing."""

    def fail(connection: socket.socket) -> None:
        connection.sendall(data)
        connection.close()

    return fail


def sent_and_reset(data: bytes) -> Callable[[socket.socket], None]:
    """Return the fault of sending *data* and resetting the connection a little later."""

    def fail(connection: socket.socket) -> None:
        connection.sendall(data)
        time.sleep(0.1)
        reset(connection)

    return fail


def hang(connection: socket.socket) -> None:
    """Answer nothing until the server gives up."""
    connection.settimeout(60)
    try:
        connection.recv(1)
    except OSError:
        pass
    connection.close()


def stall(connection: socket.socket) -> None:
    """Send the beginning of an answer and then nothing."""
    connection.sendall(OK + b"Content-Length: 10\r\n\r\nbegin")
    hang(connection)


def endless(connection: socket.socket) -> None:
    """Answer with a body without end."""
    connection.sendall(OK + b"\r\n")
    try:
        while True:
            connection.sendall(PIECE)
    except OSError:
        connection.close()


FAULTS: dict[str, Callable[[socket.socket], None]] = {
    "ok": sent(COMPLETE),
    "close": sent(b""),
    "reset": reset,
    "hang": hang,
    "stall": stall,
    "endless": endless,
    "part-of-head": sent(OK),
    "reset-in-head": sent_and_reset(OK),
    "reset-in-body": sent_and_reset(OK + b"Content-Length: 10\r\n\r\nbegin"),
    "short": sent(OK + b"Content-Length: 10\r\n\r\nbegin"),
    "long": sent(OK + b"Content-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"),
    "garbage": sent(b"\x00\x01\x02 nothing of HTTP"),
    "binary": sent(b"\xff" * 100 + b"\n"),
    "empty-lines": sent(b"\r\n\r\n\r\n"),
    "version": sent(b"HTTP/2.0 200 OK\r\n\r\n"),
    "field": sent(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n"),
    "long-field": sent(b"HTTP/1.1 200 OK\r\nX: " + b"y" * 20000 + b"\r\n\r\n"),
    "many-fields": sent(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 50000 + b"\r\n"),
    "bad-chunk": sent(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"),
    "bad-second-chunk": sent_and_reset(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n"),
    "no-last-chunk": sent(OK + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"),
    "bad-length": sent(OK + b"Content-Length: 1x\r\n\r\nok"),
    "negative-length": sent(OK + b"Content-Length: -1\r\n\r\nok"),
    "two-lengths": sent(OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok"),
    "interim-flood": sent(b"HTTP/1.1 102 Processing\r\n\r\n" * 1000 + COMPLETE),
    "switches": sent(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
    "bad-name": sent(OK + b"Bad name: x\r\nContent-Length: 2\r\n\r\nok"),
    "control": sent(OK + b"X: a\x01b\r\nContent-Length: 2\r\n\r\nok"),
    "nul": sent(OK + b"X: a\x00b\r\nContent-Length: 2\r\n\r\nok"),
    "cr": sent(OK + b"X: a\rb\r\nContent-Length: 2\r\n\r\nok"),
    "bad-connection": sent(OK + b"Connection: a b\r\nContent-Length: 2\r\n\r\nok"),
    "too-large": sent(b"HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno"),
}


class FaultyBackend(ThreadServer):
    """A server whose answer to NAME in any directory is the fault NAME; connections of ``ok`` stay open.

    Attributes:
        requests: the request lines so far. `open`: number of connections that are open.
    """

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[str] = []
        self.open = 0

    def _serve(self, connection: socket.socket) -> None:
        self.open += 1
        try:
            while True:
                head = b""
                while b"\r\n\r\n" not in head:
                    data = connection.recv(65536)
                    if not data:
                        return
                    head += data
                line = head.partition(b"\r\n")[0].decode("latin-1")
                self.requests.append(line)
                name = line.split()[1].partition("?")[0].rpartition("/")[2]
                if name != "ok":
                    FAULTS[name](connection)
                    return
                query = line.split()[1].partition("?")[2].encode()
                connection.sendall(OK + b"Content-Length: %d\r\n\r\n%b" % (len(query), query))
        except OSError:
            pass
        finally:
            self.open -= 1
            connection.close()
