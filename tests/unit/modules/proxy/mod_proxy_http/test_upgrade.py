"""Protocols that a worker passes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.proxy_server import ProxyServer, answering, run

from whimbrel.modules.proxy.mod_proxy.model import define_worker
from whimbrel.modules.proxy.mod_proxy_http.upgrade import may_upgrade

CONF = "ProxyPass / http://127.0.0.1:@PORT@/ upgrade=websocket\n"
REQUEST = b"GET /x HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


async def talk(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Switch, send a greeting with the head, echo in capitals, and answer the end with the end."""
    writer.write(SWITCHED + b"hello ")
    while data := await reader.read(100):
        writer.write(data.upper())
    writer.write(b" end")
    writer.close()


def test_a_tunnel_loses_no_bytes_and_ends_one_side_at_a_time(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> tuple[bytes, str]:
        reader, writer = await server.connect()
        writer.write(REQUEST + b"first ")
        out = await reader.readuntil(b"FIRST ")
        writer.write(b"second")
        writer.write_eof()
        out += await reader.read()
        writer.close()
        return out, server.heads[0]

    out, head = run(tmp_path, talk, use, CONF)
    assert out == SWITCHED + b"hello FIRST SECOND end"
    assert head.endswith("\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")


def test_an_upgrade_that_is_not_configured_is_refused(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> tuple[bytes, str]:
        return await server.send(
            REQUEST.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
        ), server.heads[0]

    answer, head = run(tmp_path, answering(SWITCHED), use)
    assert b"Unexpected Upgrade: websocket (expecting n/a)" in answer
    assert "Upgrade" not in head


@pytest.mark.parametrize(
    ("known", "wanted", "url", "is_passed"),
    [
        ("", "websocket", "http://b/", False),
        ("", "WebSocket", "ws://b/", True),
        ("*", "any", "http://b/", True),
        ("h2c, websocket", "WebSocket", "http://b/", True),
        ("h2c", "websocket", "http://b/", False),
    ],
)
def test_worker_can_upgrade(known: str, wanted: str, url: str, is_passed: bool) -> None:
    worker = define_worker("http://b/")
    worker.parameters.upgrade = known
    assert may_upgrade(worker, wanted, url) is is_passed
