"""Clients that go away: their requests end within a second and leave no process and no open file."""

from __future__ import annotations

import importlib
import os
import socket
import time

import pytest
from tests.server.conftest import ServerProcess, everything, lines, open_files, programs, reset, within

CONF = """\
LoadModule cgi_module m/mod_cgi.so
LoadModule env_module m/mod_env.so
LoadModule include_module m/mod_include.so
LoadModule ratelimit_module m/mod_ratelimit.so
LoadModule case_filter_module m/mod_case_filter.so
LoadModule http2_module m/mod_http2.so
Protocols h2c http/1.1
ScriptAlias /cgi/ {root}/cgi/
LogFormat "%r %>s %X" lines
CustomLog logs/lines lines
<Directory {root}>
    Options +Includes
    Require all granted
    AddOutputFilter INCLUDES .shtml
</Directory>
<Location /throttled>
    SetEnv rate-limit 100
    SetOutputFilter RATE_LIMIT
</Location>
<Location /upper>
    SetOutputFilter CASEFILTER
</Location>
Alias /throttled/ {root}/htdocs/
Alias /upper/ {root}/htdocs/
"""
SLEEPS = "#!/bin/sh\nexec sleep 100\n"
STREAMS = "#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\nbegin\\n'\nexec sleep 100\n"
SECOND = "#!/bin/sh\nsleep 1\nprintf 'Content-Type: text/plain\\n\\nlate\\n'\n"


@pytest.fixture
def site(server: ServerProcess) -> ServerProcess:
    root = server.root
    (root / "conf/extra.conf").write_text(CONF.format(root=root))
    (root / "cgi").mkdir()
    for name, text in (("sleep", SLEEPS), ("stream", STREAMS), ("second", SECOND)):
        (root / "cgi" / name).write_text(text)
        (root / "cgi" / name).chmod(0o755)
    for name, element in (("virtual", "include virtual=/cgi/stream"), ("cmd", "exec cmd={root}/cgi/sleep")):
        text = "<!--#" + element.format(root=root).replace("=", '="') + '" -->\n'
        (root / f"htdocs/{name}.shtml").write_text(text)
    with (root / "htdocs/huge.txt").open("wb") as file:
        file.truncate(1 << 30)
    server.start()
    server.get()
    assert within(lambda: is_settled(server))
    return server


def is_settled(server: ServerProcess) -> bool:
    """Return True if the workers have the same files open for a moment: all are there, and none is busy."""
    before = open_files(server)
    time.sleep(0.3)
    return open_files(server) == before


@pytest.mark.parametrize(
    ("request_line", "body", "status"),
    [
        ("GET /cgi/sleep", b"", 200),
        ("GET /cgi/stream", b"", 200),
        ("POST /cgi/sleep", b"Content-Length: 10\r\n\r\nabc", 400),
        ("POST /cgi/sleep", b"Content-Length: 3\r\n\r\nabc", 200),
        ("GET /cmd.shtml", b"", 200),
        ("GET /virtual.shtml", b"", 200),
    ],
)
def test_a_program_ends_with_its_client(
    site: ServerProcess, request_line: str, body: bytes, status: int
) -> None:
    before = open_files(site)
    wire = site.connect()
    wire.sendall(f"{request_line} HTTP/1.1\r\nHost: localhost\r\n".encode() + (body or b"\r\n"))
    site.wait_for(lambda: programs(site))
    time.sleep(0.2)
    reset(wire)
    assert within(lambda: not programs(site))
    assert within(lambda: len(lines(site)) == 2)
    assert lines(site)[1] == f"{request_line} HTTP/1.1 {status} X"
    assert within(lambda: open_files(site) == before)
    assert len(lines(site)) == 2
    assert "Traceback" not in site.errors()


@pytest.mark.parametrize("path", ["/throttled/huge.txt", "/upper/huge.txt", "/huge.txt"])
def test_a_body_is_not_read_further(site: ServerProcess, path: str) -> None:
    before = open_files(site)
    wire = site.connect()
    wire.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert wire.recv(4096)
    assert within(lambda: open_files(site) != before)
    reset(wire)
    assert within(lambda: open_files(site) == before)
    assert within(lambda: len(lines(site)) == 2)
    assert lines(site)[1] == f"GET {path} HTTP/1.1 200 X"
    assert "Traceback" not in site.errors()


def test_a_client_that_shuts_down_its_side_gets_its_response(site: ServerProcess) -> None:
    with site.connect() as wire:
        wire.sendall(b"GET /cgi/second HTTP/1.1\r\nHost: localhost\r\n\r\n")
        wire.shutdown(socket.SHUT_WR)
        assert b"late\n" in everything(wire)


def test_a_file_that_becomes_shorter_ends_the_connection(site: ServerProcess) -> None:
    before = open_files(site)
    with site.connect() as wire:
        wire.sendall(b"GET /huge.txt HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert wire.recv(4096)
        os.truncate(site.root / "htdocs/huge.txt", 1 << 29)
        wire.settimeout(20)
        count = 0
        try:
            while data := wire.recv(1 << 20):
                count += len(data)
        except ConnectionResetError:
            pass
    assert count < 1 << 30
    assert within(lambda: open_files(site) == before)
    assert within(lambda: lines(site)[1:] == ["GET /huge.txt HTTP/1.1 200 X"])


@pytest.mark.parametrize("whole", [False, True])
def test_a_stream_that_is_reset_ends_its_program(site: ServerProcess, whole: bool) -> None:
    pytest.importorskip("h2", reason="the optional package h2 is not installed")
    http2 = importlib.import_module("tests.server.test_http2")
    before = open_files(site)
    peer = http2.Peer(site)
    for number, path in ((1, "/cgi/sleep"), (3, "/cgi/stream"), (5, "/throttled/huge.txt")):
        peer.ask(number, path)
    peer.read(http2.DataReceived, 2)
    assert within(lambda: len(programs(site)) == 2)
    if whole:
        reset(peer.socket)
    else:
        for number in (1, 3, 5):
            peer.wire.reset_stream(number)
        peer.flush()
    assert within(lambda: not programs(site))
    assert within(lambda: len(lines(site)) == 4)
    assert sorted(lines(site)[1:]) == [
        f"GET {path} HTTP/2.0 200 X" for path in ("/cgi/sleep", "/cgi/stream", "/throttled/huge.txt")
    ]
    assert within(lambda: open_files(site) == before)
    if not whole:
        peer.ask(7)
        peer.read(http2.StreamEnded)
        assert peer.body(7) == b"hello\n"
    assert "Traceback" not in site.errors()


def test_a_file_that_becomes_shorter_resets_its_stream(site: ServerProcess) -> None:
    pytest.importorskip("h2", reason="the optional package h2 is not installed")
    http2 = importlib.import_module("tests.server.test_http2")
    before = open_files(site)
    peer = http2.Peer(site)
    peer.ask(1, "/huge.txt")
    peer.read(http2.DataReceived, 1)
    os.truncate(site.root / "htdocs/huge.txt", 4 << 20)
    peer.read(http2.StreamReset)
    assert peer.reset(1) == 2
    assert within(lambda: open_files(site) == before)
    assert within(lambda: lines(site)[1:] == ["GET /huge.txt HTTP/2.0 200 X"])
