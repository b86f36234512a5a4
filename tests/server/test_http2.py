"""HTTP/2 over real sockets, with the h2 package as client.

Responses to bad input are those of 2.4.71, as far as the package distinguishes them.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from h2.events import (
    ConnectionTerminated,
    DataReceived,
    Event,
    InformationalResponseReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from tests.server.conftest import ServerProcess, everything, programs, unstarted_server
from tests.support.lenient_http2 import lenient_client

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
CONF = """\
LoadModule http2_module m/mod_http2.so
LoadModule cgi_module m/mod_cgi.so
ScriptAlias /cgi/ {root}/cgi/
Protocols h2c http/1.1
LogFormat "%r %>s %B %X %k" lines
CustomLog logs/lines lines
"""
SLOW = "#!/bin/sh\nsleep 1\nprintf 'Content-Type: text/plain\\r\\nConnection: close\\r\\n\\r\\nslow\\n'\n"
HELD = (
    "#!/bin/sh\nwhile [ ! -e ../go ]; do sleep 0.05; done\nprintf 'Content-Type: text/plain\\n\\nheld\\n'\n"
)
ECHO = "#!/bin/sh\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\ncat\n"
SHOW = (
    '#!/bin/sh\nprintf \'Content-Type: text/plain\\r\\n\\r\\n%s %s %s %s\' "$SERVER_PROTOCOL" "$HTTP2" '
    '"$H2PUSH" "$H2_STREAM_ID"\n'
)


class Peer:
    """A client that collects events by stream."""

    def __init__(self, server: ServerProcess, *, begin: bool = True) -> None:
        self.socket = server.connect()
        self.wire = lenient_client()
        self.events: list[Event] = []
        self.closed = False
        if begin:
            self.wire.initiate_connection()
            self.flush()

    def flush(self) -> None:
        self.socket.sendall(self.wire.data_to_send())

    def ask(
        self, number: int, path: str = "/", *more: tuple[str, str], method: str = "GET", end: bool = True
    ) -> None:
        fields = [
            (":method", method),
            (":scheme", "http"),
            (":authority", "localhost"),
            (":path", path),
            *more,
        ]
        self.wire.send_headers(number, fields, end_stream=end)
        self.flush()

    def read(self, until: type[Event], count: int = 1, seconds: float = 30.0) -> list[Event]:
        """Read until *count* events of a kind have arrived, or the server has closed."""
        end = time.monotonic() + seconds
        while (
            len(found := [e for e in self.events if isinstance(e, until)]) < count
            and not self.closed
            and time.monotonic() < end
        ):
            self.socket.settimeout(max(0.01, end - time.monotonic()))
            try:
                data = self.socket.recv(1 << 16)
            except TimeoutError:
                break
            except ConnectionResetError:
                data = b""
            self.closed = not data
            for event in self.wire.receive_data(data) if data else []:
                self.events.append(event)
                if isinstance(event, DataReceived) and event.flow_controlled_length:
                    self.wire.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            if not self.closed:
                self.flush()
        return found

    def fields(self, number: int) -> dict[str, str]:
        (answer,) = [e for e in self.events if isinstance(e, ResponseReceived) and e.stream_id == number]
        return {str(name): str(value) for name, value in answer.headers}

    def body(self, number: int) -> bytes:
        return b"".join(
            bytes(e.data) for e in self.events if isinstance(e, DataReceived) and e.stream_id == number
        )

    def reset(self, number: int) -> int:
        (event,) = [e for e in self.events if isinstance(e, StreamReset) and e.stream_id == number]
        return int(event.error_code)


@pytest.fixture
def site(server: ServerProcess) -> Iterator[ServerProcess]:
    """A server with mod_http2 and its programs, not started yet."""
    lay_out(server)
    yield server


@pytest.fixture(scope="module")
def running() -> Iterator[ServerProcess]:
    """The same one, started, for tests that leave nothing behind."""
    with unstarted_server() as server:
        lay_out(server)
        server.start()
        yield server


def lay_out(server: ServerProcess) -> None:
    """Write configuration and programs."""
    folder = server.root / "cgi"
    folder.mkdir()
    for name, text in (("slow", SLOW), ("held", HELD), ("echo", ECHO), ("show", SHOW)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (server.root / "conf/extra.conf").write_text(CONF.format(root=server.root))


def add(server: ServerProcess, text: str) -> None:
    path: Path = server.root / "conf/extra.conf"
    path.write_text(path.read_text() + text)


def test_consecutive_requests_and_cached_responses(site: ServerProcess) -> None:
    site.start()
    peer = Peer(site)
    for number in range(1, 21, 2):
        peer.ask(number, "/index.html", ("accept", "*/*"))
        peer.read(StreamEnded, (number + 1) // 2)
        fields = peer.fields(number)
        assert list(fields)[-2:] == ["date", "server"]
        assert (fields[":status"], fields["content-length"], peer.body(number)) == ("200", "6", b"hello\n")
    site.wait_for(lambda: (site.root / "logs/lines").read_text().count("\n") == 10)
    assert set((site.root / "logs/lines").read_text().splitlines()) == {"GET /index.html HTTP/2.0 200 6 - 1"}


def test_a_slow_response_delays_no_other(running: ServerProcess) -> None:
    peer = Peer(running)
    peer.ask(1, "/cgi/slow")
    peer.ask(3, "/")
    peer.read(StreamEnded, 2)
    assert [e.stream_id for e in peer.events if isinstance(e, StreamEnded)] == [3, 1]
    assert "connection" not in peer.fields(1)
    assert peer.body(1) == b"slow\n"


def test_head_and_errors(running: ServerProcess) -> None:
    peer = Peer(running)
    peer.ask(1, "/", method="HEAD")
    peer.ask(3, "/none")
    peer.read(StreamEnded, 2)
    assert peer.fields(1)["content-length"] == "6" and peer.body(1) == b""
    assert peer.fields(3)[":status"] == "404" and b"Not Found" in peer.body(3)


def test_a_large_file_under_small_windows(running: ServerProcess) -> None:
    (running.root / "htdocs/large.bin").write_bytes(bytes(range(256)) * 8_000)
    peer = Peer(running, begin=False)
    peer.wire.local_settings.initial_window_size = 1000
    peer.wire.local_settings.acknowledge()
    peer.wire.initiate_connection()
    peer.flush()
    peer.ask(1, "/large.bin")
    peer.read(StreamEnded, seconds=60)
    assert peer.body(1) == bytes(range(256)) * 8_000


def test_a_body_larger_than_the_window_comes_back(running: ServerProcess) -> None:
    peer = Peer(running)
    peer.ask(1, "/cgi/echo", method="POST", end=False)
    want = os.urandom(300_000)
    at = 0
    while at < len(want):
        size = min(peer.wire.local_flow_control_window(1), 16384, len(want) - at)
        if not size:
            peer.read(type(None), seconds=0.05)  # type: ignore[arg-type]
            continue
        peer.wire.send_data(1, want[at : at + size], end_stream=at + size == len(want))
        peer.flush()
        at += size
    peer.read(StreamEnded)
    assert peer.body(1) == want


def test_continue_and_variables(running: ServerProcess) -> None:
    peer = Peer(running)
    peer.ask(1, "/cgi/echo", ("expect", "100-continue"), method="POST", end=False)
    assert peer.read(InformationalResponseReceived)
    peer.wire.send_data(1, b"abc", end_stream=True)
    peer.flush()
    peer.ask(3, "/cgi/show")
    peer.read(StreamEnded, 2)
    assert peer.body(1) == b"abc"
    assert peer.body(3) == b"HTTP/2.0 on on 3"


def test_an_answer_that_needs_no_body_ends_the_stream(running: ServerProcess) -> None:
    """2.4.71 responds and resets with NO_ERROR."""
    peer = Peer(running)
    peer.ask(1, "/", method="POST", end=False)
    peer.read(StreamReset)
    assert peer.fields(1)[":status"] == "200" and peer.reset(1) == 0


@pytest.mark.parametrize(
    ("more", "code"),
    [(("connection", "close"), 1), (("content-length", "5"), 1), (("X-A", "1"), 1), (("te", "gzip"), 1)],
)
def test_malformed_requests_end_their_stream_only(
    running: ServerProcess, more: tuple[str, str], code: int
) -> None:
    peer = Peer(running)
    peer.ask(1, "/", more)
    peer.read(StreamReset)
    peer.ask(3, "/")
    peer.read(StreamEnded)
    assert peer.reset(1) == code and peer.fields(3)[":status"] == "200"


@pytest.mark.parametrize(("length", "data"), [("10", b"short"), ("3", b"longer")])
def test_a_body_of_another_length_ends_its_stream_only(
    running: ServerProcess, length: str, data: bytes
) -> None:
    peer = Peer(running)
    peer.ask(1, "/cgi/echo", ("content-length", length), method="POST", end=False)
    peer.wire.send_data(1, data, end_stream=True)
    peer.flush()
    peer.read(StreamReset)
    assert peer.reset(1) == 1


def test_streams_beyond_the_limit_are_refused(site: ServerProcess) -> None:
    add(site, "H2MaxSessionStreams 2\n")
    site.start()
    peer = Peer(site)
    for number in (1, 3, 5):
        peer.ask(number, "/cgi/slow")
    peer.read(StreamEnded, 2)
    assert peer.reset(5) == 7
    assert peer.body(1) == peer.body(3) == b"slow\n"


def test_upgrade_and_its_announcement(running: ServerProcess) -> None:
    got = running.ask(
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    )
    assert got.count(b"\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n") == 1
    peer = Peer(running, begin=False)
    settings = peer.wire.initiate_upgrade_connection()
    assert isinstance(settings, bytes)
    peer.socket.sendall(
        b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: "
        b"h2c\r\nHTTP2-Settings: %b\r\n\r\n" % settings.rstrip(b"=")
    )
    want = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n"
    got = b""
    while len(got) < len(want):
        got += peer.socket.recv(len(want) - len(got))
    assert got == want
    peer.flush()
    peer.ask(3, "/none")
    peer.read(StreamEnded, 2)
    assert peer.body(1) == b"hello\n"
    assert peer.fields(3)[":status"] == "404"


@pytest.mark.parametrize(
    "lines",
    [
        b"Connection: Upgrade\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n",
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n",
        b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: websocket\r\nHTTP2-Settings: AAMAAABk\r\n",
    ],
)
def test_what_is_no_upgrade_is_answered_in_http_1(running: ServerProcess, lines: bytes) -> None:
    got = running.ask(
        b"GET / HTTP/1.1\r\nHost: a\r\n%b\r\nGET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % lines
    )
    assert got.startswith(b"HTTP/1.1 200 OK")


def test_without_protocols_the_preface_is_a_bad_request(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text("LoadModule http2_module m/mod_http2.so\n")
    server.start()
    assert server.ask(PREFACE).startswith(b"HTTP/1.1 400 ")


def test_a_preface_in_pieces(running: ServerProcess) -> None:
    peer = Peer(running, begin=False)
    peer.wire.initiate_connection()
    for byte in peer.wire.data_to_send():
        peer.socket.sendall(bytes([byte]))
    peer.ask(1)
    assert peer.read(StreamEnded)


def test_idle_connections_hear_goodbye(site: ServerProcess) -> None:
    add(site, "KeepAliveTimeout 1\n")
    site.start()
    peer = Peer(site)
    peer.ask(1)
    (goodbye,) = peer.read(ConnectionTerminated)
    assert isinstance(goodbye, ConnectionTerminated)
    assert (goodbye.error_code, goodbye.last_stream_id) == (0, 1)


def test_a_graceful_restart_ends_streams_first(site: ServerProcess) -> None:
    site.start()
    peer = Peer(site)
    peer.ask(1, "/cgi/held")
    site.wait_for(lambda: programs(site))
    site.signal(signal.SIGUSR1)
    got = b""
    while bytes.fromhex("0000080700000000000000000100000000") not in got:
        got += peer.socket.recv(1000)  # the package reads nothing after a GOAWAY
        assert b"held\n" not in got
    (site.root / "go").touch()
    assert b"held\n" in everything(peer.socket)


FLOODS = {
    "settings": b"\0\0\0\4\0\0\0\0\0" * 20_000,
    "ping": b"\0\0\x08\6\0\0\0\0\0abcdefgh" * 20_000,
    "continuation": b"\0\0\1\1\0\0\0\0\1\x82" + (b"\0\x3e\x80\x09\0\0\0\0\1" + b"\0" * 16_000) * 200,
    "empty data": b"\0\0\x05\1\4\0\0\0\1\x83\x86\x84\x41\x01".ljust(14, b"a")
    + b"\0\0\0\0\0\0\0\0\1" * 20_000,
    "unpacked fields": b"\0\x10\0\1\5\0\0\0\1" + b"\x40\x01a\x7f\x81\x1e" + b"b" * 4090,
    "wrong preface frame": b"\0\0\0\x99\0\0\0\0\0" * 10 + b"\xff" * 100,
    "too long": b"\0\x40\1\0\0\0\0\0\1" + b"a" * 16385,
    "window": b"\0\0\4\x08\0\0\0\0\0\x7f\xff\xff\xff",
    "window 0": b"\0\0\4\x08\0\0\0\0\0\0\0\0\0",
    "even": b"\0\0\1\1\5\0\0\0\2\x82",
    "data before": b"\0\0\1\0\1\0\0\0\1x",
    "bad hpack": b"\0\0\5\1\5\0\0\0\1\xff\xff\xff\xff\xff",
    "reset idle": b"\0\0\4\3\0\0\0\0\x09\0\0\0\x08",
}


def sizes(server: ServerProcess) -> list[int]:
    """Return the workers' memory in KB."""
    return [
        int(line.split()[1])
        for pid in server.workers()
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if "VmRSS" in line
    ]


