"""Applications and clients that do what they should not: bounds, order, and a server that goes on."""

from __future__ import annotations

import re
import select
import socket
import struct
import time
from functools import partial
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess, within

from whimbrel.engine.engine import GENERAL_PATH

PYTHON = Path("/usr/bin/python3")
pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="no /usr/bin/python3 that the server's user may run"
)
APPLICATION = """
import os, subprocess, sys, time
PRODUCED = [0]
CLOSED = []
class Endless:
    def __iter__(self):
        return self
    def __next__(self):
        PRODUCED[0] += 8192
        return b"x" * 8192
    def close(self):
        CLOSED.append(1)
def application(environ, start_response):
    name = environ["PATH_INFO"][1:]
    fields = [("Content-Type", "text/plain")]
    if name == "endless":
        PRODUCED[0] = 0
        start_response("200 OK", fields)
        return Endless()
    if name == "stream":
        start_response("200 OK", fields)
        return (b"%d," % n for n in range(100))
    if name in ("204", "304"):
        start_response(name + " Status", fields)
        return [b"body"]
    if name == "fork":
        pid = os.fork()
        if not pid:
            os._exit(0)
        os.waitpid(pid, 0)
    elif name == "child":
        subprocess.Popen(["sleep", "2"])
    elif name == "stdin":
        try:
            os.close(0)
        except OSError:
            pass  # the second time
    elif name == "stderr":
        line = b"e" * 99 + b"\\n"
        for _ in range(50000):
            os.write(2, line)
        sys.stderr.write("s" * 5000000 + "\\n")
    elif name == "errors":
        environ["wsgi.errors"].write("w" * 10000000 + "\\n")
    data = {"produced": "%d" % PRODUCED[0], "closed": "%d" % len(CLOSED)}.get(name, "hello").encode()
    start_response("200 OK", fields + [("Content-Length", str(len(data)))])
    return [data]
"""
CONF = """
LoadModule wsgi_module m/mod_wsgi.so
WSGIPythonHome /usr
WSGIDaemonProcess site threads=3
WSGIScriptAlias /app {root}/htdocs/app.wsgi process-group=site application-group=%{{GLOBAL}}
"""
# Bytes that an application gives before a client has read any: buffers of both sockets (4 MB at most for
# TCP), of the worker and of the process.
MAX_AHEAD = 6 << 20
# Fields, and the status of apache2 2.4.71 with mod_wsgi 4.9.4.
ODD_FIELDS = [
    ("X: " + "y" * 8000, b"200"),
    ("X: " + "y" * 9000, b"400"),
    ("\r\n".join([f"X-{n}: y" for n in range(97)]), b"200"),
    ("\r\n".join([f"X-{n}: y" for n in range(120)]), b"400"),
    ("X: y\r\n z", b"200"),
    ("X y: z", b"400"),
    ("X: \0", b"400"),
    ("Content-Length: 0", b"200"),
    ("Content-Length: -1", b"400"),
    ("Transfer-Encoding: chunked\r\nContent-Length: 3", b"411"),
    ("Expect: 100-continue", b"200"),
    ("Expect: x", b"417"),
    ("Connection: close", b"200"),
    ("Range: bytes=0-1", b"200"),
    ("If-None-Match: *", b"200"),
]
WARM = 6  # requests after which equal ones are relayed


@pytest.fixture(params=["relayed", "general"])
def site(request: pytest.FixtureRequest, server: ServerProcess) -> ServerProcess:
    """Return a server with the application, which relays requests or does not."""
    if request.param == "general":
        server.environment[GENERAL_PATH] = "1"
    (server.root / "htdocs/app.wsgi").write_text(APPLICATION)
    (server.root / "conf/extra.conf").write_text(CONF.format(root=server.root))
    server.start()
    return server


def text_of(name: str, *fields: str, method: str = "GET") -> bytes:
    """Return a request."""
    return "\r\n".join([f"{method} /app/{name} HTTP/1.1", "Host: a", *fields, "", ""]).encode()


