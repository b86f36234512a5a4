"""Frames of a client against RFC 9113; the codes are those of 2.4.71, as in tests/hostile/test_http2.py."""

from __future__ import annotations

import pytest

pytest.importorskip("h2", reason="the package h2, the client of these tests, is not installed")

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, Event, ResponseReceived, StreamEnded
from tests.hostile.http2_frames import (
    END_HEADERS,
    PUSH_PROMISE,
    frame,
    read_frames,
    request,
    settings,
    window,
)

from whimbrel.http.http2.connection import (
    ACK,
    CONTINUATION,
    DATA,
    END_STREAM,
    HEADERS,
    MAX_CONTINUATIONS,
    MAX_FRAME,
    MAX_IDLE_FRAMES,
    MAX_SETTINGS,
    PING,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    SHARED_WINDOWS,
    ServerH2Connection,
    StreamState,
)
from whimbrel.http.http2.hpack import FieldBlock
from whimbrel.http.http2.protocol import PREFACE, ConnectionFault, ErrorCode

GET = [(":method", "GET"), (":scheme", "http"), (":authority", "localhost"), (":path", "/")]


class Log:
    """Opens a stream for each request, and notes what else a wire calls."""

    def __init__(self, max_streams: int = 100, window: int = 65535) -> None:
        self.wire: ServerH2Connection[StreamState] = ServerH2Connection(self, max_streams, window)
        self.calls: list[tuple[object, ...]] = []

    def on_request(self, number: int, block: FieldBlock, *, ended: bool) -> None:
        self.calls.append(("request", number, ended))
        self.wire.open(StreamState(number, ended))

    def on_trailers(self, stream: StreamState, block: FieldBlock) -> None:
        self.calls.append(("trailers", stream.number))

    def on_data(self, stream: StreamState, data: bytes) -> None:
        self.calls.append(("data", stream.number, data))

    def on_reset(self, stream: StreamState) -> None:
        self.calls.append(("reset", stream.number))

    def on_broken(self, stream: StreamState) -> None:
        self.calls.append(("broken", stream.number))

    def on_window(self) -> None:
        self.calls.append(("window",))

    def on_goaway(self) -> None:
        self.calls.append(("goaway",))

    def feed(self, data: bytes) -> Log:
        """Take all frames in *data*."""
        at = self.wire.skip_preface(data, 0)
        while len(data) - at >= 9:
            end = self.wire.frame_end(data, at)
            self.wire.receive(data, at, end)
            at = end
        return self


def begun(**limits: int) -> Log:
    """A wire that has had the client's preface, settings and acknowledgement."""
    return Log(**limits).feed(PREFACE + settings() + frame(SETTINGS, ACK))


def fault(log: Log, data: bytes) -> ErrorCode:
    """The code with which *data* ends the connection."""
    with pytest.raises(ConnectionFault) as caught:
        log.feed(data)
    return caught.value.code


def test_a_request_and_its_response() -> None:
    client, log = H2Connection(H2Configuration(header_encoding=False)), Log()
    client.initiate_connection()
    client.send_headers(1, GET, end_stream=True)
    log.wire.begin()
    log.feed(client.data_to_send())
    # SETTINGS of h2 name a window and a number of streams; a change of either may let streams go on
    assert log.calls == [("window",), ("window",), ("request", 1, True)]
    (stream,) = log.wire.streams.values()
    log.wire.send_head(
        stream, log.wire.encoder.encode([(b":status", b"200"), (b"x", b"y" * 40_000)]), end=False
    )
    log.wire.send_data(stream, b"abc", end=False, padding=4)
    log.wire.send_data(stream, b"", end=True)
    events: list[Event] = client.receive_data(log.wire.take())
    (head,) = [e for e in events if isinstance(e, ResponseReceived)]
    assert head.headers == [(b":status", b"200"), (b"x", b"y" * 40_000)]
    assert [(e.data, e.flow_controlled_length) for e in events if isinstance(e, DataReceived)] == [
        (b"abc", 8),
        (b"", 0),
    ]
    assert any(isinstance(e, StreamEnded) for e in events)
    assert stream.window == log.wire.window == 65535 - 8


