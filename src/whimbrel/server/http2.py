"""One HTTP/2 connection: frames in, requests to the engine, answers out under the client's flow control.

`HttpProtocol` hands a connection over when it begins with the preface or after an answer of 101; TLS may do so after its handshake.  Streams are
answered side by side where they wait; an answer that needs no waiting is sent at once.  Memory is bounded: by the number of streams and of requests
still worked on, their windows, the size of a block of fields, and by reading nothing while the client does not read.

RFC 9113; manual: mod/mod_http2.html.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any, Final

from h2.events import (
    DataReceived,
    PingReceived,
    PriorityUpdated,
    RemoteSettingsChanged,
    RequestReceived,
    StreamEnded,
    StreamReset,
    TrailersReceived,
    WindowUpdated,
)
from h2.exceptions import ProtocolError

from whimbrel.http.chunked import BodyError
from whimbrel.http.head import Head
from whimbrel.http.http2 import (
    MalformedRequest,
    RawField,
    Reason,
    Reset,
    check_trailers,
    client_settings,
    goaway,
    raw_head,
    read_request,
    upgraded,
)
from whimbrel.http.http2_wire import Wire
from whimbrel.request.answer import Answer
from whimbrel.request.body import RequestBody
from whimbrel.request.record import Connection
from whimbrel.server.http2_kept import Repeater
from whimbrel.server.http2_stream import Sender, Stream, StreamBody
from whimbrel.server.scoreboard import connection_row
from whimbrel.server.service import FOREVER, Expiring, Manners, Service

WRITE_AHEAD: Final = 512 * 1024   # bytes that wait for the client before nothing more is read or sent
LINGER: Final = 2.0               # seconds between our end of the connection and the client's
MAX_IDLE_FRAMES: Final = 1000     # frames that ask for nothing, one after the other (as many as nghttp2 takes)
MAX_RESETS: Final = 1000          # streams that the client gave up before their answer, without one that it waited for
CONTINUE: Final[list[RawField]] = [(b":status", b"100")]


class Http2Connection(asyncio.Protocol, Expiring):
    """See the module.  *settings* is mod_http2's record of the server that the connection's address belongs to."""

    def __init__(
        self, service: Service, transport: asyncio.Transport, connection: Connection, manners: Manners, settings: Any, *, tls: bool = False,
    ) -> None:
        Expiring.__init__(self)
        self.service, self.transport, self.connection, self.manners, self.settings, self.tls = (
            service, transport, connection, manners, settings, tls)
        self.wire = Wire(settings.max_streams, settings.window)
        self.streams: dict[int, Stream] = {}
        self.running = 0              # requests that are worked on, those of streams that are gone included
        self.waiting = 0              # streams that wait for the client: for its window or its body
        self.paused = self.leaving = self.ended = False
        self.push = self.wire.client_takes_push
        self.drained: asyncio.Future[None] | None = None
        self.answered = self.idle = self.resets = 0
        self.sender = Sender(self)
        self.repeater = Repeater(self)
        connection.served = 1
        connection.ending = False
        self._begun: list[Stream] = []
        self._do: dict[type[Any], Callable[[Any], None]] = {
            RequestReceived: self._request, DataReceived: self._data, StreamEnded: self._stream_ended, TrailersReceived: self._trailers,
            StreamReset: self._stream_reset, WindowUpdated: self._window, RemoteSettingsChanged: self._settings, PingReceived: self._nothing,
            PriorityUpdated: self._nothing,
        }

    # the connection -------------------------------------------------------------------------------------------------------------------------------
    def start(self, data: bytes) -> None:
        """Begin with *data*, which starts with the client's preface."""
        self.transport.set_write_buffer_limits(high=WRITE_AHEAD)
        self.service.connections.add(self)
        self.wire.begin()
        self.data_received(data)

    def start_upgraded(self, head: Head, data: bytes) -> None:
        """Begin after an answer of 101 to *head*, which becomes stream 1; *data* is what came behind it."""
        self.transport.set_write_buffer_limits(high=WRITE_AHEAD)
        self.service.connections.add(self)
        wanted = client_settings(head.headers.get("HTTP2-Settings") or "")
        if wanted is None:
            self.close()
            return
        self.wire.initiate_upgrade_connection(base64.urlsafe_b64encode(wanted))
        self.wire.begin_window()
        self.push = self.wire.client_takes_push
        stream = self._stream(1, upgraded(head, self.manners.rules), RequestBody(0))
        stream.ended = True
        self._respond(stream)
        if data:
            self.data_received(data)
        else:
            self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self.ended = True
        self.deadline = FOREVER
        for stream in list(self.streams.values()):
            self._gone(stream, Reset.CANCEL)
        self._wake()
        self.service.leave(self)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self.paused = True
        if not self.transport.is_closing():
            self.transport.pause_reading()
        self.set_deadline()

    def resume_writing(self) -> None:
        self.paused = False
        if not self.transport.is_closing():
            self.transport.resume_reading()
        self._wake()
        self.set_deadline()

    def _wake(self) -> None:
        drained, self.drained = self.drained, None
        if drained is not None and not drained.done():
            drained.set_result(None)

    # what arrives ---------------------------------------------------------------------------------------------------------------------------------
    def data_received(self, data: bytes) -> None:
        if self.ended:
            return
        try:
            if self.answered and not self.paused and not self.leaving and self.wire.clear:
                data = self.repeater.at_once(data)
            if data:
                for event in self.wire.receive_data(data):
                    do = self._do.get(type(event))
                    if do is not None:
                        do(event)
            if self._begun:
                self._begin_all()
        except ProtocolError:
            self.flush()
            self.close(said=True)
            return
        except Exception as problem:
            self.service.report(problem)
            self.transport.abort()
            return
        if self.idle > MAX_IDLE_FRAMES or self.resets > MAX_RESETS:
            self.close(Reset.ENHANCE_YOUR_CALM)
        else:
            self.flush()

    def flush(self) -> None:
        """Write what there is to write, and see how long the client may take from here on."""
        data = self.wire.data_to_send()
        if data and not self.transport.is_closing():
            self.transport.write(data)
        self.set_deadline()

    def set_deadline(self) -> None:
        """Between requests the keep-alive time, while something depends on the client Timeout, else no end."""
        manners = self.manners
        if self.ended:
            return
        if self.paused or self.waiting or not (self.answered or self.streams):
            seconds = self.settings.stream_timeout or manners.timeout
        elif self.streams:
            self.deadline = FOREVER
            return
        else:
            seconds = manners.keep_alive
        self.deadline = self.service.clock + seconds

    def _nothing(self, _event: Any) -> None:
        """A frame that asks for nothing that we did: too many of them are an attack."""
        self.idle += 1

    def _settings(self, event: RemoteSettingsChanged) -> None:
        self.idle += 1
        self.push = self.wire.client_takes_push
        self._room()

    def _window(self, event: WindowUpdated) -> None:
        self.idle += not self.waiting
        self._room()

    def _room(self) -> None:
        for stream in self.streams.values():
            stream.wake()

    # requests -------------------------------------------------------------------------------------------------------------------------------------
    def _request(self, event: RequestReceived) -> None:
        self.idle = 0
        number = event.stream_id
        if self.leaving or self.running >= self.settings.max_streams or len(self.streams) >= self.settings.max_streams:
            self.reset(number, Reset.REFUSED_STREAM)
            return
        ended = event.stream_ended is not None
        fields = event.headers
        raw = b""
        if ended:
            raw = raw_head(fields, self.push)
            if raw and self.repeater.quick(number, raw):
                return
        try:
            head = read_request(fields, self.manners.limits, self.manners.rules, raw=raw, ended=ended)
        except MalformedRequest as problem:
            self.reset(number, problem.code)
            return
        body = RequestBody(0) if ended else StreamBody(head.length, self, number)
        stream = self._stream(number, head, body)
        stream.ended = ended
        self._begun.append(stream)
        if ended and head.length:
            self._gone(stream, Reset.PROTOCOL_ERROR)
            self.reset(number, Reset.PROTOCOL_ERROR)

    def at_once(self, number: int, fields: list[RawField], raw: bytes, frame: bytes, *, alone: bool) -> bytes:
        """The frames of the answer to a request that is all in one *frame*, where it is there at once, and whole.

        b"" where it is not: then it has a stream as others have.  *raw*: see `raw_head`.  *alone*: it is not to be worked on before what follows has
        been read.
        """
        head = None
        if not alone and max(self.running, len(self.streams)) < self.settings.max_streams:
            try:
                head = read_request(fields, self.manners.limits, self.manners.rules, raw=raw, ended=True)
            except MalformedRequest:
                head = None
        if head is None or head.length:
            for event in self.wire.adopt(frame, fields):
                if isinstance(event, RequestReceived):
                    self._request(event)
            return b""
        self.idle = 0
        stream = self._stream(number, head, RequestBody(0))
        stream.ended = True
        answer = self._ask(stream)
        found = self.sender.whole(stream, answer) if isinstance(answer, Answer) else b""
        if not found:
            self.wire.adopt(frame, fields)
            self._give(stream, answer)
        return found

    def _begin_all(self) -> None:
        """Work on the requests of one piece of data, but not on those that it already takes back."""
        begun, self._begun = self._begun, []
        for stream in begun:
            if stream.gone:
                self.running -= 1
            else:
                self._respond(stream)

    def _stream(self, number: int, head: Head, body: RequestBody) -> Stream:
        one, service = self.connection, self.service
        tag = f"{service.engine.runtime.pid}-{one.ident}-{number}"
        push = "on" if self.settings.push and self.push else "off"
        notes = {**one.notes, "http2-id": str(number), "http2-tag": tag, "http2-push": push}
        connection = Connection(one.client_ip, one.client_port, one.local_ip, one.local_port, served=1, ident=one.ident, ending=True, notes=notes)
        self.running += 1
        stream = self.streams[number] = Stream(number, connection, head, body)
        return stream

    def _respond(self, stream: Stream) -> None:
        self._give(stream, self._ask(stream))

    def _ask(self, stream: Stream) -> Answer | Awaitable[Answer] | Exception:
        """What the engine has to say, or why it fails."""
        stream.connection.notes.pop("switched-to", None)
        try:
            return self.service.engine.respond(stream.connection, stream.head, stream.body)
        except Exception as problem:
            return problem

    def _give(self, stream: Stream, answer: Answer | Awaitable[Answer] | Exception) -> None:
        if isinstance(answer, Exception):
            self._failed(stream, answer)
        elif isinstance(answer, Answer):
            self.sender.send(stream, answer)
        else:
            stream.task = self.service.loop.create_task(self._later(stream, answer))

    async def _later(self, stream: Stream, waiting: Awaitable[Answer]) -> None:
        try:
            answer = await waiting
        except Exception as problem:
            self._failed(stream, problem)
        else:
            self.sender.send(stream, answer)
        self.flush()

    def _failed(self, stream: Stream, problem: BaseException) -> None:
        """A fault of the server's own: the client gets a 500 without a body."""
        self.service.report(problem)
        if not stream.gone:
            self.wire.send_headers(stream.number, [(b":status", b"500")], end_stream=True)
        self.done(stream)

    def interim(self, number: int) -> None:
        """Send 100 Continue to a client that waits for it before it sends its body."""
        stream = self.streams.get(number)
        if stream is not None and not stream.gone and stream.head.expect_continue:
            stream.head.expect_continue = False
            self.wire.send_headers(number, CONTINUE)
            self.flush()

    # bodies ---------------------------------------------------------------------------------------------------------------------------------------
    def _data(self, event: DataReceived) -> None:
        stream = self.streams.get(event.stream_id)
        data, size = event.data, event.flow_controlled_length or 0
        self.idle = 0 if data else self.idle + 1
        if stream is None or stream.gone:
            self.took(event.stream_id, size)
            return
        if size > len(data):
            self.took(stream.number, size - len(data))
        stream.received += len(data)
        if stream.head.length is not None and stream.received > stream.head.length:
            self._gone(stream, Reset.PROTOCOL_ERROR)
            self.reset(stream.number, Reset.PROTOCOL_ERROR)
        elif data:
            stream.body.feed(data)

    def took(self, number: int, size: int) -> None:
        """*size* bytes of a body were read: the client may send as many again."""
        if size and not self.ended:
            try:
                self.wire.acknowledge_received_data(size, number)
            except ProtocolError:
                return

    def _stream_ended(self, event: StreamEnded) -> None:
        stream = self.streams.get(event.stream_id)
        if stream is None or stream.ended or stream.gone:
            return
        if stream.head.length is not None and stream.received != stream.head.length:
            self._gone(stream, Reset.PROTOCOL_ERROR)
            self.reset(stream.number, Reset.PROTOCOL_ERROR)
        else:
            stream.ended = True
            stream.body.end()

    def _trailers(self, event: TrailersReceived) -> None:
        stream = self.streams.get(event.stream_id)
        try:
            check_trailers(event.headers)
        except MalformedRequest as problem:
            if stream is not None:
                self._gone(stream, problem.code)
            self.reset(event.stream_id, problem.code)

    # the end of streams ---------------------------------------------------------------------------------------------------------------------------
    def reset(self, number: int, code: Reset) -> None:
        """End a stream from our side."""
        try:
            self.wire.reset_stream(number, code)
        except ProtocolError:
            return

    def _stream_reset(self, event: StreamReset) -> None:
        stream = self.streams.get(event.stream_id)
        if stream is not None:
            self.resets += 1
            self._gone(stream, Reset.CANCEL)
        else:
            self.idle += 1

    def _gone(self, stream: Stream, _code: Reset) -> None:
        """The client will not see an answer of *stream*; whoever works on it finds out when it reads or writes."""
        stream.gone = True
        stream.connection.aborted = True
        if stream in self._begun:
            self._begun.remove(stream)
            self.running -= 1  # at once: what comes in the same piece of data may have its place
        if self.streams.pop(stream.number, None) is not None and isinstance(stream.body, StreamBody):
            self.took(stream.number, stream.body.buffered)
        if not stream.body.ended:
            stream.body.fail(BodyError(400, Reason("", "", "", "(104)Connection reset by peer")))
        stream.wake()

    def done(self, stream: Stream) -> None:
        """The answer is out, or can't be sent any further."""
        self.running -= 1
        self.answered += 1
        for name, value in stream.connection.notes.items():
            if name[:6] != "http2-":
                self.connection.notes[name] = value
        if stream.gone:
            return
        self.resets = 0
        self.streams.pop(stream.number, None)
        if not stream.ended:
            self.took(stream.number, stream.body.buffered)
            self.reset(stream.number, Reset.NO_ERROR)
        if self.leaving and not self.streams:
            self.close(said=True)

    # ends -----------------------------------------------------------------------------------------------------------------------------------------
    def close(self, code: Reset = Reset.NO_ERROR, *, said: bool = False, text: bytes = b"") -> None:
        """Say goodbye (unless *said*) and close our side; the client has a moment to read it."""
        if self.ended or self.transport.is_closing():
            return
        data = self.wire.data_to_send()
        self.transport.write(data if said else data + goaway(self.wire.highest_inbound_stream_id, code, text))
        self.ended = True
        for stream in list(self.streams.values()):
            self._gone(stream, code)
        if self.paused:
            self.transport.resume_reading()
        if not self.transport.can_write_eof():
            self.transport.close()
            return
        try:
            self.transport.write_eof()
        except OSError:
            self.transport.abort()
        self.deadline = self.service.clock + LINGER

    def expire(self) -> None:
        """The client took too long: what waits for its body is answered, what waits for its window ends, an idle connection is closed."""
        self.deadline = FOREVER
        if self.ended or self.paused:
            self.transport.abort()
            return
        late = [stream for stream in self.streams.values() if stream.waits]
        for stream in late:
            if stream.room is None and not stream.body.ended:
                stream.body.fail(BodyError(408, Reason("", "", "", "(70007)The timeout specified has expired")))
            else:
                self._gone(stream, Reset.CANCEL)
                self.reset(stream.number, Reset.CANCEL)
        if late:
            self.flush()
        elif not self.streams:
            self.close(text=b"timeout")

    def drain(self) -> None:
        """Take no further streams, and end with the last one; a client asks again elsewhere for what it sent later (RFC 9113, 6.8)."""
        if not self.leaving and not self.ended:
            self.leaving = True
            if self.streams:
                self.transport.write(self.wire.data_to_send() + goaway(self.wire.highest_inbound_stream_id, Reset.NO_ERROR))
            else:
                self.close()

    def close_now(self) -> None:
        """The server stops: what is being answered may end."""
        self.drain()

    def row(self) -> dict[str, Any]:
        """What the scoreboard says about this connection."""
        last = next(reversed(self.streams.values()), None)
        line, vhost = (last.head.line or "", last.head.hostname or "") if last is not None else ("", "")
        state = "W" if self.running else "C" if self.ended else "K"
        return connection_row(state, self.connection.client_ip, "http/2", line, vhost, self.answered, tail=self.service.shows_request_tail)

