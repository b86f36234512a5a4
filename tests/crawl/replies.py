"""Responses as they arrive on a connection: heads, framing, bodies, sizes in bytes."""

from __future__ import annotations

import socket
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

NO_BODY = {204, 304}


class Framing(Enum):
    """How the end of a body is marked (RFC 9112, 6)."""

    NONE = "no body"
    LENGTH = "Content-Length"
    CHUNKED = "chunked"
    CLOSE = "until close"
    BROKEN = "incomplete"


@dataclass(frozen=True)
class Reply:
    """One final response.

    Attributes:
        status_line: without its end.
        fields: name and value of each field, in order.
        body: without the framing, as sent.
        size: octets on the wire, with those of interim responses.
        interim: status lines of 1xx responses before it.
    """

    status_line: str
    fields: tuple[tuple[str, str], ...]
    body: bytes
    framing: Framing
    size: int
    interim: tuple[str, ...] = ()

    @property
    def status(self) -> int:
        """The status code; 0 for bytes without a status line."""
        words = self.status_line.split()
        return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0

    def value(self, name: str) -> str:
        """Return the first value of the field *name*, or an empty text."""
        return next((value for key, value in self.fields if key.lower() == name), "")

    @property
    def is_gzip(self) -> bool:
        return self.value("content-encoding") in ("gzip", "x-gzip")

    def decoded(self) -> bytes:
        """Return the body without gzip coding; a range of a coded body is empty."""
        if not self.is_gzip or not self.body:
            return self.body
        if self.status == 206:
            return b""
        try:
            return zlib.decompress(self.body, 31)
        except zlib.error:
            return self.body


def receive(port: int, data: bytes, source: str, seconds: float = 60) -> bytes:
    """Send *data* from the address *source*; return all octets until the server closes."""
    parts: list[bytes] = []
    end = time.monotonic() + seconds
    with socket.create_connection(("127.0.0.1", port), seconds, source_address=(source, 0)) as connection:
        try:
            connection.sendall(data)
            while part := connection.recv(1 << 18):
                parts.append(part)
                connection.settimeout(max(end - time.monotonic(), 0.01))
        except (TimeoutError, ConnectionError):
            parts.append(b"")
    return b"".join(parts)


@dataclass
class _Cursor:
    data: bytes
    offset: int = 0

    def line(self) -> bytes | None:
        """Return the next line without its end; None at the end of the data."""
        end = self.data.find(b"\r\n", self.offset)
        if end < 0:
            return None
        found, self.offset = self.data[self.offset : end], end + 2
        return found

    def take(self, count: int) -> bytes:
        """Return the next *count* octets, or as many as there are."""
        found = self.data[self.offset : self.offset + count]
        self.offset += len(found)
        return found


@dataclass
class _Head:
    status_line: str
    fields: list[tuple[str, str]] = field(default_factory=list)


def _head(cursor: _Cursor) -> _Head | None:
    """Read a head; None for data that begins with no status line."""
    if not cursor.data.startswith(b"HTTP/", cursor.offset):
        return None
    first = cursor.line()
    if first is None:
        return None
    head = _Head(first.decode("latin-1"))
    while line := cursor.line():
        name, _, value = line.decode("latin-1").partition(":")
        head.fields.append((name, value.strip(" ")))
    return head


def _chunks(cursor: _Cursor) -> tuple[bytes, Framing]:
    """Read chunks up to the last one, or as many octets as there are."""
    parts: list[bytes] = []
    while (line := cursor.line()) is not None:
        try:
            count = int(line.partition(b";")[0], 16)
        except ValueError:
            break
        if not count:
            while trailer := cursor.line():
                parts.append(trailer)
            return b"".join(parts), Framing.CHUNKED
        part = cursor.take(count)
        parts.append(part)
        if len(part) < count or cursor.take(2) != b"\r\n":
            break
    return b"".join(parts), Framing.BROKEN


def _body(cursor: _Cursor, head: _Head, method: str) -> tuple[bytes, Framing]:
    """Read the body that belongs to *head*."""
    reply = Reply(head.status_line, tuple(head.fields), b"", Framing.NONE, 0)
    if method == "HEAD" or reply.status in NO_BODY:
        return b"", Framing.NONE
    if "chunked" in reply.value("transfer-encoding"):
        return _chunks(cursor)
    length = reply.value("content-length")
    if length.isdigit():
        data = cursor.take(int(length))
        return data, Framing.LENGTH if len(data) == int(length) else Framing.BROKEN
    return cursor.take(len(cursor.data)), Framing.CLOSE


def split(data: bytes, methods: Sequence[str]) -> list[Reply]:
    """Return the responses to requests with *methods*; a rest without a head is a reply of status 0."""
    cursor, replies = _Cursor(data), []
    for method in methods:
        start, interim = cursor.offset, []
        while (head := _head(cursor)) and head.status_line[9:10] == "1" and head.status_line[9:12] != "101":
            interim.append(head.status_line)
        if head is None:
            break
        body, framing = _body(cursor, head, method)
        size = cursor.offset - start
        replies.append(Reply(head.status_line, tuple(head.fields), body, framing, size, tuple(interim)))
    if cursor.offset < len(data):
        rest = data[cursor.offset :]
        replies.append(Reply("", (), rest, Framing.CLOSE, len(rest)))
    return replies