@pytest.mark.parametrize(
    ("kind", "flags", "number", "payload"),
    [
        (PING, ACK, 0, bytes(8)),
        (PING, 0, 0, bytes(8)),
        (SETTINGS, 0, 0, b""),
        (PRIORITY, 0, 1, b"\0\0\0\0\x10"),
        (0xEE, 0, 0, b""),
        (8, 0, 0, b"\0\0\0\1"),
        (RST_STREAM, 0, 1, bytes(4)),
        (DATA, 0, 1, b"x"),
    ],
)
def test_frames_that_ask_for_nothing_are_counted(kind: int, flags: int, number: int, payload: bytes) -> None:
    """The stream 1 has ended."""
    log = begun().feed(request(1))
    log.wire.drop(log.wire.streams[1])
    log.wire.idle = 0
    one = frame(kind, flags, number, payload)
    log.feed(one * MAX_IDLE_FRAMES)
    before = len(log.wire.take())
    assert fault(log, one) is ErrorCode.ENHANCE_YOUR_CALM
    assert not log.wire.out and before <= MAX_IDLE_FRAMES * 17 + 1000


def test_empty_data_is_counted_until_something_comes() -> None:
    log = begun().feed(request(1, method="POST", end=False))
    log.wire.idle = 0
    log.feed(
        frame(DATA, 0, 1) * MAX_IDLE_FRAMES + frame(DATA, 0, 1, b"x") + frame(DATA, 0, 1) * MAX_IDLE_FRAMES
    )
    assert fault(log, frame(DATA, 0, 1)) is ErrorCode.ENHANCE_YOUR_CALM


def test_a_large_download_is_no_flood() -> None:
    """A client that takes what it gets may widen the windows as often as it likes."""
    log = begun().feed(request(1))
    for _ in range(3 * MAX_IDLE_FRAMES):
        log.feed(window(0, 1000) + window(1, 1000))
        log.wire.send_data(log.wire.streams[1], b"x" * 1000, end=False)
        log.wire.take()
    assert log.wire.idle == 0


def test_continuations_are_counted() -> None:
    """nghttp2 takes eight."""
    start = frame(HEADERS, END_STREAM, 1, b"\x82")
    assert begun().feed(start + frame(CONTINUATION, 0, 1) * MAX_CONTINUATIONS).calls == []
    assert (
        fault(begun(), start + frame(CONTINUATION, 0, 1) * (MAX_CONTINUATIONS + 1))
        is ErrorCode.ENHANCE_YOUR_CALM
    )


def test_a_frame_that_is_too_large_is_refused_before_it_has_come() -> None:
    log = begun()
    with pytest.raises(ConnectionFault) as caught:
        log.wire.frame_end(frame(DATA, 0, 1, bytes(MAX_FRAME + 1))[:9], 0)
    assert caught.value.code is ErrorCode.FRAME_SIZE_ERROR


def test_settings_are_counted() -> None:
    assert begun().feed(settings(*[(0xFF, 1)] * MAX_SETTINGS)).wire.idle == 2
    assert fault(begun(), settings(*[(0xFF, 1)] * (MAX_SETTINGS + 1))) is ErrorCode.ENHANCE_YOUR_CALM


def test_more_streams_than_announced() -> None:
    log = begun(max_streams=2).feed(request(1) + request(3))
    assert fault(log, request(5)) is ErrorCode.PROTOCOL_ERROR
    early = Log(max_streams=2).feed(PREFACE + settings() + request(1) + request(3) + request(5))
    assert early.calls[-1] == (
        "request",
        5,
        True,
    )  # the client can't know of the limit: the receiver refuses it