@pytest.mark.parametrize("name", list(FLOODS))
def test_attacks_end_their_own_connection_only(site: ServerProcess, name: str) -> None:
    site.start()
    healthy = Peer(site)
    healthy.ask(1)
    healthy.read(StreamEnded)
    before, workers = sizes(site), site.workers()
    for _ in range(3):
        with site.connect() as wire:
            try:
                wire.sendall(PREFACE + b"\0\0\0\4\0\0\0\0\0" + FLOODS[name])
                wire.shutdown(socket.SHUT_WR)
                while wire.recv(1 << 16):
                    pass
            except OSError:
                pass
    healthy.ask(3)
    assert len(healthy.read(StreamEnded, 2)) == 2
    assert site.workers() == workers
    assert max(sizes(site)) < max(before) + 16_000


def test_streams_that_are_given_up_at_once_start_nothing(site: ServerProcess) -> None:
    """Rapid reset: a request that the same piece of data resets is never started."""
    site.start()
    peer = Peer(site)
    for number in range(1, 301, 2):
        peer.wire.send_headers(
            number,
            [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/cgi/slow")],
            end_stream=True,
        )
        peer.wire.reset_stream(number, 8)
    peer.ask(301)
    peer.read(StreamEnded)
    assert peer.fields(301)[":status"] == "200"
    time.sleep(0.3)
    assert "/cgi/slow" not in (site.root / "logs/lines").read_text()
