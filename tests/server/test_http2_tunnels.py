"""WebSocket (RFC 8441) and CONNECT over HTTP/2: statuses, fields, flow control and ends are apache2's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.conftest import ServerProcess, lines, within

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from h2.events import DataReceived, Event, RemoteSettingsChanged, ResponseReceived, StreamEnded, StreamReset
from tests.support.lenient_http2 import lenient_client

from whimbrel.base.product import VERSION

CONF = """\
LoadModule proxy_module m/mod_proxy.so
LoadModule proxy_connect_module m/mod_proxy_connect.so
LoadModule proxy_http_module m/mod_proxy_http.so
LoadModule http2_module m/mod_http2.so
Protocols h2c http/1.1
H2WebSockets {switch}
ProxyRequests On
AllowCONNECT {port}
TimeOut {timeout}
ProxyPass /ws ws://127.0.0.1:{port}
LogFormat "%r %>s %b" lines
CustomLog logs/lines lines
"""
EXTENDED = [
    (":method", "CONNECT"),
    (":protocol", "websocket"),
    (":scheme", "http"),
    (":path", "/ws/echo"),
    (":authority", "localhost"),
    ("sec-websocket-version", "13"),
]
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
ENABLE_CONNECT_PROTOCOL = 8


class Backend:
    """A back end that switches protocols as the path says, and echoes; CONNECT reaches it as TCP.

    Attributes:
        heads: the heads that it has read. `received`: bytes of the tunnel. `ended`: ends of input so far.
    """

    def __init__(self) -> None:
        self.heads: list[bytes] = []
        self.received = self.ended = 0
        self.loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()
        self._ready.wait()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = int(server.sockets[0].getsockname()[1])
        self._ready.set()
        self.loop.run_forever()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        import base64
        import hashlib

        first = await reader.read(4)
        if first == b"GET ":
            head = first + await reader.readuntil(b"\r\n\r\n")
            self.heads.append(head)
            path = head.split(b" ")[1]
            if path == b"/plain":
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
                return
            if path == b"/refused":
                writer.write(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
                return
            key = head.partition(b"Sec-WebSocket-Key: ")[2].partition(b"\r\n")[0]
            accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
            fields = b"" if path == b"/unproven" else b"Sec-WebSocket-Accept: %b\r\n" % accept
            writer.write(
                b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                b"X-Name: one\r\n%b\r\n" % fields
            )
        else:
            writer.write(b"tcp:" + first)
        try:
            while data := await reader.read(65536):
                self.received += len(data)
                writer.write(data)
                await writer.drain()
            self.ended += 1
            writer.write(b"end")
        except ConnectionError:
            self.ended += 1
        writer.close()


class Client:
    """A client of HTTP/2 on one connection."""

    def __init__(self, server: ServerProcess) -> None:
        self.wire = server.connect()
        self.wire.settimeout(10)
        self.h2 = lenient_client()
        self.events: list[Event] = []
        self.acknowledges = True
        self.h2.initiate_connection()
        self.flush()
        self.wait(RemoteSettingsChanged)

    def flush(self) -> None:
        self.wire.sendall(self.h2.data_to_send())

    def wait(self, *kinds: type[Event]) -> Any:
        """Return the first event of *kinds*, which is removed."""
        while True:
            for event in self.events:
                if isinstance(event, kinds):
                    self.events.remove(event)
                    return event
            data = self.wire.recv(65536)
            if not data:
                return None
            for event in self.h2.receive_data(data):
                if isinstance(event, DataReceived) and self.acknowledges:
                    self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                self.events.append(event)
            self.flush()

    def request(self, fields: list[tuple[str, str]]) -> None:
        self.h2.send_headers(1, fields)
        self.flush()

    def send(self, data: bytes, *, end: bool = False) -> None:
        self.h2.send_data(1, data, end_stream=end)
        self.flush()

    def head(self) -> dict[str, str]:
        return dict(self.wait(ResponseReceived).headers)

    def read(self, size: int) -> bytes:
        out = b""
        while len(out) < size:
            out += self.wait(DataReceived).data
        return out

    def rest(self) -> tuple[bytes, str]:
        """Return the data up to the end of the stream, and how it ended."""
        out = b""
        while True:
            event = self.wait(DataReceived, StreamEnded, StreamReset)
            if isinstance(event, DataReceived):
                out += event.data
            else:
                return out, type(event).__name__


@pytest.fixture
def backend() -> Iterator[Backend]:
    yield Backend()


def start(server: ServerProcess, backend: Backend, switch: str = "on", timeout: float = 30) -> Client:
    conf = CONF.format(port=backend.port, switch=switch, timeout=timeout)
    (server.root / "conf/extra.conf").write_text(conf)
    server.start()
    server.get()
    return Client(server)


def with_path(path: str) -> list[tuple[str, str]]:
    return [(name, path if name == ":path" else value) for name, value in EXTENDED]


def test_a_stream_becomes_a_tunnel(server: ServerProcess, backend: Backend) -> None:
    client = start(server, backend)
    assert client.h2.remote_settings[ENABLE_CONNECT_PROTOCOL] == 1
    client.request(EXTENDED)
    head = client.head()
    assert (head[":status"], head["x-name"]) == ("200", "one")
    assert not head.keys() & {"upgrade", "connection", "sec-websocket-accept", "content-length"}
    client.send(b"one")
    assert client.read(3) == b"one"
    client.send(b"two", end=True)
    assert client.rest() == (b"twoend", "StreamEnded")
    assert (
        backend.heads[0].startswith(b"GET /echo HTTP/1.1\r\n")
        and b"Upgrade: websocket\r\n" in backend.heads[0]
    )
    assert within(lambda: lines(server)[-1] == "GET /ws/echo HTTP/2.0 101 -")


@pytest.mark.parametrize(
    ("path", "status", "body", "code"),
    [
        ("/ws/plain", "502", b"", ""),
        ("/ws/unproven", "502", b"", "AH10462"),
        ("/ws/refused", "403", b"no", ""),
        ("/index.html", "502", b"", ""),
        ("/nope", "404", None, ""),
    ],
)
def test_other_answers(
    server: ServerProcess, backend: Backend, path: str, status: str, body: bytes | None, code: str
) -> None:
    client = start(server, backend)
    client.request(with_path(path))
    assert client.head()[":status"] == status
    rest = client.rest()[0]
    assert body is None or rest == body
    assert within(lambda: code in server.errors())


@pytest.mark.parametrize("missing", [":scheme", ":path", ":authority"])
def test_incomplete_requests_are_reset(server: ServerProcess, backend: Backend, missing: str) -> None:
    client = start(server, backend)
    client.request([field for field in EXTENDED if field[0] != missing])
    assert int(client.wait(StreamReset).error_code) == 1


def test_without_the_switch(server: ServerProcess, backend: Backend) -> None:
    client = start(server, backend, "off")
    assert client.h2.remote_settings[ENABLE_CONNECT_PROTOCOL] == 0  # the default of RFC 8441
    client.request(EXTENDED)
    assert int(client.wait(StreamReset).error_code) == 1


def test_an_unknown_protocol(server: ServerProcess, backend: Backend) -> None:
    client = start(server, backend)
    client.request([(name, "chat" if name == ":protocol" else value) for name, value in EXTENDED])
    assert client.head()[":status"] == "501"


def test_large_data_in_both_directions(server: ServerProcess, backend: Backend) -> None:
    client, size = start(server, backend), 2_000_000
    client.request(EXTENDED)
    client.head()
    sent = got = 0
    while sent < size or got < size:
        room = min(client.h2.local_flow_control_window(1), client.h2.max_outbound_frame_size, size - sent)
        if room > 0:
            client.send(bytes(room))
            sent += room
        else:
            got += len(client.wait(DataReceived).data)
    assert (sent, got, backend.received) == (size, size, size)


@pytest.mark.parametrize("how", ["reset", "close"])
def test_a_client_that_goes_away_ends_the_back_end(server: ServerProcess, backend: Backend, how: str) -> None:
    client = start(server, backend)
    client.request(EXTENDED)
    client.head()
    if how == "reset":
        client.h2.reset_stream(1, 8)
        client.flush()
    else:
        client.wire.close()
    assert within(lambda: backend.ended == 1)
    assert within(lambda: lines(server)[-1] == "GET /ws/echo HTTP/2.0 101 -")


def test_an_idle_tunnel_ends(server: ServerProcess, backend: Backend) -> None:
    client = start(server, backend, timeout=1)
    client.request(EXTENDED)
    client.head()
    assert client.rest() == (b"", "StreamEnded")


def test_connect(server: ServerProcess, backend: Backend) -> None:
    client = start(server, backend)
    client.request([(":method", "CONNECT"), (":authority", f"127.0.0.1:{backend.port}")])
    assert client.head() == {":status": "200", "proxy-agent": f"Whimbrel/{VERSION} (Unix)"}
    client.send(b"abcdef", end=True)
    assert client.rest() == (b"tcp:abcdefend", "StreamEnded")
    target = f"CONNECT 127.0.0.1:{backend.port} HTTP/2.0 200 -"
    assert within(lambda: lines(server)[-1] == target)


def test_connect_to_a_forbidden_port(server: ServerProcess, backend: Backend) -> None:
    client = start(server, backend)
    client.request([(":method", "CONNECT"), (":authority", "127.0.0.1:1")])
    assert client.head()[":status"] == "403"
