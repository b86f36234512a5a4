"""Clients' connections: HTTP/1 and HTTP/2, which tell a complete response from every kind of failure."""

from __future__ import annotations

import http.client
import socket
import ssl
from dataclasses import dataclass, field, replace
from typing import Protocol

import h2.config
import h2.connection
import h2.events
import h2.exceptions

TIMEOUT = 15.0  # seconds that a client waits: longer than any fault
GOAWAY = 7  # type of a frame
REFUSED_STREAM = 7  # error code
IDEMPOTENT = frozenset(("GET", "HEAD", "PUT", "PROPFIND", "OPTIONS", "DELETE"))


@dataclass(frozen=True)
class Request:
    """A request of a client."""

    method: str
    target: str
    fields: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Reply:
    """A complete response (its *failure* is empty), or the failure `reset`, `refused` or `unanswered`.

    Attributes:
        sent: how often the request was sent: a client repeats one that an idle connection did not take.
        cause: the exception or the frame of the failure.
    """

    status: int = 0
    body: bytes = b""
    failure: str = ""
    sent: int = 1
    lock_token: str = ""
    cause: str = ""


class Wire(Protocol):
    """The connection of one client, opened anew where it has ended."""

    def exchange(self, requests: list[Request]) -> list[Reply]:
        """Return the replies in order."""

    def close(self) -> None:
        """Close it."""


class Http1Wire:
    """A connection of HTTP/1.1 that stays open between requests."""

    def __init__(self, port: int, agent: str) -> None:
        self._port = port
        self._agent = agent
        self._connection: http.client.HTTPConnection | None = None

    def exchange(self, requests: list[Request]) -> list[Reply]:
        """Send one request after the other."""
        return [self._one(request) for request in requests]

    def _one(self, request: Request) -> Reply:
        is_reused = self._connection is not None
        reply = self._attempt(request)
        # RFC 9112, 9.3.1: the server may close an idle connection; idempotent methods are sent again
        if is_reused and reply.failure == "closed" and request.method in IDEMPOTENT:
            again = self._attempt(request)
            reply = replace(again, sent=2)
        return replace(reply, failure="reset") if reply.failure == "closed" else reply

    def _attempt(self, request: Request) -> Reply:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=TIMEOUT)
            try:
                self._connection.connect()
            except OSError as problem:
                self.close()
                return Reply(failure="refused", sent=0, cause=repr(problem))
        try:
            fields = {"Host": "localhost", "User-Agent": self._agent, **request.fields}
            self._connection.request(request.method, request.target, request.body or None, fields)
            response = self._connection.getresponse()
        except TimeoutError:
            self.close()
            return Reply(failure="unanswered")
        except (OSError, http.client.HTTPException) as problem:
            self.close()
            return Reply(failure="closed", cause=repr(problem))
        try:
            body = response.read()
        except TimeoutError:
            self.close()
            return Reply(failure="unanswered")
        except (OSError, http.client.HTTPException) as problem:
            self.close()
            return Reply(failure="reset", cause=repr(problem))
        if response.will_close:
            self.close()
        return Reply(response.status, body, lock_token=response.headers.get("Lock-Token", ""))

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
        self._connection = None


class Http2Wire:
    """A connection of HTTP/2 over TLS; the requests of one exchange are streams at the same time."""

    def __init__(self, port: int, agent: str) -> None:
        self._port = port
        self._agent = agent
        self._socket: ssl.SSLSocket | None = None
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._context.set_alpn_protocols(["h2"])

    def _open(self) -> None:
        plain = socket.create_connection(("127.0.0.1", self._port), TIMEOUT)
        try:
            self._socket = self._context.wrap_socket(plain, server_hostname="localhost")
        except BaseException:
            plain.close()
            raise
        if self._socket.selected_alpn_protocol() != "h2":
            raise ConnectionError("no HTTP/2")
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="latin-1"))
        self._h2.initiate_connection()
        self._h2.increment_flow_control_window(1 << 24)

    def exchange(self, requests: list[Request]) -> list[Reply]:
        """Send all requests, then read until each has its end."""
        is_reused = self._socket is not None
        replies = self._attempt(requests)
        again = [n for n, reply in enumerate(replies) if reply.failure == "closed"]
        # RFC 9113, 8.7: a stream above the last one of GOAWAY was not processed
        if again and is_reused:
            for number, reply in zip(again, self._attempt([requests[n] for n in again]), strict=True):
                replies[number] = replace(reply, sent=2)
        return [replace(r, failure="reset") if r.failure == "closed" else r for r in replies]

    def _attempt(self, requests: list[Request]) -> list[Reply]:
        if self._socket is None:
            try:
                self._open()
            except TimeoutError:
                self.close()
                return [Reply(failure="unanswered", sent=0) for _ in requests]
            except OSError as problem:
                self.close()
                failure = "refused" if isinstance(problem, ConnectionRefusedError) else "reset"
                return [Reply(failure=failure, sent=0, cause=f"opening: {problem!r}") for _ in requests]
        assert self._socket is not None
        streams = _Streams(self._h2, self._socket)
        try:
            numbers = [streams.send(request, self._agent) for request in requests]
            streams.read()
        except TimeoutError:
            streams.fail_all("unanswered")
        except (OSError, h2.exceptions.ProtocolError) as problem:
            streams.cause = repr(problem)
            streams.fail_all("")
        else:
            if not streams.is_over:
                return [streams.reply(number) for number in numbers]
        self.close()
        failed = Reply(failure="closed", cause=streams.cause)
        found = [streams.reply(number) for number in streams.numbers]
        return found + [failed] * (len(requests) - len(found))

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None


