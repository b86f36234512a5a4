"""The server side of one HTTP/2 connection without a socket: frames in, frames out, states of streams and
windows.

Every frame is checked before memory is allocated for it, and idle frames are counted before they are
processed.  Violations end the stream or the connection with the codes of 2.4.71 (nghttp2), which are those of
RFC 9113 where it defines one.  RFC 9113, 4 to 6.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, Protocol, TypeVar

from whimbrel.http.http2.hpack import FieldBlock, FieldDecoder, FieldEncoder
from whimbrel.http.http2.protocol import PREFACE, ConnectionFault, ErrorCode, goaway

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    range(10)
)
END_STREAM: Final = 0x01
ACK: Final = 0x01
END_HEADERS: Final = 0x04
PADDED: Final = 0x08
WITH_PRIORITY: Final = 0x20

MAX_FRAME: Final = 16384  # bytes of a frame from the client: SETTINGS_MAX_FRAME_SIZE stays at its default
MAX_SENT_FRAME: Final = 64 * 1024  # bytes of a frame to the client, even where it takes more
MAX_WINDOW: Final = (1 << 31) - 1
FIRST_WINDOW: Final = 65535  # before any SETTINGS
MAX_CONTINUATIONS: Final = 8  # frames behind a HEADERS frame (nghttp2's limit)
MAX_SETTINGS: Final = 32  # values of one SETTINGS frame (nghttp2's limit)
MAX_IDLE_FRAMES: Final = 1000  # consecutive frames that request nothing
USEFUL_DATA: Final = 256  # bytes of DATA that a WINDOW_UPDATE must have been good for
SHARED_WINDOWS: Final = 8  # windows of streams that the connection's window has: unread bodies of one client
_FRAME_SIZE = ErrorCode.FRAME_SIZE_ERROR
_PROTOCOL = ErrorCode.PROTOCOL_ERROR
_FLOW_CONTROL = ErrorCode.FLOW_CONTROL_ERROR


class StreamState:
    """State of an open stream on the wire.

    Attributes:
        number: its identifier
        ended: the client has sent END_STREAM
        window: bytes that may be sent
        inbound: bytes that the client may send
        consumed: bytes of its body that were read and not yet returned to the client's window
        sent: bytes of its HEADERS, CONTINUATION, DATA and PUSH_PROMISE frames, which logs count
    """

    __slots__ = ("consumed", "ended", "inbound", "number", "sent", "window")

    def __init__(self, number: int, ended: bool) -> None:
        self.number = number
        self.ended = ended
        self.window = 0
        self.inbound = 0
        self.consumed = 0
        self.sent = 0


S = TypeVar("S", bound=StreamState)
R = TypeVar("R", bound=StreamState, contravariant=True)


class Receiver(Protocol[R]):
    """Callbacks of a `ServerH2Connection` for arriving frames."""

    def on_request(self, number: int, block: FieldBlock, *, ended: bool) -> None:
        """A new stream; `Wire.open` makes it one that lasts."""

    def on_trailers(self, stream: R, block: FieldBlock) -> None:
        """The fields that end a body."""

    def on_data(self, stream: R, data: bytes) -> None:
        """Receive bytes of a body; *stream* has `ended` set after the last ones."""

    def on_reset(self, stream: R) -> None:
        """The client has ended *stream*, which is closed already."""

    def on_broken(self, stream: R) -> None:
        """A violation has ended *stream*, which is closed already."""

    def on_window(self) -> None:
        """A window, or the number of promised streams that may respond, has grown."""

    def on_goaway(self) -> None:
        """The client will open no more streams."""


class ServerH2Connection(Generic[S]):
    """See the module.

    Attributes:
        out: frames to send
        streams: the open streams by number, promised ones included
        highest: the highest number that the client has used
        promised: the highest number of a promised stream
        max_pushed: promised streams that the client lets respond at once; None: any number
        window: bytes that may be sent on all streams together
        initial_window: bytes that may be sent on a new stream
        max_frame: bytes of a frame that the client takes
        takes_push: the client allows pushes
        takes_protocols: extended CONNECT is announced (SETTINGS_ENABLE_CONNECT_PROTOCOL)
        head_received: bytes of the last HEADERS frame and of the blocks behind it
        max_errors: streams that may end with a flow-control error before the connection does; 0: any number
        idle: consecutive frames that requested nothing
        work: units of work (about two microseconds each) since the caller has set it to 0
    """

    def __init__(self, receiver: Receiver[S], max_streams: int, window: int) -> None:
        self._receiver = receiver
        self.max_streams = max_streams
        self._stream_window = window
        self.decoder = FieldDecoder()
        self.encoder = FieldEncoder()
        self.out = bytearray()
        self.streams: dict[int, S] = {}
        self.highest = 0
        self.promised = 0
        self.idle = 0
        self.work = 0
        self.max_pushed: int | None = None
        self.window = FIRST_WINDOW
        self.initial_window = FIRST_WINDOW
        self.max_frame = MAX_FRAME
        self.takes_push = True
        self.takes_protocols = False
        self.head_received = 0
        self.max_errors = 0
        self._errors = 0
        self._inbound_initial = FIRST_WINDOW
        self._inbound = max(SHARED_WINDOWS * window, FIRST_WINDOW)
        self._shared = self._inbound
        self._consumed = 0
        self._preface = PREFACE
        self._has_settings = False
        self.is_acknowledged = False
        # number and flags of a HEADERS frame without END_HEADERS
        self._gathering: tuple[int, int] | None = None
        self._pieces: list[bytes] = []
        self._frames: tuple[Callable[[int, int, bytes], None], ...] = (
            self._data,
            self._headers,
            self._priority,
            self._rst_stream,
            self._settings,
            self._push_promise,
            self._ping,
            self._goaway,
            self._window_update,
            self._continuation,
        )

    # frames that arrive -------------------------------------------------------------------------------------
    def begin(self) -> None:
        """Send the settings, and enlarge the connection's window."""
        pairs = b"\0\3" + self.max_streams.to_bytes(4)
        if self._stream_window != FIRST_WINDOW:
            pairs += b"\0\4" + self._stream_window.to_bytes(4)
        if self.takes_protocols:
            pairs += b"\0\x08\0\0\0\x01"
        self.send(SETTINGS, 0, 0, pairs)
        if self._shared > FIRST_WINDOW:
            self.send(WINDOW_UPDATE, 0, 0, (self._shared - FIRST_WINDOW).to_bytes(4))

    def skip_preface(self, data: bytes, at: int) -> int:
        """Return the start of the first frame, once the preface is complete; raise ConnectionFault."""
        there = data[at : at + len(self._preface)]
        if not self._preface.startswith(there):
            raise ConnectionFault(_PROTOCOL)
        self._preface = self._preface[len(there) :]
        return at + len(there)

    @property
    def has_preface(self) -> bool:
        """Return True if the preface is complete."""
        return not self._preface

    @property
    def is_clear(self) -> bool:
        """True if the next byte begins a frame that may be a request."""
        return self._has_settings and self._gathering is None

    def frame_end(self, data: bytes, at: int) -> int:
        """Return the end of the frame at *at* by its header; raise ConnectionFault before its payload."""
        size = int.from_bytes(data[at : at + 3])
        if size > MAX_FRAME:
            raise ConnectionFault(_FRAME_SIZE)
        return at + 9 + size

    def receive(self, data: bytes, at: int, end: int) -> None:
        """Take the whole frame in *data* from *at* to *end*; raises ConnectionFault."""
        self.work += 1
        kind = data[at + 3]
        flags = data[at + 4]
        number = int.from_bytes(data[at + 5 : at + 9]) & MAX_WINDOW
        if self._gathering is not None and (kind != CONTINUATION or number != self._gathering[0]):
            raise ConnectionFault(_PROTOCOL)
        if not self._has_settings and (kind != SETTINGS or flags & ACK):
            raise ConnectionFault(_PROTOCOL)
        if kind < len(self._frames):
            self._frames[kind](flags, number, data[at + 9 : end])
        else:
            self._count_idle()

    def _count_idle(self) -> None:
        self.idle += 1
        if self.idle > MAX_IDLE_FRAMES:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM)

    def _unpadded(self, flags: int, payload: bytes) -> bytes:
        if not flags & PADDED:
            return payload
        if not payload or payload[0] >= len(payload):
            raise ConnectionFault(_PROTOCOL)
        return payload[1 : len(payload) - payload[0]]

    def _is_idle(self, number: int) -> bool:
        """Return True if a stream was neither opened nor promised."""
        return not number or number > (self.highest if number & 1 else self.promised)

    def _data(self, flags: int, number: int, payload: bytes) -> None:
        data = self._unpadded(flags, payload)
        size = len(payload)
        if self._is_idle(number):
            raise ConnectionFault(_PROTOCOL)
        self._inbound -= size
        if self._inbound < 0:
            raise ConnectionFault(_FLOW_CONTROL)
        stream = self.streams.get(number)
        if stream is None:
            self._count_idle()
            self._return_shared(size)
            return
        if stream.ended:
            raise ConnectionFault(ErrorCode.STREAM_CLOSED)
        stream.inbound -= size
        if stream.inbound < 0:
            self._return_shared(size)
            self._break(stream, _FLOW_CONTROL)
            return
        stream.ended = bool(flags & END_STREAM)
        if data or stream.ended:
            self.idle = 0
        else:
            self._count_idle()
        if size > len(data):
            self.consume(stream, size - len(data))
        self._receiver.on_data(stream, data)

    def _headers(self, flags: int, number: int, payload: bytes) -> None:
        self.head_received = 9 + len(payload)
        payload = self._unpadded(flags, payload)
        if flags & WITH_PRIORITY:
            if flags & PADDED and len(payload) < 5:
                raise ConnectionFault(_PROTOCOL)  # more padding than the frame has room for
            self._check_priority(number, payload[:5])
            payload = payload[5:]
        stream = self.streams.get(number)
        if not number & 1:
            raise ConnectionFault(_PROTOCOL)
        if stream is not None and stream.ended:
            raise ConnectionFault(ErrorCode.STREAM_CLOSED)
        if flags & END_HEADERS:
            self._block(flags, number, payload)
        else:
            self._gathering = (number, flags)
            self._pieces = [payload]

    def _continuation(self, flags: int, _number: int, payload: bytes) -> None:
        if self._gathering is None:
            raise ConnectionFault(_PROTOCOL)
        if len(self._pieces) > MAX_CONTINUATIONS:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM)
        self._pieces.append(payload)
        self.head_received += len(payload)
        if flags & END_HEADERS:
            (number, first) = self._gathering
            pieces = self._pieces
            self._gathering = None
            self._pieces = []
            self._block(first, number, b"".join(pieces))

    def _block(self, flags: int, number: int, block: bytes) -> None:
        if block not in self.decoder.known:
            self.work += len(block) // 2
        fields = self.decoder.decode(block)
        stream = self.streams.get(number)
        self.work += fields.size // 1024
        if number > self.highest:
            if self.requests >= self.max_streams and self.is_acknowledged:
                raise ConnectionFault(_PROTOCOL)
            self.highest = number
            self._receiver.on_request(number, fields, ended=bool(flags & END_STREAM))
        elif stream is None:
            self._count_idle()
        elif not flags & END_STREAM:
            self._break(stream, _PROTOCOL)
        else:
            stream.ended = True
            self._receiver.on_trailers(stream, fields)

    def _check_priority(self, number: int, payload: bytes) -> None:
        if len(payload) != 5:
            raise ConnectionFault(_FRAME_SIZE)
        if not number or int.from_bytes(payload[:4]) & MAX_WINDOW == number:
            raise ConnectionFault(_PROTOCOL)

    def _priority(self, _flags: int, number: int, payload: bytes) -> None:
        self._count_idle()
        self._check_priority(number, payload)

    def _rst_stream(self, _flags: int, number: int, payload: bytes) -> None:
        if len(payload) != 4:
            raise ConnectionFault(_FRAME_SIZE)
        if self._is_idle(number):
            raise ConnectionFault(_PROTOCOL)
        stream = self.streams.get(number)
        if stream is None:
            self._count_idle()
        else:
            self.drop(stream)
            self._receiver.on_reset(stream)

    def _settings(self, flags: int, number: int, payload: bytes) -> None:
        if len(payload) % 6 or (flags & ACK and payload):
            raise ConnectionFault(_FRAME_SIZE)
        if len(payload) > 6 * MAX_SETTINGS:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM)
        if number:
            raise ConnectionFault(_PROTOCOL)
        if flags & ACK:
            self._acknowledged()
            return
        self._count_idle()
        self._has_settings = True
        self.apply(payload)
        self.send(SETTINGS, ACK, 0)

    def apply(self, payload: bytes) -> None:
        """Obey the client's settings."""
        for at in range(0, len(payload), 6):
            self._apply(int.from_bytes(payload[at : at + 2]), int.from_bytes(payload[at + 2 : at + 6]))

    def _apply(self, name: int, value: int) -> None:
        if name == 1:
            self.encoder.resize(value)
        elif name == 2:
            if value > 1:
                raise ConnectionFault(_PROTOCOL)
            self.takes_push = bool(value)
        elif name == 3:
            self.max_pushed = value
            self._receiver.on_window()
        elif name == 4:
            if value > MAX_WINDOW:
                raise ConnectionFault(_FLOW_CONTROL)
            more, self.initial_window = value - self.initial_window, value
            for stream in list(self.streams.values()) if more else ():
                self._widen(stream, more)
            self._receiver.on_window()
        elif name == 5:
            if not MAX_FRAME <= value < 1 << 24:
                raise ConnectionFault(_PROTOCOL)
            self.max_frame = min(value, MAX_SENT_FRAME)

    def _acknowledged(self) -> None:
        if self.is_acknowledged:
            raise ConnectionFault(_PROTOCOL)
        self.is_acknowledged = True
        more, self._inbound_initial = self._stream_window - self._inbound_initial, self._stream_window
        for stream in self.streams.values():
            stream.inbound += more

    def _push_promise(self, flags: int, _number: int, payload: bytes) -> None:
        raise ConnectionFault(_PROTOCOL if len(payload) >= 4 or flags & PADDED else _FRAME_SIZE)

    def _ping(self, flags: int, number: int, payload: bytes) -> None:
        self._count_idle()
        if len(payload) != 8:
            raise ConnectionFault(_FRAME_SIZE)
        if number:
            raise ConnectionFault(_PROTOCOL)
        if not flags & ACK:
            self.send(PING, ACK, 0, payload)

    def _goaway(self, _flags: int, number: int, payload: bytes) -> None:
        self._count_idle()
        if len(payload) < 8:
            raise ConnectionFault(_FRAME_SIZE)
        if number or payload[3] & 1:  # it names a stream that the server has promised
            raise ConnectionFault(_PROTOCOL)
        self._receiver.on_goaway()

    def _window_update(self, _flags: int, number: int, payload: bytes) -> None:
        self._count_idle()
        if len(payload) != 4:
            raise ConnectionFault(_FRAME_SIZE)
        more = int.from_bytes(payload) & MAX_WINDOW
        if not more or (number and self._is_idle(number)):
            raise ConnectionFault(_PROTOCOL)
        if not number:
            self.window += more
            if self.window > MAX_WINDOW:
                raise ConnectionFault(_FLOW_CONTROL)
        elif (stream := self.streams.get(number)) is not None:
            self._widen(stream, more)
        self._receiver.on_window()

    def _widen(self, stream: S, more: int) -> None:
        stream.window += more
        if stream.window > MAX_WINDOW:
            self._break(stream, _FLOW_CONTROL)

    # streams ------------------------------------------------------------------------------------------------
    @property
    def requests(self) -> int:
        """Return the number of open streams that the client has begun."""
        if not self.promised:
            return len(self.streams)
        return sum([number & 1 for number in self.streams])

    def open(self, stream: S) -> None:
        """Retain a stream that a request has opened until `drop` or `reset`."""
        stream.window = self.initial_window
        stream.inbound = self._inbound_initial
        self.streams[stream.number] = stream

    def drop(self, stream: S) -> None:
        """Forget a stream that is over on both sides; what arrives for it later is ignored."""
        self.streams.pop(stream.number, None)

    def reset(self, number: int, code: ErrorCode) -> None:
        """End a stream from our side."""
        self.streams.pop(number, None)
        self.send(RST_STREAM, 0, number, code.to_bytes(4))

    def _break(self, stream: S, code: ErrorCode) -> None:
        self.reset(stream.number, code)
        self._receiver.on_broken(stream)
        if code is _FLOW_CONTROL:
            self._errors += 1
            if 0 < self.max_errors < self._errors:
                raise ConnectionFault(_PROTOCOL)

    def consume(self, stream: S, size: int) -> None:
        """Return *size* read bytes to the client's windows by halves, so that few frames do it."""
        self._return_shared(size)
        stream.consumed += size
        if stream.consumed * 2 >= self._stream_window and not stream.ended and stream.number in self.streams:
            self.send(WINDOW_UPDATE, 0, stream.number, stream.consumed.to_bytes(4))
            stream.inbound += stream.consumed
            stream.consumed = 0

    def _return_shared(self, size: int) -> None:
        self._consumed += size
        if self._consumed * 2 >= self._shared:
            self.send(WINDOW_UPDATE, 0, 0, self._consumed.to_bytes(4))
            self._inbound += self._consumed
            self._consumed = 0

    # frames to send -----------------------------------------------------------------------------------------
    def send(self, kind: int, flags: int, number: int, payload: bytes = b"") -> None:
        """Send one frame."""
        self.out += b"%b%c%c%b%b" % (len(payload).to_bytes(3), kind, flags, number.to_bytes(4), payload)

    def take(self) -> bytes:
        """Return the frames to send, which are the caller's now."""
        out, self.out = bytes(self.out), bytearray()
        return out

    def fits(self, stream: S, size: int) -> int:
        """Return how many of *size* bytes fit into the next DATA frame of *stream*."""
        return min(size, self.max_frame, self.window, stream.window)

    def send_head(self, stream: StreamState, block: bytes, *, end: bool) -> None:
        """The block of a response's fields, in as many frames as it takes; *end*: there is no body."""
        stream.sent += self._send_block(HEADERS, END_STREAM if end else 0, stream.number, block)

    def promise(self, parent: int, block: bytes) -> tuple[int, int]:
        """Promise a stream for the request *block* on the client's stream *parent*; return its number, and
        the bytes of the frames.
        """
        self.promised += 2
        return self.promised, self._send_block(PUSH_PROMISE, 0, parent, self.promised.to_bytes(4) + block)

    def _send_block(self, kind: int, flags: int, number: int, block: bytes) -> int:
        """Send a field block in as many frames as it takes; return their bytes."""
        if len(block) <= MAX_FRAME:
            self.send(kind, END_HEADERS | flags, number, block)
            return 9 + len(block)
        pieces = [block[at : at + MAX_FRAME] for at in range(0, len(block), MAX_FRAME)]
        self.send(kind, flags, number, pieces[0])
        for piece in pieces[1:-1]:
            self.send(CONTINUATION, 0, number, piece)
        self.send(CONTINUATION, END_HEADERS, number, pieces[-1])
        return 9 * len(pieces) + len(block)

    def send_data(self, stream: S, data: bytes, *, end: bool, padding: int | None = None) -> None:
        """Send one DATA frame for which `fits` has found room; add *padding* bytes."""
        payload = data if padding is None else b"%c%b%b" % (padding, data, bytes(padding))
        self.window -= len(payload)
        stream.window -= len(payload)
        stream.sent += 9 + len(payload)
        if end or len(data) >= USEFUL_DATA:
            self.idle = 0
        self.send(
            DATA, (END_STREAM if end else 0) | (0 if padding is None else PADDED), stream.number, payload
        )

    def has_room(self, size: int) -> bool:
        """True if *size* bytes fit into one frame on a new stream."""
        return size <= self.window and size <= self.initial_window and size <= self.max_frame

    def answer(self, number: int, block: bytes, body: bytes) -> int:
        """Send a whole response on a new stream, for which `has_room` was True; *block* fits into one frame.

        Return the bytes of the frames.
        """
        self.window -= len(body)
        name = number.to_bytes(4)
        if body:
            self.out += b"%b\x01\x04%b%b%b\0\x01%b%b" % (
                len(block).to_bytes(3),
                name,
                block,
                len(body).to_bytes(3),
                name,
                body,
            )
            return 18 + len(block) + len(body)
        self.out += b"%b\x01\x05%b%b" % (len(block).to_bytes(3), name, block)
        return 9 + len(block)

    def farewell(self, code: ErrorCode, text: bytes = b"") -> None:
        """A GOAWAY frame."""
        self.out += goaway(self.highest, code, text)
