"""A back end on the loopback that speaks HTTP/2 and fails as the path of a request says."""

from __future__ import annotations

import asyncio
import ssl
import struct

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset, WindowUpdated
from h2.exceptions import ProtocolError
from h2.settings import SettingCodes, Settings

OK = [(":status", "200"), ("content-type", "text/plain")]
BIG = 300_000


def goaway(last: int) -> bytes:
    """Return a frame GOAWAY without an error."""
    return b"\x00\x00\x08\x07\x00\x00\x00\x00\x00" + struct.pack(">II", last, 0)


class Http2Backend:
    """A scripted back end.

    Attributes:
        paths: of the requests, in order. `fields`: of the last request. `resets`: error codes from the peer.
        accepted: number of connections. `received`: bytes of request bodies. `most`: streams at one time.
        refusals: streams that `/refuse` refuses.
    """

    def __init__(self, streams: int = 100, tls: ssl.SSLContext | None = None) -> None:
        self.paths: list[str] = []
        self.fields: list[tuple[str, str]] = []
        self.resets: list[int] = []
        self.accepted = self.received = self.most = 0
        self.sent = 0
        self.refusals = 1
        self.streams, self._tls = streams, tls

    async def __aenter__(self) -> Http2Backend:
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Peer(self), "127.0.0.1", 0, ssl=self._tls
        )
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_problem: object) -> None:
        self._server.close()


class _Peer(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self, backend: Http2Backend) -> None:
        self.backend = backend
        self.h2 = H2Connection(H2Configuration(client_side=False, header_encoding="latin-1"))
        self.open: dict[int, str] = {}
        self.left: dict[int, int] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.backend.accepted += 1
        values = {SettingCodes.MAX_CONCURRENT_STREAMS: self.backend.streams}
        self.h2.local_settings = Settings(client=False, initial_values=values)
        self.h2.initiate_connection()
        self.flush()

    def flush(self) -> None:
        self.transport.write(self.h2.data_to_send())

    def data_received(self, data: bytes) -> None:
        try:
            events = self.h2.receive_data(data)
        except ProtocolError:
            self.transport.abort()
            return
        for event in events:
            if isinstance(event, RequestReceived):
                fields = [(str(name), str(value)) for name, value in event.headers]
                self.backend.fields = fields
                path = dict(fields)[":path"]
                self.backend.paths.append(path)
                self.open[event.stream_id] = path
                self.backend.most = max(self.backend.most, len(self.open))
                self.begin(event.stream_id, path)
            elif isinstance(event, DataReceived):
                self.backend.received += len(event.data)
                if self.open.get(event.stream_id) != "/unread":
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded):
                self.end(event.stream_id, self.open.get(event.stream_id, ""))
            elif isinstance(event, StreamReset):
                self.backend.resets.append(int(event.error_code))
                self.open.pop(event.stream_id, None)
                self.left.pop(event.stream_id, None)
            elif isinstance(event, WindowUpdated):
                for stream in list(self.left):
                    self.more(stream)
        self.flush()

    def begin(self, stream: int, path: str) -> None:
        """Act on the head of a request."""
        if path == "/refuse" and self.backend.refusals:
            self.backend.refusals -= 1
            self.open.pop(stream)
            self.h2.reset_stream(stream, 7)
        elif path == "/reset":
            self.open.pop(stream)
            self.h2.reset_stream(stream, 2)
        elif path == "/close":
            self.flush()
            self.transport.close()
        elif path == "/goaway" and self.backend.refusals:
            self.backend.refusals -= 1
            self.flush()
            self.transport.write(goaway(stream - 2 if stream > 1 else 0))
        elif path == "/garbage":
            self.transport.write(b"\x00\x00\x04\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00")

    def end(self, stream: int, path: str) -> None:
        """Answer a complete request."""
        if path == "/slow":
            asyncio.get_running_loop().call_later(0.1, self.answer, stream, [*OK, ("x-slow", "1")], b"slow")
        elif path == "/drain":
            self.flush()
            self.transport.write(goaway(stream))
            asyncio.get_running_loop().call_later(0.05, self.answer, stream, OK, b"drained")
        elif path in ("/big", "/endless"):
            self.h2.send_headers(stream, OK)
            self.left[stream] = BIG if path == "/big" else 10**9
            self.more(stream)
        elif path == "/broken":
            self.h2.send_headers(stream, [*OK, ("content-length", "10")])
            self.h2.send_data(stream, b"begin")
            self.h2.reset_stream(stream, 2)
        elif path == "/stall":
            self.h2.send_headers(stream, OK)
            self.h2.send_data(stream, b"begin")
        elif path == "/trailers":
            self.h2.send_headers(stream, OK)
            self.h2.send_data(stream, b"body")
            self.h2.send_headers(stream, [("x-trailer", "1")], end_stream=True)
        elif path == "/hints":
            self.h2.send_headers(stream, [(":status", "103"), ("link", "</a>")])
            self.answer(stream, OK, b"hinted")
        elif path == "/redirect":
            site = f"http://127.0.0.1:{self.backend.port}"
            head = [
                (":status", "302"),
                ("location", f"{site}/to"),
                ("set-cookie", "a=1"),
                ("set-cookie", "b=2"),
            ]
            self.answer(stream, head, b"")
        elif path == "/missing":
            self.answer(stream, [(":status", "404"), ("content-type", "text/plain")], b"theirs")
        elif path not in ("/hang", "/garbage", "/unread", "/close", ""):
            self.answer(stream, OK, b"ok")

    def answer(self, stream: int, head: list[tuple[str, str]], body: bytes) -> None:
        """Send a complete answer."""
        self.open.pop(stream, None)
        self.h2.send_headers(stream, head, end_stream=not body)
        if body:
            self.h2.send_data(stream, body, end_stream=True)
        self.flush()

    def more(self, stream: int) -> None:
        """Send as much of a long answer as the windows admit."""
        while left := self.left.get(stream, 0):
            size = min(left, self.h2.local_flow_control_window(stream), 16384)
            if size <= 0:
                return
            self.h2.send_data(stream, b"x" * size, end_stream=size == left)
            self.left[stream] = left - size
            self.backend.sent += size
        self.left.pop(stream, None)
        self.open.pop(stream, None)
