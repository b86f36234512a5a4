"""A back end of HTTP/1.1 in a thread that switches protocols and echoes, as the path of a request says."""

from __future__ import annotations

import re
import socket
from typing import Final

from tests.support.thread_server import ThreadServer

_LENGTH: Final = re.compile(rb"(?i)\r\ncontent-length: (\d+)")
_UPGRADE: Final = re.compile(rb"(?i)\r\nupgrade: ([^\r\n]*)")


class SwitchingBackend(ThreadServer):
    """Answers ``/up...`` with 101 and echoes until ``quit``, ``/early...`` before it has read the body,
    ``/coding`` in chunks, everything else with ``ok``.

    Attributes:
        heads: of the requests. `bodies`: what followed each, the bytes of its tunnel included.
    """

    def __init__(self) -> None:
        super().__init__()
        self.heads: list[bytes] = []
        self.bodies: list[bytes] = []

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(5)
        body = b""
        try:
            data = b""
            while b"\r\n\r\n" not in data:
                piece = connection.recv(65536)
                if not piece:
                    return
                data += piece
            head, _, body = data.partition(b"\r\n\r\n")
            self.heads.append(head)
            path = head.split(b" ")[1]
            length = _LENGTH.search(head)
            if length is not None and b"early" not in path and b"\r\nExpect:" not in head:
                while len(body) < int(length[1]):
                    body += connection.recv(65536)
            body += self._answer(connection, head, path)
        except OSError:
            pass
        finally:
            self.bodies.append(body)
            connection.close()

    def _answer(self, connection: socket.socket, head: bytes, path: bytes) -> bytes:
        """Answer; return the bytes of the tunnel."""
        if b"up" in path:
            wanted = _UPGRADE.search(head)
            reason = b"Reasoned" if b"reason" in path else b"Switching Protocols"
            protocol = wanted[1] if wanted else b"x"
            fields = b"Upgrade: %b\r\nConnection: Upgrade\r\nX-Bird: knot\r\n" % protocol
            connection.sendall(b"HTTP/1.1 101 %b\r\n%b\r\nhi;" % (reason, fields))
            tunnel = b""
            while (piece := connection.recv(65536)) and b"quit" not in tunnel + piece:
                tunnel += piece
            connection.sendall(b"bye")
            return tunnel + piece
        top = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
        if b"coding" in path:
            connection.sendall(top + b"Transfer-Encoding: chunked\r\n\r\n")
            connection.sendall(b"" if head.startswith(b"HEAD") else b"2\r\nok\r\n0\r\n\r\n")
        else:
            connection.sendall(top + b"Content-Length: 2\r\n\r\n" + (b"" if head[:4] == b"HEAD" else b"ok"))
        return b""
