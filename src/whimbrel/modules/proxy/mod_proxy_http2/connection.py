"""A connection to an HTTP/2 back end and its streams, over the package h2 (RFC 9113).

Bytes of a body that nobody has taken keep the window of their stream closed, so at most WINDOW of them are
held; the window of the connection is opened at once, so that one slow client does not stop the others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Final

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import (
    DataReceived,
    InformationalResponseReceived,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
    WindowUpdated,
)
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

from whimbrel.backends.connection import BackendConnection, ConnectionOwner
from whimbrel.base.numbers import strtol
from whimbrel.engine.coroutines import Completion
from whimbrel.http.client.answer import ResponseHead
from whimbrel.http.client.response_reader import MAX_INTERIM
from whimbrel.http.http2.protocol import ErrorCode
from whimbrel.modules.proxy.mod_proxy_http2.answer_head import STATUS, AnswerDecoder, answer_head

WINDOW: Final = 65535  # bytes of an answer that one stream holds
CONNECTION_WINDOW: Final = 1 << 24
MAX_UNSENT: Final = 1 << 20  # bytes of frames that a back end makes necessary and does not read
MAX_IDLE_FRAMES: Final = 1000  # frames in a row that bring no answer forward: PING, SETTINGS, empty DATA
FIRST_STREAM: Final = 1
_MAX_FRAME: Final = 16384
_HEADER: Final = 9
_DATA: Final = 0
_HEADERS: Final = 1
_SETTINGS: Final = 4
_GOAWAY: Final = 7
_OF_STREAMS: Final = frozenset((_DATA, _HEADERS, 3, 8, 9))  # RST_STREAM, WINDOW_UPDATE, CONTINUATION
_ACK: Final = 1
CANCEL: Final = 8
_BODILESS: Final = frozenset((204, 304))
HEADS: Final = (ResponseReceived, InformationalResponseReceived, TrailersReceived)
REFUSED: Final = 7


class StreamError(Exception):
    """The end of a stream before its answer is complete.

    Attributes:
        status: of the error page. `is_untouched`: the back end has not processed the request.
        is_lost: the connection has ended without an answer.
    """

    def __init__(self, status: int, *, is_untouched: bool = False, is_lost: bool = False) -> None:
        super().__init__(status)
        self.status = status
        self.is_untouched = is_untouched
        self.is_lost = is_lost


class BrokenProtocol(Exception):
    """Frames after which nothing that the back end sends can be read; *code* is that of GOAWAY."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code)
        self.code = code


