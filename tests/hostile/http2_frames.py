"""HTTP/2 frames as bytes, and the evaluation of a server's frames: a client for violations of RFC 9113."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from hpack import Decoder, Encoder

from tests.hostile.server import Server, read_until_closed

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10)
)
END_STREAM, ACK, END_HEADERS, PADDED, WITH_PRIORITY = 1, 1, 4, 8, 32
PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
CODES: Final = (
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
)
SENTINEL: Final = b"sentinel"
MAX_WINDOW: Final = (1 << 31) - 1
MOMENT: Final = 0.2  # seconds for frames after the last expected one
# a program that returns the request body
ECHO: Final = b"#!/bin/sh\necho Content-Type: text/plain\necho\ncat\n"


def frame(kind: int, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    """Return one frame."""
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


def settings(*pairs: tuple[int, int]) -> bytes:
    """Return a SETTINGS frame of identifiers and values."""
    return frame(SETTINGS, payload=b"".join(name.to_bytes(2) + value.to_bytes(4) for name, value in pairs))


def block(*fields: tuple[str, str], path: str = "/a.txt", method: str = "GET", pseudo: bool = True) -> bytes:
    """Return a field block that leaves HPACK's dynamic table unchanged.

    *pseudo*: the four pseudo-header fields precede it.
    """
    first = (
        ((":method", method), (":scheme", "http"), (":authority", "localhost"), (":path", path))
        if pseudo
        else ()
    )
    return literal(*first, *fields)


def literal(*fields: tuple[str, str], indexed: bool = False) -> bytes:
    """Return literal fields with literal names, without Huffman codes.

    *indexed*: each becomes an entry of the dynamic table.
    """
    return b"".join((b"\x40" if indexed else b"\0") + text(name) + text(value) for name, value in fields)


def text(value: str) -> bytes:
    """Return an HPACK string."""
    raw = value.encode("latin-1")
    if len(raw) < 127:
        return bytes((len(raw),)) + raw
    rest, out = len(raw) - 127, bytearray(b"\x7f")
    while rest >= 128:
        out.append(rest % 128 + 128)
        rest //= 128
    return bytes(out) + bytes((rest,)) + raw


def request(
    stream: int = 1, *fields: tuple[str, str], path: str = "/a.txt", method: str = "GET", end: bool = True
) -> bytes:
    """Return a HEADERS frame with a complete head."""
    return frame(HEADERS, END_HEADERS | END_STREAM * end, stream, block(*fields, path=path, method=method))


def window(stream: int, size: int) -> bytes:
    """Return a WINDOW_UPDATE frame."""
    return frame(WINDOW_UPDATE, 0, stream, size.to_bytes(4))


@dataclass
class Outcome:
    """Reaction of a server.

    Attributes:
        streams: a status or an error by stream
        goaway: code of its GOAWAY
        lives: it answered the last PING
        closed: it closed the connection
    """

    streams: dict[int, str] = field(default_factory=dict)
    goaway: str = ""
    lives: bool = False
    closed: bool = False

    @property
    def verdict(self) -> str:
        """The outcome as text; details of streams count only while the connection lives."""
        if not self.lives:
            return (
                f"GOAWAY {self.goaway}"
                if self.goaway not in ("", "NO_ERROR")
                else "closed"
                if self.closed
                else "silent"
            )
        return " ".join(f"{number}:{what}" for number, what in sorted(self.streams.items())) or "lives"


def read_frames(data: bytes) -> Iterable[tuple[int, int, int, bytes]]:
    """Iterate over the complete frames in *data*: kind, flags, stream, payload."""
    at = 0
    while len(data) - at >= 9:
        size = int.from_bytes(data[at : at + 3])
        if len(data) - at - 9 < size:
            return
        yield data[at + 3], data[at + 4], int.from_bytes(data[at + 5 : at + 9]), data[at + 9 : at + 9 + size]
        at += 9 + size


def _code(payload: bytes) -> str:
    number = int.from_bytes(payload)
    return CODES[number] if number < len(CODES) else str(number)


def outcome_of(data: bytes, closed: bool) -> Outcome:
    """Evaluate the frames of a server."""
    found, decoder = Outcome(closed=closed), Decoder()
    for kind, flags, stream, payload in read_frames(data):
        if kind == HEADERS:
            status = dict(decoder.decode(payload))[":status"]
            found.streams[stream] = str(status)
        elif kind == RST_STREAM and int.from_bytes(payload):
            found.streams[stream] = _code(payload)
        elif kind == GOAWAY:
            found.goaway = _code(payload[4:8])
        elif kind == PING and flags & ACK and payload == SENTINEL:
            found.lives = True
    return found


def exchange(
    server: Server,
    *pieces: bytes,
    seconds: float = 3.0,
    begin: bytes = PREFACE + settings() + frame(SETTINGS, ACK),
    pause: float = 0.05,
) -> Outcome:
    """Send *begin*, *pieces* with a pause before each, and a PING; read until its answer or the server's
    close.
    """
    with server.connect(seconds) as wire:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if begin:
                wire.sendall(begin)
            for piece in pieces:
                time.sleep(pause)
                wire.sendall(piece)
            time.sleep(pause)
            wire.sendall(frame(PING, 0, 0, SENTINEL))
        except OSError:
            pass  # the server has refused the rest
        answer = frame(PING, ACK, 0, SENTINEL)
        out, closed = read_until_closed(wire, time.monotonic() + seconds, answer, MOMENT)
    return outcome_of(out, closed)


def encoded(*fields: tuple[str, str]) -> bytes:
    """Return a field block as a client's encoder writes it first."""
    return bytes(Encoder().encode(list(fields)))
