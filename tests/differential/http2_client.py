"""A client of HTTP/2 that reports every frame of one exchange, with its size on the wire."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, field
from typing import Final

from hpack import Decoder, Encoder

from tests.hostile.http2_frames import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PREFACE,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    frame,
    read_frames,
    settings,
)

MASKED: Final = frozenset(("date", "server", "etag", "allow"))
QUIET: Final = 0.5  # seconds without a frame after which an exchange that does not end is over
PATIENCE: Final = 15.0  # seconds for one exchange
Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Exchange:
    """One connection: requests on streams 1, 3, ... with *fields*, and client *settings*.

    *ends* is False where a promised stream never responds; *body* is sent in pieces.
    """

    name: str
    paths: tuple[str, ...]
    method: str = "GET"
    fields: Fields = ()
    settings: tuple[tuple[int, int], ...] = ()
    authority: str = "localhost"
    body: tuple[bytes, ...] = ()
    ends: bool = True


@dataclass
class Report:
    """Frames of the server.

    Attributes:
        streams: what came on each stream: fields of heads and promises, the body, the code of a reset
        sizes: bytes of the frames that a log counts for each stream
        goaway: code of GOAWAY
    """

    streams: dict[int, list[object]] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    goaway: int | None = None


class Http2Exchange:
    """State of one exchange."""

    def __init__(self, port: int, exchange: Exchange) -> None:
        self.exchange, self.report = exchange, Report()
        self.wire = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.encoder, self.decoder = Encoder(), Decoder(1 << 20)
        self.open: set[int] = set()
        self._block: tuple[int, int, bytes] = (0, 0, b"")

    def run(self) -> Report:
        """Send the requests, each after the responses to the one before, and read."""
        exchange = self.exchange
        with self.wire:
            self.wire.sendall(PREFACE + settings(*exchange.settings))
            for number, path in enumerate(exchange.paths):
                self._request(2 * number + 1, path)
                self._read()
        return self.report

    def _request(self, number: int, path: str) -> None:
        exchange = self.exchange
        head = [
            (":method", exchange.method),
            (":scheme", "http"),
            (":authority", exchange.authority),
            (":path", path),
            *exchange.fields,
        ]
        flags = END_HEADERS | (0 if exchange.body else END_STREAM)
        out = frame(HEADERS, flags, number, self.encoder.encode(head))
        for at, piece in enumerate(exchange.body):
            out += frame(DATA, END_STREAM * (at == len(exchange.body) - 1), number, piece)
        self.open.add(number)
        self.wire.sendall(out)

    def _read(self) -> None:
        data, end = b"", time.monotonic() + PATIENCE
        while self.open and time.monotonic() < end:
            self.wire.settimeout(PATIENCE if self.exchange.ends or not self.report.streams else QUIET)
            try:
                more = self.wire.recv(1 << 16)
            except (TimeoutError, ConnectionResetError):
                return
            if not more:
                return
            data += more
            for kind, flags, number, payload in read_frames(data):
                data = data[9 + len(payload) :]
                self._take(kind, flags, number, payload)

    def _take(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        report = self.report
        if kind == SETTINGS and not flags & ACK:
            self.wire.sendall(frame(SETTINGS, ACK))
        elif kind == GOAWAY:
            report.goaway = int.from_bytes(payload[4:8])
        elif kind == RST_STREAM:
            report.streams.setdefault(number, []).append(("reset", int.from_bytes(payload)))
            self.open.discard(number)
        elif kind == DATA:
            self._count(number, payload)
            events = report.streams.setdefault(number, [])
            if events and isinstance(events[-1], bytes):
                events[-1] += payload
            else:
                events.append(payload)
        elif kind in (HEADERS, PUSH_PROMISE):
            self._block = (kind, flags, payload)
        elif kind == CONTINUATION:
            self._block = (*self._block[:2], self._block[2] + payload)
        if kind in (HEADERS, PUSH_PROMISE, CONTINUATION) and flags & END_HEADERS:
            self._head(number, *self._block)
        if kind in (HEADERS, DATA) and flags & END_STREAM:
            self.open.discard(number)

    def _head(self, number: int, kind: int, _flags: int, payload: bytes) -> None:
        stream = number
        if kind == PUSH_PROMISE:
            stream = int.from_bytes(payload[:4])
            self.open.add(stream)
        self._count(stream, payload)
        pairs = self.decoder.decode(payload[4 if kind == PUSH_PROMISE else 0 :])
        is_script = any(path.startswith("/cgi/") for path in self.exchange.paths)  # whose end may come late
        shown = [
            (str(name), "" if name in MASKED else str(value))
            for name, value in pairs
            if not (is_script and name == "content-length")
        ]
        promised = (stream,) if kind == PUSH_PROMISE else ()
        self.report.streams.setdefault(number, []).append((*promised, *shown))

    def _count(self, number: int, payload: bytes) -> None:
        frames = 1 + max(0, len(payload) - 1) // 16384
        self.report.sizes[number] = self.report.sizes.get(number, 0) + 9 * frames + len(payload)