def test_the_bodies_of_all_streams_share_a_window() -> None:
    log = begun(window=1000)
    most = SHARED_WINDOWS * 1000 if SHARED_WINDOWS * 1000 > 65535 else 65535
    for number in range(1, 2 * (most // 1000) + 1, 2):
        log.feed(request(number, method="POST", end=False) + frame(DATA, 0, number, bytes(1000)))
    log.feed(request(999, method="POST", end=False))
    assert fault(log, frame(DATA, 0, 999, bytes(1000))) is ErrorCode.FLOW_CONTROL_ERROR


def test_what_is_read_of_a_body_may_be_sent_again() -> None:
    log = begun(window=1000).feed(request(1, method="POST", end=False) + frame(DATA, 0, 1, bytes(1000)))
    log.wire.take()
    stream = log.wire.streams[1]
    log.wire.consume(stream, 400)
    assert log.wire.take() == b""
    log.wire.consume(stream, 200)
    assert log.wire.take() == window(1, 600)
    log.feed(frame(DATA, 0, 1, bytes(600)))
    assert log.calls[-1] == ("data", 1, bytes(600)) and stream.inbound == 0


def test_frames_of_streams_that_are_over_are_ignored() -> None:
    log = begun().feed(request(1, method="POST", end=False))
    log.wire.reset(1, ErrorCode.CANCEL)
    log.feed(frame(DATA, END_STREAM, 1, b"x") + request(1) + window(1, 5) + frame(RST_STREAM, 0, 1, bytes(4)))
    assert [call for call in log.calls if call != ("window",)] == [("request", 1, False)]
    assert log.wire.highest == 1


@pytest.mark.parametrize(("most", "last"), [(2, 3), (8, 9), (0, 12)])
def test_flow_control_errors_of_streams_are_counted(most: int, last: int) -> None:
    """2.4.71 ends the connection with the error behind H2MaxStreamErrors."""
    log = begun()
    log.wire.max_errors = most
    for count in range(1, 13):
        log.feed(request(2 * count - 1, method="POST", end=False))
        overflow = window(2 * count - 1, (1 << 31) - 1)
        if most and count == last:
            assert fault(log, overflow) is ErrorCode.PROTOCOL_ERROR
            break
        log.feed(overflow)
    assert len([call for call in log.calls if call[0] == "broken"]) == last


def test_promised_streams() -> None:
    log = begun()
    log.feed(request(1, end=False))
    log.wire.take()
    assert log.wire.promise(1, b"x" * 20_000) == (2, 20_000 + 4 + 18)
    kinds = [(kind, flags, number) for kind, flags, number, _payload in read_frames(log.wire.take())]
    assert kinds == [(PUSH_PROMISE, 0, 1), (CONTINUATION, END_HEADERS, 1)]
    log.wire.open(StreamState(2, ended=True))
    assert (log.wire.requests, log.wire.promised) == (1, 2)
    log.feed(settings((3, 7)) + window(2, 5) + frame(RST_STREAM, 0, 2, bytes(4)))
    assert log.wire.max_pushed == 7 and ("reset", 2) in log.calls
    resets = [frame(RST_STREAM, 0, number, bytes(4)) for number in (0, 4)]
    for late in (window(4, 5), frame(DATA, 0, 0, b"x"), request(2), *resets):
        assert fault(begun(), late) is ErrorCode.PROTOCOL_ERROR


def test_sizes_of_heads_on_the_wire() -> None:
    log = begun()
    log.feed(request(1))
    size = len(request(1))
    assert log.wire.head_received == size
    head = request(3)[9:]
    log.feed(frame(HEADERS, END_STREAM, 3, head[:5]) + frame(CONTINUATION, END_HEADERS, 3, head[5:]))
    assert log.wire.head_received == size  # as nghttp2 counts: without the second frame header
    stream = log.wire.streams[1]
    stream.window = 100
    log.wire.send_head(stream, b"abc", end=False)
    log.wire.send_data(stream, b"hello", end=True, padding=2)
    assert stream.sent == 12 + 9 + 8