class BackendStream:
    """One request and its answer. The back end's time to answer begins anew with each part of the answer that
    is read and each part of the request that is sent, whatever else the connection receives.

    Attributes:
        head: of the answer; `interim`: heads with a status of 1xx, which the reader removes.
        left: bytes of the body that Content-Length still promises, None without it.
        done: the answer is complete. `failure`: why it will never be. `has_sent`: the request is complete.
        buffered: bytes of the body that wait in `take`.
    """

    __slots__ = (
        "_connection",
        "_deadline",
        "_event",
        "_has_advanced",
        "_is_head",
        "_owed",
        "_pieces",
        "_timer",
        "_writable",
        "buffered",
        "done",
        "failure",
        "has_sent",
        "head",
        "id",
        "interim",
        "left",
        "timeout",
    )

    def __init__(
        self, connection: MultiplexedConnection, number: int, timeout: float, *, is_head: bool
    ) -> None:
        self._connection = connection
        self.id = number
        self.timeout = timeout
        self._is_head = is_head
        self.left: int | None = None
        self.head: ResponseHead | None = None
        self.interim: list[ResponseHead] = []
        self.done = False
        self.has_sent = False
        self.failure: StreamError | None = None
        self.buffered = 0
        self._owed = 0
        self._pieces: list[bytes] = []
        self._event: Completion[None] | None = None
        self._writable: Completion[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._has_advanced = True

    # reading --------------------------------------------------------------------------------------
    async def changed(self) -> None:
        """Wait until something of the answer arrives or the stream ends; the time is limited."""
        if self.done or self.failure is not None:
            return
        loop = asyncio.get_running_loop()
        event = Completion[None]()
        self._event = event
        if self._has_advanced:
            self._has_advanced = False
            self._deadline = loop.time() + self.timeout
        if self._timer is None:
            self._timer = loop.call_at(self._deadline, self._expire)
        await event

    def take(self) -> bytes:
        """Return the bytes that have arrived, and open the window for as many."""
        data = b"".join(self._pieces)
        self._has_advanced = self._has_advanced or self.buffered > 0
        self._pieces = []
        self.buffered = 0
        if self._owed and not self.done and self.failure is None:
            self._connection.open_window(self.id, self._owed)
        self._owed = 0
        return data

    def add(self, data: bytes, size: int) -> None:
        """Keep *data*, for which *size* bytes of the window were used."""
        if data:
            self._pieces.append(data)
            self.buffered += len(data)
            if self.left is not None:
                self.left -= len(data)
        self._owed += size

    @property
    def has_surplus(self) -> bool:
        """Return True if the body has more bytes than Content-Length admits."""
        return self.left is not None and self.left < 0

    def begin_answer(self, head: ResponseHead) -> None:
        """Keep the head of the answer."""
        self.head = head
        self._has_advanced = True
        length = head.fields.get("Content-Length")
        if length is not None:
            is_bodiless = self._is_head or head.status in _BODILESS
            self.left = 0 if is_bodiless else strtol(length)[0]

    def add_interim(self, head: ResponseHead) -> bool:
        """Keep the head of an interim response; return False if there are too many."""
        self.interim.append(head)
        self._has_advanced = True
        return len(self.interim) <= MAX_INTERIM

    def cancel(self) -> None:
        """Reset a stream whose answer is not wanted, or whose request was answered before its end."""
        self._pieces = []
        self.buffered = 0
        if not self.done and self.failure is None:
            self.fail(StreamError(502))
            self._connection.reset(self)
        elif self.done and not self.has_sent:
            self.has_sent = True
            self._connection.abandon(self)

    def fail(self, failure: StreamError) -> None:
        """End the stream, unless it has ended."""
        if not self.done and self.failure is None:
            self.failure = failure

    def wake(self) -> None:
        """Resume reader and sender."""
        if self._timer is not None and (self.done or self.failure is not None):
            self._timer.cancel()
            self._timer = None
        event, self._event = self._event, None
        if event is not None:
            event.set(None)
        self.wake_sender()

    def _expire(self) -> None:
        self._timer = None
        loop = asyncio.get_running_loop()
        if self._event is None:
            return
        if self._deadline > loop.time():
            self._timer = loop.call_at(self._deadline, self._expire)
            return
        self.fail(StreamError(503))
        self._connection.give_up(self)
        self.wake()

    # sending --------------------------------------------------------------------------------------
    def wake_sender(self) -> None:
        """Resume the sender of the body."""
        writable, self._writable = self._writable, None
        if writable is not None:
            writable.set(None)

    async def send(self, data: bytes, *, ends: bool) -> bool:
        """Send *data* as the windows admit; return False if the stream has ended."""
        at = 0
        connection = self._connection
        while self.failure is None and not self.done:
            room = connection.room_of(self.id)
            size = min(len(data) - at, room)
            if size > 0 or at == len(data):
                last = at + size == len(data)
                if not connection.send_data(self.id, data[at : at + size], ends=ends and last):
                    return False
                self._deadline = asyncio.get_running_loop().time() + self.timeout
                at += size
                if last:
                    self.has_sent = self.has_sent or ends
                    return True
            else:
                writable = Completion[None]()
                self._writable = writable
                await writable
        return False


class MultiplexedConnection(BackendConnection):
    """A connection with many streams.

    Attributes:
        streams: those whose answers are not complete, by number.
        is_draining: no further stream begins here.
    """

    __slots__ = (
        "_decoder",
        "_h2",
        "_has_settings",
        "_idle_frames",
        "_last",
        "_limit",
        "_partial",
        "_seen",
        "_waiting",
        "is_draining",
        "streams",
    )

    def __init__(self, pool: ConnectionOwner) -> None:
        super().__init__(pool)
        self.streams: dict[int, BackendStream] = {}
        self.is_draining = False
        self._has_settings = False
        self._idle_frames = 0
        self._last = 0
        self._limit = 1  # until SETTINGS arrive
        self._partial = b""
        self._seen = 0
        self._waiting: deque[Completion[None]] = deque()
        # h2 ends the connection at a malformed field or length, nghttp2 the stream: `AnswerDecoder`
        options = H2Configuration(client_side=True, header_encoding=None, validate_inbound_headers=False)
        self._h2 = H2Connection(options)
        self._h2.decoder = AnswerDecoder()
        self._decoder = self._h2.decoder
        values = {SettingCodes.ENABLE_PUSH: 0, SettingCodes.MAX_HEADER_LIST_SIZE: 65536}
        self._h2.local_settings = Settings(client=True, initial_values=values)

    # protocol -------------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(CONNECTION_WINDOW - WINDOW)
        self._flush()

    def data_received(self, data: bytes) -> None:
        if self.is_closed:
            return
        changed: dict[int, BackendStream] = {}
        code = None
        try:
            self._read(data, changed)
        except BrokenProtocol as problem:
            code = problem.code
        except H2Error:  # h2 has made its GOAWAY
            code = ErrorCode.NO_ERROR
        if code:
            self._h2.close_connection(code)
        self._flush()
        for stream in changed.values():
            stream.wake()
        if code is not None:
            # with other requests beside or before it, no stream is known to be the cause
            self._end_all(StreamError(503, is_lost=self._last > FIRST_STREAM))
            self.close()
        elif not self.is_closed:
            self._continue()

    def eof_received(self) -> bool:
        self._lose()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._lose()
        super().connection_lost(exc)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._wake_senders()

    def close(self) -> None:
        self.is_draining = True
        super().close()

    def _lose(self) -> None:
        self.is_closed = True
        self.is_draining = True
        self._end_all(StreamError(503, is_lost=True))

    def _end_all(self, failure: StreamError) -> None:
        self.is_draining = True
        ended, self.streams = list(self.streams.values()), {}
        for stream in ended:
            stream.fail(failure)
        for stream in ended:
            stream.wake()
        self._admit()

    # frames ---------------------------------------------------------------------------------------
    def _read(self, data: bytes, changed: dict[int, BackendStream]) -> None:
        """Process the frames that are complete; raises BrokenProtocol, H2Error.

        Each frame goes to h2 alone, so that those before a bad one count. GOAWAY does not, as h2 would read
        no frame behind it.
        """
        data = self._partial + data
        at = 0
        while len(data) - at >= _HEADER and not self.is_closed:
            size = int.from_bytes(data[at : at + 3], "big")
            kind = data[at + 3]
            self._check(size, kind, data[at + 4])
            number = int.from_bytes(data[at + 5 : at + _HEADER], "big") & 0x7FFFFFFF
            self._check_stream(kind, number)
            is_wanted = number in self.streams
            stop = at + _HEADER + size
            if stop > len(data):
                break
            if kind == _GOAWAY and size >= 8:
                last = int.from_bytes(data[at + _HEADER : at + _HEADER + 4], "big") & 0x7FFFFFFF
                self._go_away(last, changed)
            else:
                self._decoder.is_wanted = is_wanted
                for event in self._h2.receive_data(data[at:stop]):
                    self._apply(event, changed)
            if is_wanted and (kind == _HEADERS or (kind == _DATA and size)):
                self._idle_frames = 0
            else:
                self._idle_frames += 1
                if self._idle_frames > MAX_IDLE_FRAMES:
                    raise BrokenProtocol(ErrorCode.ENHANCE_YOUR_CALM)
            at = stop
        self._partial = data[at:]

    def _check(self, size: int, kind: int, flags: int) -> None:
        """Raise BrokenProtocol for a frame that is too long, before its bytes are awaited, and for a first
        frame that is not SETTINGS (RFC 9113, 3.4): the back end does not speak HTTP/2.
        """
        if size > _MAX_FRAME:
            raise BrokenProtocol(ErrorCode.FRAME_SIZE_ERROR)
        if not self._has_settings:
            if kind != _SETTINGS or flags & _ACK:
                raise BrokenProtocol(ErrorCode.PROTOCOL_ERROR)
            self._has_settings = True

    def _check_stream(self, kind: int, number: int) -> None:
        """Raise BrokenProtocol for a stream that no request has begun (RFC 9113, 5.1.1), which h2 ignores,
        and for a GOAWAY of one stream.
        """
        is_unknown = kind in _OF_STREAMS and number and (number > self._last or not number & 1)
        if is_unknown or (kind == _GOAWAY and number):
            raise BrokenProtocol(ErrorCode.PROTOCOL_ERROR)

    def _go_away(self, last: int, changed: dict[int, BackendStream]) -> None:
        self.is_draining = True
        for number in [number for number in self.streams if number > last]:
            stream = self.streams.pop(number)
            stream.fail(StreamError(502, is_untouched=True))
            changed[number] = stream

    def _apply(self, event: object, changed: dict[int, BackendStream]) -> None:
        if isinstance(event, RemoteSettingsChanged):
            self._limit = self._h2.remote_settings.max_concurrent_streams
            changed.update(self.streams)
            return
        if isinstance(event, WindowUpdated):
            if event.stream_id == 0:
                changed.update(self.streams)
            elif event.stream_id in self.streams:
                changed[event.stream_id] = self.streams[event.stream_id]
            return
        if isinstance(event, DataReceived):
            self._consume(event.flow_controlled_length)
        stream = self.streams.get(getattr(event, "stream_id", None) or 0)
        if stream is None:
            return
        changed[stream.id] = stream
        if isinstance(event, DataReceived):
            stream.add(event.data, event.flow_controlled_length)
            if stream.has_surplus:
                self._refuse(stream, ErrorCode.PROTOCOL_ERROR)
        elif isinstance(event, HEADS):
            self._take_head(stream, event)
        elif isinstance(event, StreamEnded):
            del self.streams[stream.id]
            if stream.left:
                stream.fail(StreamError(502))
            else:
                stream.done = True
        elif isinstance(event, StreamReset):
            del self.streams[stream.id]
            refused = event.error_code == REFUSED and stream.head is None
            stream.fail(StreamError(502, is_untouched=refused))

    def _take_head(self, stream: BackendStream, event: object) -> None:
        fields = self._decoder.fields
        is_trailer = isinstance(event, TrailersReceived)
        if fields is None or is_trailer == (fields[:1] != [] and fields[0][0] == STATUS):
            self._refuse(stream, ErrorCode.PROTOCOL_ERROR)
        elif isinstance(event, ResponseReceived):
            stream.begin_answer(answer_head(fields))
        elif not is_trailer and not stream.add_interim(answer_head(fields)):
            self._refuse(stream, ErrorCode.ENHANCE_YOUR_CALM)

    def _refuse(self, stream: BackendStream, code: ErrorCode) -> None:
        """End a stream whose answer is malformed; the others go on."""
        stream.fail(StreamError(502))
        self.reset(stream, code)

    def _consume(self, size: int) -> None:
        """Open the window of the connection again, in large steps."""
        self._seen += size
        if self._seen >= CONNECTION_WINDOW // 2:
            self._h2.increment_flow_control_window(self._seen)
            self._seen = 0

    def _flush(self) -> None:
        data = self._h2.data_to_send()
        if data and not self.transport.is_closing():
            self.transport.write(data)
            if self.transport.get_write_buffer_size() > MAX_UNSENT:
                self.close()

    def _wake_senders(self) -> None:
        for stream in list(self.streams.values()):
            stream.wake_sender()

    def give_up(self, stream: BackendStream) -> None:
        """Cancel a stream whose time is over; no further one begins on a connection that is so slow."""
        self.is_draining = True
        self.reset(stream)

    def retire(self) -> None:
        """Begin no further stream here; close the connection once the others have ended."""
        self.is_draining = True
        self._continue()

    def _continue(self) -> None:
        """Let requests begin that wait, or close a connection that has no further use."""
        if self.is_draining and not self.streams and not self.is_closed:
            self.close()
        self._admit()

    def _admit(self) -> None:
        free = len(self._waiting) if self.is_draining else self._limit - len(self.streams)
        while self._waiting and free > 0:
            free -= 1
            self._waiting.popleft().set(None)

    # streams --------------------------------------------------------------------------------------
    @property
    def has_room(self) -> bool:
        """Return True if a stream may begin now."""
        return len(self.streams) < self._limit

    async def room(self, timeout: float) -> None:
        """Wait until a stream may begin, or the connection is of no further use; raises StreamError."""
        waiter = Completion[None]()
        self._waiting.append(waiter)
        timer = asyncio.get_running_loop().call_later(timeout, waiter.fail, StreamError(503))
        try:
            await waiter
        finally:
            timer.cancel()
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def begin_stream(self, fields: list[tuple[bytes, bytes]], timeout: float, *, ends: bool) -> BackendStream:
        """Send the head of a request; raises StreamError if no stream can begin."""
        try:
            number = self._h2.get_next_available_stream_id()
            self._h2.send_headers(number, fields, end_stream=ends)
        except H2Error:
            self.is_draining = True
            raise StreamError(503, is_untouched=True) from None
        self._last = number
        stream = BackendStream(self, number, timeout, is_head=fields[0][1] == b"HEAD")
        self.streams[number] = stream
        stream.has_sent = ends
        self._idle_frames = 0
        self._flush()
        return stream

    def room_of(self, number: int) -> int:
        """Return the bytes that the next frame of the stream may have."""
        if self.is_paused or number not in self.streams:
            return 0
        return min(self._h2.local_flow_control_window(number), self._h2.max_outbound_frame_size)

    def send_data(self, number: int, data: bytes, *, ends: bool) -> bool:
        """Send one frame of a body; return False if the stream has ended."""
        self._idle_frames = 0
        return self._act(lambda: self._h2.send_data(number, data, end_stream=ends))

    def open_window(self, number: int, size: int) -> None:
        """Let the back end send *size* further bytes."""
        if number in self.streams:
            self._act(lambda: self._h2.increment_flow_control_window(size, number))

    def reset(self, stream: BackendStream, code: int = CANCEL) -> None:
        """Cancel a stream of which nothing more is wanted."""
        if self.streams.pop(stream.id, None) is not None:
            self._act(lambda: self._h2.reset_stream(stream.id, code))
            self._continue()

    def abandon(self, stream: BackendStream) -> None:
        """End the request of a stream that is answered, which else would count as open; the back end may have
        ended it itself (RFC 9113, 8.1).
        """
        if not self.is_closed:
            self._act(lambda: self._h2.reset_stream(stream.id, CANCEL))

    def _act(self, action: Callable[[], None]) -> bool:
        """Send the frame that *action* makes; return False if h2 has closed the stream or the connection."""
        try:
            action()
        except H2Error:
            return False
        self._flush()
        return True
