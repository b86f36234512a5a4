"""Client of HTTP/2 over TLS: groups of streams, resets, and WebSockets by extended CONNECT."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    DataReceived,
    Event,
    RemoteSettingsChanged,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import ProtocolError

from tests.hostile.http2_frames import GOAWAY, read_frames
from tests.hostile.tls_site import client_context
from tests.soak.clients import Client
from tests.soak.requests import Asked, chosen, numbered
from tests.soak.wire import Lost, Wire

STREAMS = 8  # of a group
ENABLE_CONNECT_PROTOCOL = 8
MESSAGES = 10  # of a tunnel
SWITCHED = 101  # as httpd's access log has it, where the client sees 200


@dataclass
class Stream:
    """A request and its response so far. `is_refused`: the server has not processed it."""

    number: int
    asked: Asked
    status: int = 0
    body: bytearray = field(default_factory=bytearray)
    is_ended: bool = False
    is_refused: bool = False
    reset: int | None = None


class Session:
    """A connection with its streams; `pump` reads until a condition."""

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        self.state = H2Connection(H2Configuration(header_encoding="latin-1"))
        self.streams: dict[int, Stream] = {}
        self.last: int | None = None  # the last stream of GOAWAY
        self.has_connect = False
        self._rest = b""
        self.state.initiate_connection()
        self.flush()

    def flush(self) -> None:
        """Send what is due."""
        self.wire.send(self.state.data_to_send())

    def ask(self, number: int, asked: Asked, more: tuple[tuple[str, str], ...] = ()) -> int:
        """Send a request; return the identifier of its stream."""
        stream = self.state.get_next_available_stream_id()
        fields = [
            (":method", asked.method),
            *more,
            (":scheme", "https"),
            (":authority", "localhost"),
            (":path", numbered(asked.target, number)),
            *asked.fields,
        ]
        is_open = bool(asked.body or more)
        self.state.send_headers(stream, fields, end_stream=not is_open)
        if asked.body:
            self.state.send_data(stream, asked.body, end_stream=True)
        self.streams[stream] = Stream(number, asked)
        self.flush()
        return stream

    def read(self) -> None:
        """Take one piece from the connection."""
        try:
            data = self.wire.socket.recv(1 << 16)
        except OSError as problem:
            raise Lost(repr(problem)) from problem
        if not data:
            raise Lost("closed")
        self._rest += data
        for kind, _flags, _stream, payload in list(read_frames(self._rest)):
            piece = self._rest[: 9 + len(payload)]
            self._rest = self._rest[len(piece) :]
            if kind == GOAWAY:  # after which the library takes no frames of the streams that go on
                self._go_away(int.from_bytes(payload[:4]))
                continue
            try:
                events = self.state.receive_data(piece)
            except ProtocolError as problem:
                raise Lost(repr(problem)) from problem
            for event in events:
                self._take(event)
        self.flush()

    def _go_away(self, last: int) -> None:
        self.last = last
        for stream, one in self.streams.items():
            if stream > last:
                one.is_refused = True
                one.is_ended = True

    def _take(self, event: Event) -> None:
        if isinstance(event, RemoteSettingsChanged):
            self.has_connect = self.has_connect or ENABLE_CONNECT_PROTOCOL in event.changed_settings
        elif isinstance(event, ResponseReceived | DataReceived | StreamEnded | StreamReset):
            one = self.streams[event.stream_id]
            if isinstance(event, ResponseReceived):
                one.status = next(int(value) for name, value in event.headers if name == ":status")
            elif isinstance(event, DataReceived):
                one.body += event.data
                self.state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded):
                one.is_ended = True
            else:
                one.is_ended = True
                one.reset = event.error_code
                one.is_refused = event.error_code == ErrorCodes.REFUSED_STREAM


class Http2Client(Client):
    """Sends groups of streams; some are reset, some connections have a WebSocket beside them."""

    session: Session | None = None
    left = 0

    def opened(self) -> Session:
        """Return the connection, a new one if it is old or the server ends it."""
        if self.session is None or self.left <= 0 or self.session.last is not None:
            self.close()
            context = client_context(ssl.TLSVersion.TLSv1_3)
            context.set_alpn_protocols(["h2"])
            self.session = Session(Wire(self.server().tls, context))
            self.counts["connections of HTTP/2"] += 1
            self.left = self.dice.randrange(1, 20)
        self.left -= 1
        return self.session

    def close(self) -> None:
        if self.session is not None:
            self.session.wire.close()
            self.session = None

    def step(self) -> int:
        action = self.dice.random()
        if action < 0.1:
            self._reset()
            return 1
        if action < 0.2:
            self._tunnel()
            return 1
        self._group()
        return STREAMS

    def _group(self) -> None:
        group = [chosen(self.dice) for _ in range(STREAMS)]
        numbers = [self.ledger.begin() for _ in group]
        sent: list[Stream] = []
        reason = "closed"
        try:
            session = self.opened()
            for number, asked in zip(numbers, group, strict=True):
                if session.last is None:
                    sent.append(session.streams[session.ask(number, asked)])
            while not all(one.is_ended for one in sent):
                session.read()
        except (Lost, ProtocolError) as problem:
            reason = str(problem)
            self.close()
        for one in sent:
            self._judge(one, reason)
        for number in numbers[len(sent) :]:
            self.ledger.give_back(number)
        if self.session is not None:
            self.session.streams.clear()

    def _judge(self, one: Stream, reason: str) -> None:
        kind = f"HTTP/2 {one.asked.kind}"
        if one.is_refused:
            self.ledger.give_back(one.number)
        elif not one.is_ended:
            self.ledger.lose(one.number, kind, reason)
        elif one.reset is not None:
            self.ledger.lose(one.number, kind, f"reset with {one.reset}")
        else:
            body = bytes(one.body)
            size = -1 if one.asked.method == "HEAD" else len(body)
            self.ledger.answered(one.number, kind, one.status, size, one.asked.problem(one.status, body))

    def _reset(self) -> None:
        """Reset a stream in the middle of its response."""
        number = self.ledger.begin()
        asked = Asked("reset", 0, "/big.bin")
        one = Stream(number, asked)
        try:
            session = self.opened()
            stream = session.ask(number, asked)
            one = session.streams[stream]
            while not (one.body or one.is_ended):
                session.read()
            if not one.is_ended:
                session.state.reset_stream(stream, ErrorCodes.CANCEL)
                session.flush()
                self.ledger.give_up(number)
                return
            self._judge(one, "")
        except (Lost, ProtocolError) as problem:
            self.close()
            self._judge(one, str(problem))

    def _tunnel(self) -> None:
        """Send bytes to and fro through a WebSocket of HTTP/2."""
        number = self.ledger.begin()
        asked = Asked("WebSocket", 0, "/ws/echo", (200,), "CONNECT", (("sec-websocket-version", "13"),))
        one = Stream(number, asked)
        try:
            session = self.opened()
            while not session.has_connect:
                session.read()
            stream = session.ask(number, asked, ((":protocol", "websocket"),))
            one = session.streams[stream]
            while not (one.status or one.is_ended):
                session.read()
            if one.is_ended:
                self._judge(one, "ended before its echo")
                return
            for _ in range(MESSAGES if one.status == 200 else 0):
                data = self.dice.randbytes(self.dice.randrange(1, 5000))
                wanted = bytes(one.body) + data
                session.state.send_data(stream, data)
                session.flush()
                while len(one.body) < len(wanted) and not one.is_ended:
                    session.read()
                if one.is_ended or one.body != wanted:
                    self.ledger.lose(number, "HTTP/2 WebSocket", f"echo differs, reset {one.reset}")
                    return
            if not one.is_ended:
                session.state.end_stream(stream)
                session.flush()
            while not one.is_ended:
                session.read()
            problem = asked.problem(one.status, b"")
            self.ledger.answered(number, "HTTP/2 WebSocket", SWITCHED, -1, problem)
        except (Lost, ProtocolError) as problem_found:
            self.close()
            self._judge(one, str(problem_found))
