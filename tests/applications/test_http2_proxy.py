"""A client of HTTP/2 in front and a back end of HTTP/1.1 behind: both servers forward the same."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents
from tests.support.origin import Origin, Received

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from h2.events import DataReceived, ResponseReceived, StreamEnded, StreamReset

from tests.support.lenient_http2 import lenient_client

pytestmark = pytest.mark.skipif(not APACHE.present, reason="no /etc/apache2 to copy")
CONF = "Protocols h2c http/1.1\nProxyPass /app/ http://127.0.0.1:{port}/\n"
Fields = tuple[tuple[str, str], ...]


@pytest.fixture(scope="module", params=[APACHE, WHIMBREL], ids=lambda program: program.name)
def site(request: pytest.FixtureRequest) -> Iterator[tuple[StockServer, Origin]]:
    with TemporaryDirectory(prefix="h2-") as name, Origin() as origin:
        base = Path(name)
        write_documents(base)
        modules = ["proxy", "proxy_http", "http2"]
        with StockServer(request.param, base, CONF.format(port=origin.port), modules=modules) as server:
            assert server.started, server.output
            yield server, origin


class Peer:
    """One connection of HTTP/2; responses by stream."""

    def __init__(self, server: StockServer) -> None:
        self._wire = socket.create_connection(("127.0.0.1", server.port), timeout=10)
        self._h2 = lenient_client()
        self._h2.initiate_connection()
        self.heads: dict[int, dict[str, str]] = {}
        self.bodies: dict[int, bytes] = {}
        self._ended: set[int] = set()

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_problem: object) -> None:
        self._wire.close()

    def send(self, path: str, *more: tuple[str, str], method: str = "GET", body: bytes | None = None) -> int:
        """Send a request; return its stream."""
        number = self._h2.get_next_available_stream_id()
        fields = [(":method", method), (":scheme", "http"), (":authority", "localhost"), (":path", path)]
        self._h2.send_headers(number, [*fields, *more], end_stream=body is None)
        if body is not None:
            for start in range(0, len(body), 10_000):
                self._h2.send_data(number, body[start : start + 10_000])
            self._h2.end_stream(number)
        return number

    def wait(self, *numbers: int) -> None:
        """Read until *numbers* have ended."""
        self._wire.sendall(self._h2.data_to_send())
        while not self._ended.issuperset(numbers):
            data = self._wire.recv(65536)
            assert data, "the server closed the connection"
            for event in self._h2.receive_data(data):
                self._take(event)
            self._wire.sendall(self._h2.data_to_send())

    def _take(self, event: object) -> None:
        if isinstance(event, ResponseReceived):
            self.heads[event.stream_id] = dict(event.headers)  # type: ignore[arg-type]
        elif isinstance(event, DataReceived):
            self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            self.bodies[event.stream_id] = self.bodies.get(event.stream_id, b"") + event.data
        elif isinstance(event, StreamEnded):
            self._ended.add(event.stream_id)
        elif isinstance(event, StreamReset):
            self.heads[event.stream_id] = {":status": f"reset {event.error_code}"}
            self._ended.add(event.stream_id)


def exchange(
    site: tuple[StockServer, Origin], path: str, *more: tuple[str, str], **rest: object
) -> tuple[dict[str, str], bytes, list[Received]]:
    """Return fields and body of the response to a request, and what the origin received."""
    server, origin = site
    before = len(origin.received)
    with Peer(server) as peer:
        number = peer.send(path, *more, **rest)  # type: ignore[arg-type]
        peer.wait(number)
        return peer.heads[number], peer.bodies.get(number, b""), origin.received[before:]


def test_get(site: tuple[StockServer, Origin]) -> None:
    head, body, [received] = exchange(site, "/app/a?q=1", ("accept", "x/y"))
    assert (head[":status"], body) == ("200", b"origin q=1 0")
    assert received.line == b"GET /a?q=1 HTTP/1.1"
    assert received.values(b"host") == [b"127.0.0.1:%d" % site[1].port]
    assert received.values(b"accept") == [b"x/y"]
    assert received.values(b"x-forwarded-host") == [b"localhost"]
    assert not received.values(b"content-length") + received.values(b"transfer-encoding")


def test_fields_of_the_answer(site: tuple[StockServer, Origin]) -> None:
    head, _, _ = exchange(site, "/app/a")
    assert head["x-odd"] == "a\xe9\xff\tb"
    assert not head.keys() & {"connection", "keep-alive", "x-hop", "transfer-encoding"}


def test_head(site: tuple[StockServer, Origin]) -> None:
    head, body, [received] = exchange(site, "/app/a", method="HEAD")
    assert (head[":status"], head["content-length"], body) == ("200", "9", b"")
    assert received.line == b"HEAD /a HTTP/1.1"


@pytest.mark.parametrize("size", [0, 5, 60_000])
@pytest.mark.parametrize("has_length", [True, False])
def test_post(site: tuple[StockServer, Origin], size: int, has_length: bool) -> None:
    length = (("content-length", str(size)),) if has_length else ()
    _, body, [received] = exchange(site, "/app/a?p", *length, method="POST", body=b"y" * size)
    assert body == b"origin p %d" % size
    assert received.body == b"y" * size
    framing = received.values(b"content-length") + received.values(b"transfer-encoding")
    assert len(framing) == 1 or (size == 0 and not framing)  # apache2: as it knows the end in time


def test_fields_between_two_hops_stay_behind(site: tuple[StockServer, Origin]) -> None:
    own = (("te", "trailers"), ("x-kept", "1"), ("cookie", "a=1"), ("cookie", "b=2"))
    _, _, [received] = exchange(site, "/app/a", *own)
    assert not received.values(b"te") + received.values(b"upgrade") + received.values(b"keep-alive")
    assert received.values(b"x-kept") == [b"1"]
    assert received.values(b"cookie") == [b"a=1; b=2"]
    assert not {name for name, _ in received.fields if name.startswith(b":")}


BAD: dict[str, Fields] = {
    "connection": (("connection", "x-hop"), ("x-hop", "1")),
    "keep-alive": (("keep-alive", "1"),),
    "transfer-encoding": (("transfer-encoding", "chunked"),),
    "upgrade": (("upgrade", "x"),),
    "proxy-connection": (("proxy-connection", "x"),),
    "te": (("te", "gzip"),),
    "line-end": (("x-odd", "a\r\nx-forged: 1"),),
    "lf": (("x-odd", "a\nx-forged: 1"),),
    "cr": (("x-odd", "a\rb"),),
    "nul": (("x-odd", "a\0b"),),
    "control": (("x-odd", "a\x01b\x7f"),),
    "space-in-name": (("x odd", "1"),),
    "line-end-in-name": (("x-odd: 1\r\ny", "1"),),
    "capital": (("X-Odd", "1"),),
    "two-lengths": (("content-length", "3"), ("content-length", "4")),
    "long-length": (("content-length", "9"),),
    "length-list": (("content-length", "0, 0"),),
    "signed-length": (("content-length", "+0"),),
}
KEPT = {"outer-spaces": (" a ", b"a"), "bytes-and-tab": ("a\xe9\xff\tb", "a\xe9\xff\tb".encode())}


@pytest.mark.parametrize("name", BAD)
def test_a_field_that_must_not_pass_resets_the_stream(site: tuple[StockServer, Origin], name: str) -> None:
    head, _, received = exchange(site, "/app/a", *BAD[name])
    assert (head, received) == ({":status": "reset 1"}, [])


@pytest.mark.parametrize("name", KEPT)
def test_odd_bytes_of_a_value_pass(site: tuple[StockServer, Origin], name: str) -> None:
    value, expected = KEPT[name]
    head, _, [received] = exchange(site, "/app/a", ("x-odd", value))
    assert (head[":status"], received.values(b"x-odd")) == ("200", [expected])


def test_concurrent_streams(site: tuple[StockServer, Origin]) -> None:
    with Peer(site[0]) as peer:
        numbers = [peer.send(f"/app/slow?{number}") for number in range(20)]
        peer.wait(*numbers)
        assert [peer.bodies[number] for number in numbers] == [b"origin %d 0" % n for n in range(20)]