def response(wire: socket.socket) -> tuple[bytes, bytes]:
    """Return head and body of one response."""
    reply = b""
    while b"\r\n\r\n" not in reply:
        data = wire.recv(1)
        assert data, reply
        reply += data
    head, _gap, body = reply.partition(b"\r\n\r\n")
    found = re.search(rb"\r\nContent-Length: (\d+)", head)
    if found is not None:
        while len(body) < int(found[1]):
            body += wire.recv(int(found[1]) - len(body))
    elif b"chunked" in head:
        while not body.endswith(b"0\r\n\r\n"):
            body += wire.recv(1)
    return head, body


def warmed(server: ServerProcess, *names: str) -> socket.socket:
    """Return a connection on which requests for *names* were answered until they are relayed."""
    wire = server.connect()
    for name in names:
        for _ in range(WARM):
            wire.sendall(text_of(name))
            assert response(wire)[0].startswith(b"HTTP/1.1 200 ")
    return wire


def number(server: ServerProcess, name: str) -> int:
    """Return the number that the application shows."""
    return int(server.get(f"/app/{name}").rpartition(b"\r\n")[2])


def is_closed(server: ServerProcess, count: int) -> bool:
    """Return True if *count* endless responses were closed."""
    return number(server, "closed") == count


def stands(server: ServerProcess) -> bool:
    """Return True if the application produces nothing for half a second."""
    found = number(server, "produced")
    time.sleep(0.5)
    return number(server, "produced") == found


def abort(wire: socket.socket) -> None:
    """Reset a connection."""
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


def test_a_client_that_reads_nothing_stops_the_application(site: ServerProcess) -> None:
    for count in range(1, WARM):  # learned while they are aborted
        wire = site.connect()
        wire.sendall(text_of("plain"))
        response(wire)
        wire.sendall(text_of("endless"))
        wire.recv(10000)
        abort(wire)
        assert within(partial(is_closed, site, count))
    wire = site.connect()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    wire.sendall(text_of("plain"))
    response(wire)
    wire.sendall(text_of("endless"))
    assert select.select([wire], [], [], 30)[0]  # the response has begun
    assert within(partial(stands, site))
    assert number(site, "produced") < MAX_AHEAD
    abort(wire)
    assert within(lambda: number(site, "closed") == WARM)
    lines = (site.root / "logs/access_log").read_text()
    assert lines.count("GET /app/endless HTTP/1.1 200 ") == WARM


def test_pipelined_requests_are_answered_in_order(site: ServerProcess) -> None:
    with warmed(site, "hello", "stream") as wire:
        names = ["hello", "stream", "stream", "hello", "hello", "stream"] * 3
        wire.sendall(b"".join(map(text_of, names)))
        bodies = [response(wire)[1] for _ in names]
        for name, body in zip(names, bodies, strict=True):
            assert (body == b"hello") is (name == "hello")
        for piece in (1, 7, 40):  # in pieces
            data = text_of("hello", "X-A: b") * 2
            for at in range(0, len(data), piece):
                wire.sendall(data[at : at + piece])
            assert [response(wire)[1] for _ in range(2)] == [b"hello"] * 2


def test_methods_and_statuses_without_a_body(site: ServerProcess) -> None:
    with warmed(site, "hello", "stream") as wire:
        for name in ("hello", "stream"):
            wire.sendall(text_of(name, method="HEAD") + text_of("hello"))
            data = b""
            while not data.endswith(b"\r\n\r\nhello"):
                data += wire.recv(1000)
            assert data.count(b"HTTP/1.1 200 OK") == 2
            assert data.count(b"\r\n\r\n") == 2
        for _ in range(WARM):
            for name in ("204", "304"):
                wire.sendall(text_of(name))
                assert response(wire)[0].startswith(b"HTTP/1.1 " + name.encode())
                wire.sendall(text_of("hello"))
                assert response(wire)[1] == b"hello"


def test_odd_heads(site: ServerProcess) -> None:
    for field, status in ODD_FIELDS:
        with warmed(site, "hello") as wire:
            wire.sendall(text_of("hello", field))
            assert response(wire)[0][9:12] == status, field
    assert site.get("/app/hello").endswith(b"hello")


def test_applications_that_misbehave(site: ServerProcess) -> None:
    for name in ("fork", "child", "stdin", "stderr", "errors"):
        for _ in range(2):
            assert site.get(f"/app/{name}").endswith(b"\r\n\r\nhello"), name
            for _ in range(4):  # every thread
                assert site.get("/app/hello").endswith(b"\r\n\r\nhello"), name
    assert "Traceback" not in site.errors()
