"""Requests to HTTP/2 back ends; statuses are those of apache2 2.4.71 in front of the same back end."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from tests.support.http2_backend import BIG, Http2Backend
from tests.support.proxy_server import ProxyServer, answering
from tests.support.site import load_module_lines
from tests.support.tls_backend import TlsBackend

from whimbrel.modules.proxy.mod_proxy_http2.connection import MAX_UNSENT, WINDOW
from whimbrel.modules.proxy.mod_proxy_http2.sessions import MAX_SESSIONS

CONF = """%s
ProxyTimeout 1
<Location /x/>
ProxyErrorOverride On
ProxyPass h2c://127.0.0.1:%d/ %s
</Location>
ProxyPass /dead h2c://127.0.0.1:1/
ProxyPass / h2c://127.0.0.1:%d/ %s
ProxyPassReverse / http://127.0.0.1:%d/
"""
TLS = load_module_lines(["ssl"]) + "SSLProxyEngine On\nSSLProxyCheckPeerName Off\n"
Use = Callable[[ProxyServer, Http2Backend], Awaitable[None]]


def run(
    root: Path, use: Use, *, streams: int = 100, options: str = "", tls: ssl.SSLContext | None = None
) -> None:
    """Run *use* with a proxy in front of a scripted back end."""

    async def main() -> None:
        async with asyncio.timeout(20), Http2Backend(streams, tls) as backend:
            port = backend.port
            conf = CONF % (load_module_lines(["proxy_http2"]), port, options, port, options, port)
            if tls is not None:
                conf = TLS + conf.replace("h2c://", "h2://")
            async with ProxyServer(root, answering(b""), conf) as server:
                await use(server, backend)

    asyncio.run(main())


def status(response: bytes) -> int:
    return int(response[9:12])


def test_many_requests_share_a_connection(tmp_path: Path) -> None:
    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        answers = await asyncio.gather(*[server.get("/slow") for _ in range(20)])
        assert [status(answer) for answer in answers] == [200] * 20
        assert all(b"X-Slow: 1" in answer for answer in answers)
        assert backend.accepted == 1
        assert 1 < backend.most <= 20

    run(tmp_path, use)


def test_limit_of_streams_is_respected(tmp_path: Path) -> None:
    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        answers = await asyncio.gather(*[server.get("/slow") for _ in range(6)])
        assert [status(answer) for answer in answers] == [200] * 6
        assert (backend.accepted, backend.most) == (1, 2)

    run(tmp_path, use, streams=2)


def test_head_of_the_request(tmp_path: Path) -> None:
    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        await server.get("/a%20b?q=1", "Connection: X-Hop", "X-Hop: 1", "Keep-Alive: 1", "X-A: 1")
        fields = dict(backend.fields)
        assert fields[":path"] == "/a%20b?q=1"
        assert (fields[":method"], fields[":scheme"]) == ("GET", "http")
        assert fields[":authority"] == f"127.0.0.1:{backend.port}"
        assert fields["x-forwarded-host"] == "client.example"
        assert fields["x-a"] == "1"
        assert fields.keys().isdisjoint({"connection", "keep-alive", "x-hop", "host"})

    run(tmp_path, use)


@pytest.mark.parametrize(
    ("path", "expected", "accepted"),
    [
        ("/ok", 200, 1),
        ("/refuse", 200, 2),
        ("/goaway", 200, 2),
        ("/reset", 502, 1),
        ("/close", 503, 2),
        ("/garbage", 503, 1),
        ("/hang", 503, 1),
        ("/dead/x", 503, 0),
        ("/missing", 404, 1),
        ("/trailers", 200, 1),
        ("/drain", 200, 1),
    ],
)
def test_statuses(tmp_path: Path, path: str, expected: int, accepted: int) -> None:
    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        answer = await server.get(path)
        assert status(answer) == expected
        assert backend.accepted == accepted
        assert b"X-Trailer" not in answer
        assert status(await server.get("/ok")) == 200

    run(tmp_path, use)


def test_a_refused_request_is_repeated_once(tmp_path: Path) -> None:
    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        backend.refusals = 9
        assert status(await server.get("/refuse")) == 502
        assert backend.paths == ["/refuse"] * 2

    run(tmp_path, use)


def test_a_refused_body_is_not_repeated(tmp_path: Path) -> None:
    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        answer = await server.get("/refuse", "Content-Length: 3", method="POST", body=b"abc")
        assert status(answer) == 502
        assert backend.paths == ["/refuse"]

    run(tmp_path, use)


def test_bodies_of_both_directions(tmp_path: Path) -> None:
    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        body = b"b" * BIG
        answer = await server.get("/ok", f"Content-Length: {BIG}", method="POST", body=body)
        assert answer.endswith(b"2\r\nok\r\n0\r\n\r\n")
        assert backend.received == BIG
        assert dict(backend.fields)["content-length"] == str(BIG)
        answer = await server.get("/big")
        assert answer.count(b"x") >= BIG

    run(tmp_path, use)


def test_a_slow_client_holds_one_window(tmp_path: Path) -> None:
    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        reader, writer = await server.connect()
        writer.write(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
        await reader.readuntil(b"\r\n\r\n")
        before = -1
        async with asyncio.timeout(10):
            while before != backend.sent:  # until the windows are full
                before = backend.sent
                await asyncio.sleep(0.3)
        assert status(await server.get("/ok")) == 200
        await asyncio.sleep(0.2)
        assert backend.sent - before <= 2 * WINDOW
        writer.transport.abort()
        for _ in range(40):
            await asyncio.sleep(0.05)
            if backend.resets:
                break
        assert backend.resets == [8]

    run(tmp_path, use)


def test_a_client_that_goes_away_cancels_its_stream(tmp_path: Path) -> None:
    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        _, writer = await server.connect()
        writer.write(b"GET /hang HTTP/1.1\r\nHost: a\r\n\r\n")
        await asyncio.sleep(0.2)
        writer.transport.abort()
        for _ in range(60):
            await asyncio.sleep(0.05)
            if backend.resets:
                break
        assert backend.resets == [8]

    run(tmp_path, use)


@pytest.mark.parametrize("path", ["/broken", "/stall"])
def test_a_body_that_ends_early_ends_the_response(tmp_path: Path, path: str) -> None:
    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        answer = await server.get(path)
        assert not answer.endswith(b"0\r\n\r\n")

    run(tmp_path, use)


def test_heads_are_not_mapped(tmp_path: Path) -> None:
    """httpd applies ProxyPassReverse to no field of these answers."""

    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        answer = await server.get("/redirect")
        assert f"\r\nLocation: http://127.0.0.1:{backend.port}/to\r\n".encode() in answer
        assert answer.count(b"\r\nSet-Cookie: ") == 2
        assert b"theirs" in await server.get("/missing")
        assert b"theirs" not in await server.get("/x/missing")
        answer = await server.get("/hints")
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b"hinted" in answer

    run(tmp_path, use)


def test_disablereuse_makes_a_connection_for_each_request(tmp_path: Path) -> None:
    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        for _ in range(3):
            assert status(await server.get("/ok")) == 200
        assert backend.accepted == 3

    run(tmp_path, use, options="disablereuse=on")


@pytest.mark.parametrize(("offered", "expected"), [(["h2"], 200), ([], 503)])
def test_tls_with_the_protocol_h2(tmp_path: Path, offered: list[str], expected: int) -> None:
    tls = TlsBackend(tmp_path).context
    if offered:
        tls.set_alpn_protocols(offered)

    async def use(server: ProxyServer, backend: Http2Backend) -> None:
        assert [status(await server.get("/ok")) for _ in range(2)] == [expected] * 2
        if offered:
            assert backend.accepted == 1
            assert dict(backend.fields)[":scheme"] == "https"

    run(tmp_path, use, tls=tls)


def test_bounds() -> None:
    assert (WINDOW, MAX_UNSENT, MAX_SESSIONS) == (65535, 1 << 20, 256)
