"""Tunnels of a running server: CONNECT, WebSocket over HTTP/1.1 and over HTTP/2, their ends and their memory.

Statuses, fields and access lines are apache2's, but for the name of the server.
"""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from bench.tunnels import measure
from tests.server.conftest import ServerProcess, everything, lines, reset, within

from whimbrel.base.product import VERSION

CONF = """\
LoadModule proxy_module m/mod_proxy.so
LoadModule proxy_connect_module m/mod_proxy_connect.so
LoadModule proxy_http_module m/mod_proxy_http.so
LoadModule proxy_wstunnel_module m/mod_proxy_wstunnel.so
LoadModule http2_module m/mod_http2.so
Protocols h2c http/1.1
H2WebSockets on
ProxyRequests On
AllowCONNECT {tcp} 8000-8100
TimeOut {timeout}
ProxyPass /ws ws://127.0.0.1:{ws}/
ProxyPass /up http://127.0.0.1:{ws}/ upgrade=websocket
ProxyPass /raw ws://127.0.0.1:{tcp}/
LogFormat "%r %>s %b" lines
CustomLog logs/lines lines
"""
MB = 1_000_000
MAX_TUNNEL = 11_500  # bytes, so that 10,000 with the worker itself stay below 150 MB


class EchoServer:
    """A TCP server that greets, and returns what it got once the client's side ends.

    Attributes:
        open: its connections.
    """

    def __init__(self) -> None:
        self.open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                wire = self._listener.accept()[0]
            except OSError:
                return
            self.open.append(wire)
            threading.Thread(target=self._serve, args=(wire,), daemon=True).start()

    def _serve(self, wire: socket.socket) -> None:
        try:
            wire.sendall(b"hello ")
            wire.sendall(b"got:" + everything(wire))
        except OSError:
            pass
        self.open.remove(wire)
        wire.close()

    def close(self) -> None:
        self._listener.close()


@pytest.fixture
def echo() -> Iterator[EchoServer]:
    backend = EchoServer()
    yield backend
    backend.close()


def start(server: ServerProcess, tcp: int, ws: int = 1, timeout: float = 30) -> ServerProcess:
    conf = CONF.format(tcp=tcp, ws=ws, timeout=timeout)
    (server.root / "conf/extra.conf").write_text(conf)
    server.start()
    server.get()
    return server


def connect_head(port: int) -> bytes:
    return b"CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n\r\n" % port


def tunnel(server: ServerProcess, port: int, early: bytes = b"") -> socket.socket:
    wire = server.connect()
    wire.sendall(connect_head(port) + early)
    return wire


def head_of(wire: socket.socket) -> bytes:
    out = b""
    while b"\r\n\r\n" not in out:
        data = wire.recv(1)
        assert data, out
        out += data
    return out


@pytest.mark.parametrize("size", [6, 300_000])
def test_connect_passes_what_came_with_the_head(server: ServerProcess, echo: EchoServer, size: int) -> None:
    start(server, echo.port)
    wire = tunnel(server, echo.port, b"x" * size)
    wire.shutdown(socket.SHUT_WR)
    head, _, rest = everything(wire).partition(b"\r\n\r\n")
    agent = b"Whimbrel/%b (Unix)" % VERSION.encode()
    assert head == b"HTTP/1.0 200 Connection Established\r\nProxy-agent: " + agent
    assert rest == b"hello got:" + b"x" * size
    assert within(lambda: lines(server)[-1:] == [f"CONNECT 127.0.0.1:{echo.port} HTTP/1.1 200 -"])


@pytest.mark.parametrize(
    ("target", "status", "code"),
    [
        (b"127.0.0.1:81", b"403 Proxy Error", "AH00898"),
        (b"127.0.0.1:99999", b"403 Proxy Error", "AH00898"),
        (b"nosuch.invalid:8001", b"502 Proxy Error", "AH02327"),
        (b"127.0.0.1:8001", b"503 Service Unavailable", "AH00939"),
        (b"127.0.0.1", b"400 Bad Request", ""),
    ],
)
def test_connect_is_refused(
    server: ServerProcess, echo: EchoServer, target: bytes, status: bytes, code: str
) -> None:
    start(server, echo.port)
    reply = server.ask(b"CONNECT %b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % target)
    assert reply.startswith(b"HTTP/1.1 " + status)
    assert within(lambda: code in server.errors())


@pytest.mark.parametrize("gone", ["client", "backend"])
def test_one_end_closes_the_other(server: ServerProcess, echo: EchoServer, gone: str) -> None:
    start(server, echo.port)
    wire = tunnel(server, echo.port)
    head_of(wire)
    assert within(lambda: echo.open)
    if gone == "client":
        reset(wire)
        assert within(lambda: not echo.open)
    else:
        wire.recv(6)
        wire.settimeout(1)
        echo.open[0].shutdown(socket.SHUT_RDWR)
        assert wire.recv(1) == b""
        wire.close()
    assert within(lambda: lines(server)[-1].startswith("CONNECT"))


def test_an_idle_tunnel_ends(server: ServerProcess, echo: EchoServer) -> None:
    start(server, echo.port, timeout=1)
    wire = tunnel(server, echo.port)
    assert everything(wire).endswith(b"hello ")
    assert within(lambda: "AH10224: tunnel timed out" in server.errors())


def test_a_graceful_stop_lets_tunnels_end(server: ServerProcess, echo: EchoServer) -> None:
    start(server, echo.port)
    wire = tunnel(server, echo.port)
    head_of(wire)
    server.signal(signal.SIGWINCH)
    time.sleep(1)
    assert not server.ended()
    wire.sendall(b"still")
    wire.shutdown(socket.SHUT_WR)
    assert everything(wire) == b"hello got:still"
    assert within(server.ended)


def test_websocket(server: ServerProcess, echo: EchoServer) -> None:
    pytest.importorskip("websockets", reason="the package websockets is not installed")
    from websockets.asyncio.client import connect
    from websockets.asyncio.server import ServerConnection, serve

    async def answer(wire: ServerConnection) -> None:
        async for message in wire:
            await wire.send(message)

    async def main() -> list[object]:
        async with serve(answer, "127.0.0.1", 0) as backend:
            start(server, echo.port, next(iter(backend.sockets)).getsockname()[1])
            got: list[object] = []
            for path in ("/ws", "/up"):
                async with connect(f"ws://127.0.0.1:{server.port}{path}") as wire:
                    for message in ("text", bytes(200_000)):
                        await wire.send(message)
                        got.append(await wire.recv() == message)
            return got

    assert asyncio.run(main()) == [True] * 4
    wanted = ["GET /ws HTTP/1.1 101 -", "GET /up HTTP/1.1 101 -"]
    assert within(lambda: [line for line in lines(server) if " 101 " in line] == wanted)


def test_memory_of_idle_tunnels() -> None:
    """Two thousand idle tunnels; `python -m bench.tunnels` measures ten thousand."""
    try:
        figures = measure(2000)
    except OSError as problem:
        pytest.skip(str(problem))
    size = (figures.after - figures.before) / 2000
    assert size < MAX_TUNNEL and figures.before + 10_000 * size < 150 * MB
    assert figures.closing < 2