class _Streams:
    """The streams of one exchange."""

    def __init__(self, connection: h2.connection.H2Connection, wire: ssl.SSLSocket) -> None:
        self._h2 = connection
        self._wire = wire
        self.numbers: list[int] = []
        self._status: dict[int, int] = {}
        self._body: dict[int, bytearray] = {}
        self._failure: dict[int, str] = {}
        self.is_over = False
        self.cause = ""
        self._data = b""

    def send(self, request: Request, agent: str) -> int:
        number = self._h2.get_next_available_stream_id()
        pseudo = [(":method", request.method), (":scheme", "https"), (":authority", "localhost")]
        fields = [("user-agent", agent), *((n.lower(), value) for n, value in request.fields.items())]
        self._h2.send_headers(number, [*pseudo, (":path", request.target), *fields], end_stream=True)
        self.numbers.append(number)
        self._body[number] = bytearray()
        return number

    def read(self) -> None:
        """Read until each stream has ended, or the connection has."""
        while True:
            self._wire.sendall(self._h2.data_to_send())
            if len(self._failure) == len(self.numbers):
                return
            data = self._wire.recv(65536)
            if not data:
                self.cause = self.cause or "end of the connection"
                self.fail_all("")
                self.is_over = True
                return
            self._data += data
            for event in self._h2.receive_data(self._frames()):
                self._take(event)

    def _frames(self) -> bytes:
        """Return the complete frames so far without GOAWAY, behind which h2 accepts none (RFC 9113, 6.8)."""
        found = b""
        while len(self._data) >= 9 and len(self._data) >= (end := 9 + int.from_bytes(self._data[:3])):
            frame = self._data[:end]
            self._data = self._data[end:]
            if frame[3] == GOAWAY:
                self._end_after(int.from_bytes(frame[9:13]) & 0x7FFFFFFF, int.from_bytes(frame[13:17]))
            else:
                found += frame
        return found

    def _end_after(self, last: int, code: int) -> None:
        self.is_over = True
        self.cause = f"GOAWAY {code} after stream {last}"
        for number in self.numbers:
            if number > last:
                self._failure.setdefault(number, "closed")

    def _take(self, event: h2.events.Event) -> None:
        if isinstance(event, h2.events.ResponseReceived):
            self._status[event.stream_id] = int(dict(event.headers)[":status"])
        elif isinstance(event, h2.events.DataReceived):
            self._body[event.stream_id] += event.data
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, h2.events.StreamEnded):
            self._failure.setdefault(event.stream_id, "ended")
        elif isinstance(event, h2.events.StreamReset):
            # a refused stream was not processed
            self._failure.setdefault(
                event.stream_id, "closed" if event.error_code == REFUSED_STREAM else "reset"
            )
            self.cause = f"RST_STREAM {event.error_code}"

    def fail_all(self, failure: str) -> None:
        """Fail the streams that have no end: those without a response may be sent again."""
        for number in self.numbers:
            default = "reset" if number in self._status else "closed"
            self._failure.setdefault(number, failure or default)

    def reply(self, number: int) -> Reply:
        failure = self._failure[number]
        if failure == "ended":
            return Reply(self._status[number], bytes(self._body[number]))
        return Reply(failure=failure, cause=f"stream {number}: {self.cause}")
