"""Frames of a client of HTTP/2: ConnectionFault and MalformedRequest alone; windows and streams are bounded.

A field block decoded with the cache of blocks is the one of a decoder without it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from hpack import Decoder
from hpack.exceptions import HPACKError

from tests.hostile.http2_cases import BEGINNINGS, CASES
from tests.hostile.http2_frames import ACK, PREFACE, SETTINGS, frame, settings
from whimbrel.http.http2.connection import ServerH2Connection, StreamState
from whimbrel.http.http2.hpack import MAX_LIST, FieldBlock
from whimbrel.http.http2.protocol import (
    ConnectionFault,
    ErrorCode,
    HeadTooLong,
    MalformedRequest,
    check_trailers,
    client_settings,
    interim_fields,
    promised_request,
    read_request,
    upgraded,
)
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions

COVERED = ("http/http2/connection.py", "http/http2/hpack.py", "http/http2/protocol.py")
TOKENS = (
    frame(SETTINGS, ACK),
    frame(1, 5, 1, b"\x82\x86\x84\x41\x09localhost"),
    frame(0, 1, 1, b"abc"),
    frame(3, 0, 1, bytes(4)),
    frame(8, 0, 0, b"\0\0\1\0"),
    frame(6, 0, 0, bytes(8)),
    frame(9, 4, 1, b"\x82"),
    b"\x82\x86\x84",
    b"\x40\1a\1b",
    b"\x3f\xe1\x1f",
)
OPEN = PREFACE + settings() + frame(SETTINGS, ACK)
MAX_STREAMS = 8
STREAM_WINDOW = 65_535
MAX_WINDOW = (1 << 31) - 1
ANSWER = (b"HTTP/1.1 200 OK\r\n", b"Sun, 13 Sep 2020 12:26:40 GMT", b"X: y\r\nServer: s\r\n")
BODY = b"b" * 2000
LONG = 20_000  # bytes of a field that takes more than one frame


class Service:
    """The receiver of frames: it reads heads and trailers, and answers each complete request at once."""

    def __init__(self) -> None:
        self.wire: ServerH2Connection[StreamState] = ServerH2Connection(self, MAX_STREAMS, STREAM_WINDOW)
        self.received: dict[int, int] = {}
        self.answered = 0

    def on_request(self, number: int, block: FieldBlock, *, ended: bool) -> None:
        stream = StreamState(number, ended)
        self.wire.open(stream)
        self.received[number] = 0
        raw = block.raw_head(True)
        try:
            head = read_request(block.fields, HeadLimits(), ParserOptions(), raw=raw, ended=ended)
        except MalformedRequest as problem:
            self.wire.reset(number, problem.code)
            return
        assert head.version == (2, 0)
        if ended:
            self._answer(stream)

    def on_trailers(self, stream: StreamState, block: FieldBlock) -> None:
        try:
            check_trailers(block.fields, self.received[stream.number], is_announced=False)
        except MalformedRequest as problem:
            self.wire.reset(stream.number, problem.code)
            return
        self._answer(stream)

    def on_data(self, stream: StreamState, data: bytes) -> None:
        self.received[stream.number] += len(data)
        self.wire.consume(stream, len(data))
        if stream.ended:
            self._answer(stream)

    def on_reset(self, stream: StreamState) -> None:
        assert stream.number not in self.wire.streams

    def on_broken(self, stream: StreamState) -> None:
        assert stream.number not in self.wire.streams

    def on_window(self) -> None:
        pass

    def on_goaway(self) -> None:
        pass

    def _answer(self, stream: StreamState) -> None:
        wire = self.wire
        try:
            block = wire.encoder.head(*ANSWER)
            long = wire.encoder.encode([(b":status", b"200"), (b"x", b"y" * LONG)])
        except HeadTooLong:
            return
        self.answered += 1
        if self.answered % 3 == 0 and wire.takes_push:
            number, _size = wire.promise(stream.number, block)
            wire.open(StreamState(number, True))
            wire.reset(number, ErrorCode.CANCEL)
        if self.answered % 2 and wire.has_room(len(BODY)):
            wire.answer(stream.number, block, BODY)
            wire.drop(stream)
            return
        room = max(wire.fits(stream, len(BODY) + 5), 4)
        wire.send_head(stream, long, end=False)
        if room > 5:
            wire.send_data(stream, BODY[: room - 5], end=True, padding=3)
        assert wire.take()


def seeds() -> Sequence[bytes]:
    cases = [b"".join(pieces) for pieces in CASES.values()]
    cut = [data.removeprefix(OPEN) for data in (*cases, *BEGINNINGS.values())]
    return [data for data in dict.fromkeys(cut) if len(data) < 20_000][:150]


def run(data: bytes) -> None:
    service = Service()
    service.wire.begin()
    try:
        _receive(service, data if data.startswith(PREFACE) else OPEN + data)
    except ConnectionFault as problem:
        service.wire.farewell(problem.code)
    else:
        assert service.wire.window <= MAX_WINDOW
    assert len(service.wire.streams) <= MAX_STREAMS + 1
    _check_blocks(data)
    _check_parts(data[:200].decode("latin-1"))


def _check_parts(text: str) -> None:
    """Requests that do not come in frames: those of pushes and of upgrades; and interim responses."""
    lines = text.split("\r\n")
    pairs = [line.partition(":")[::2] for line in lines[1:]]
    headers = Headers()
    for name, value in pairs:
        headers.set(name, value)
    head = promised_request("GET", lines[0], headers, HeadLimits(line=100), ParserOptions())
    upgraded(head, ParserOptions())
    for name, value in interim_fields(103, pairs):
        assert name == name.lower() and b"\r" not in value and b"\n" not in value
    payload = client_settings(text)
    if payload:
        with contextlib.suppress(ConnectionFault):
            Service().wire.apply(payload)


def _receive(service: Service, data: bytes) -> None:
    wire = service.wire
    at = wire.skip_preface(data, 0)
    if not wire.has_preface:
        return
    while len(data) - at >= 9:
        end = wire.frame_end(data, at)
        if end > len(data):
            break
        wire.receive(data, at, end)
        at = end


def _check_blocks(data: bytes) -> None:
    """Decode the pieces of *data* as field blocks, each twice."""
    from whimbrel.http.http2.hpack import FieldDecoder

    cached, plain = FieldDecoder(), Decoder(MAX_LIST)
    for block in data.split(b"\x00\x00")[:20]:
        for _ in range(2):
            try:
                fields = [(bytes(name), bytes(value)) for name, value in cached.decode(block).fields]
            except ConnectionFault:
                return
            try:
                expected = [(bytes(field[0]), bytes(field[1])) for field in plain.decode(block, raw=True)]
            except (HPACKError, IndexError, ValueError):
                raise AssertionError(f"decoded with the cache alone: {block!r}") from None
            assert fields == expected
