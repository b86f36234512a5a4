"""Echoed connections: what httpd 2.4.71 sends back and when; what is held has a bound."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.engine import build_engine
from tests.support.fakes import FakeTransport
from tests.support.worker import WorkerHarness

from whimbrel.server.connection.echo import MAX_LINE, EchoProtocol
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.state import FOREVER
from whimbrel.testing.fake_runtime import FakeRuntime

CONF = "LoadModule echo_module modules/mod_echo.so\nTimeout 30\nKeepAliveTimeout 5\nLogLevel info\n"


def connect(tmp_path: Path, conf: str) -> tuple[EchoProtocol, FakeTransport, WorkerHarness]:
    """Return a new connection to a server with the configuration *conf*."""
    harness, transport = WorkerHarness(build_engine(tmp_path, CONF + conf)), FakeTransport()
    protocol = EchoProtocol(harness.service, lambda: Http1Connection(harness.service))
    protocol.connection_made(transport)
    return protocol, transport, harness


@pytest.mark.parametrize(
    ("pieces", "echoed"),
    [
        ([b"hello\n"], b"hello\n"),
        ([b"par", b"tial\nab"], b"partial\n"),
        ([b"a\nb\nc\n"], b"a\nb\nc\n"),
        ([b"x" * 9000], b"x" * 9000),
        ([b"x" * 8000, b"y" * 100], b""),
        ([b"\0\r\n\xff\n"], b"\0\r\n\xff\n"),
    ],
)
def test_lines(tmp_path: Path, pieces: list[bytes], echoed: bytes) -> None:
    protocol, transport, _harness = connect(tmp_path, "ProtocolEcho On")
    for piece in pieces:
        protocol.data_received(piece)
        assert len(protocol._line) < MAX_LINE
    assert transport.out == echoed


def test_the_end_of_the_input(tmp_path: Path) -> None:
    protocol, transport, harness = connect(tmp_path, "ProtocolEcho On")
    protocol.data_received(b"ab")
    assert (protocol.eof_received(), transport.out) == (False, b"ab")
    runtime = harness.engine.runtime
    assert isinstance(runtime, FakeRuntime)
    (lines,) = runtime.logs.values()
    text = "AH01612: ProtocolEcho: Error - read empty brigade from 192.0.2.7!"
    assert text in lines[0].decode() and "[echo:info]" in lines[0].decode()


def test_timeouts(tmp_path: Path) -> None:
    protocol, transport, harness = connect(tmp_path, "ProtocolEcho On")
    assert protocol.deadline - harness.service.clock == 30
    protocol.data_received(b"a\n")
    assert protocol.deadline - harness.service.clock == 5
    row = protocol.scoreboard_row()
    assert (row["state"], row["request"], row["client"]) == ("K", "ECHO a", "192.0.2.7")
    protocol.expire()
    assert transport.is_closed and protocol.deadline == FOREVER


def test_a_client_that_does_not_read_is_not_read(tmp_path: Path) -> None:
    protocol, transport, _harness = connect(tmp_path, "ProtocolEcho On")
    protocol.pause_writing()
    assert transport.is_paused
    protocol.resume_writing()
    assert not transport.is_paused


def test_the_worker_ends(tmp_path: Path) -> None:
    protocol, transport, _harness = connect(tmp_path, "ProtocolEcho On")
    protocol.drain()
    assert not transport.is_closed
    protocol.data_received(b"a\n")
    assert transport.is_closed
    protocol, transport, _harness = connect(tmp_path, "ProtocolEcho On")
    protocol.close_now()
    assert transport.is_closed


def test_other_servers_speak_http(tmp_path: Path) -> None:
    _protocol, transport, harness = connect(tmp_path, "ProtocolEcho Off")
    assert isinstance(transport.protocol, Http1Connection)
    assert harness.service.connections == {transport.protocol}


def test_a_virtual_host_inherits(tmp_path: Path) -> None:
    hosts = "Listen 80\nProtocolEcho On\n<VirtualHost *:80>\nServerName a\n%s\n</VirtualHost>"
    assert connect(tmp_path, hosts % "")[1].protocol is None
    assert isinstance(connect(tmp_path, hosts % "ProtocolEcho Off")[1].protocol, Http1Connection)
