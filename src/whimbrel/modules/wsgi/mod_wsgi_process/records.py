"""FastCGI's records as the process of an application reads and writes them, with types of its own."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    WriteLine = Callable[[str, str], None]

HEADER = struct.Struct(">BBHHBx")
MAX_CONTENT = 65528  # bytes of a record, a multiple of 8
BEGIN = 1
END = 3
PARAMS = 4
STDIN = 5
STDOUT = 6
LOG = 64  # a letter for the level, and a line
ACCEPTED = 65  # the body may come
REJECTED = 66  # another process is to serve the request
ACCEPT_FLAG = 2  # of BEGIN: the body comes after ACCEPTED
AUTHORIZER = 2  # the role of access scripts
LEVELS = {"error": b"e", "info": b"i", "debug": b"d", "crit": b"c"}
MAX_LINE = 8192  # bytes of a line in the log
MAX_PARAMS = 4 << 20  # bytes of the variables of a request
BLOCK = 65536


class ClientGone(Exception):
    """The server has closed the connection of a request."""


def record(kind: int, content: bytes = b"") -> bytes:
    """Return one record."""
    return HEADER.pack(1, kind, 1, len(content), 0) + content


def records(kind: int, data: bytes) -> bytes:
    """Return the records with *data*."""
    if len(data) <= MAX_CONTENT:
        return record(kind, data)
    return b"".join(record(kind, data[at : at + MAX_CONTENT]) for at in range(0, len(data), MAX_CONTENT))


class Channel:
    """The connection of one request: its records, read and written.

    Attributes:
        write_line: takes level and text of a line when the server has closed the connection.
    """

    def __init__(self, connection: socket.socket, write_line: WriteLine | None = None) -> None:
        self.connection = connection
        self.write_line = write_line
        self._data = bytearray()
        self.role = 1
        self.flags = 0
        self.is_gone = False

    def _fill(self, size: int) -> None:
        """Read until *size* bytes are here; raises ClientGone."""
        while len(self._data) < size:
            try:
                data = self.connection.recv(BLOCK)
            except OSError:
                data = b""
            if not data:
                self.is_gone = True
                raise ClientGone
            self._data += data

    def next_record(self) -> tuple[int, bytes]:
        """Return type and content of the next record."""
        self._fill(8)
        _version, kind, _request, size, padding = HEADER.unpack_from(self._data)
        end = 8 + size + padding
        self._fill(end)
        content = bytes(self._data[8 : 8 + size])
        del self._data[:end]
        return kind, content

    def variables(self) -> dict[str, object]:
        """Read the beginning of the request; return its variables."""
        content = b""
        while True:
            kind, piece = self.next_record()
            if kind == BEGIN:
                self.role, self.flags = struct.unpack_from(">HB", piece)
            elif kind == PARAMS:
                if not piece:
                    return parsed(content)
                content = content + piece if content else piece
                if len(content) > MAX_PARAMS:
                    raise ClientGone

    def send(self, data: bytes) -> None:
        """Send *data*; raises ClientGone, with mod_wsgi's words for the application."""
        if self.is_gone:
            raise ClientGone("client connection closed.")
        try:
            self.connection.sendall(data)
        except OSError as problem:
            self.is_gone = True
            raise ClientGone("failed to write response data: %s" % problem.strerror) from None

    def log(self, level: str, text: str | bytes) -> None:
        """Write a line to the log of the request."""
        line = text.encode("utf-8", "replace") if isinstance(text, str) else text
        try:
            self.send(record(LOG, LEVELS[level] + line[:MAX_LINE]))
        except ClientGone:
            if self.write_line is not None:
                self.write_line(level, line.decode("utf-8", "replace"))

    def log_error(self, line: bytes) -> None:
        """Write a line at level error."""
        self.log("error", line)


def parsed(content: bytes) -> dict[str, object]:
    """Return the variables in *content*."""
    text = content.decode("latin-1")
    out: dict[str, object] = {}
    at = 0
    end = len(content)
    while at < end:
        size = content[at]
        at += 1
        if size > 127:
            size = (size & 127) << 24 | int.from_bytes(content[at : at + 3], "big")
            at += 3
        length = content[at]
        at += 1
        if length > 127:
            length = (length & 127) << 24 | int.from_bytes(content[at : at + 3], "big")
            at += 3
        out[text[at : at + size]] = text[at + size : at + size + length]
        at += size + length
    return out
