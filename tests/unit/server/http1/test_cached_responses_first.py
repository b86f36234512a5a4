"""The first response of a connection announces protocols; the cache never mixes it with later ones."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest
from tests.support.access_site import MODULES, AccessSite
from tests.support.fakes import FakeTransport

from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.state import WorkerState

GET = b"GET /f.html HTTP/1.1\r\nHost: localhost\r\n\r\n"
OTHER = b"GET /f.html HTTP/1.1\r\nHost: localhost\r\nUser-Agent: x\r\n\r\n"
CLOSE = b"GET /f.html HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
MISSING = b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n"


def site(root: Path, conf: str = "Protocols h2c http/1.1\n") -> AccessSite:
    found = AccessSite(root, conf, "2.4", f"{MODULES['2.4']} http2")
    for path in (root, *root.rglob("*")):
        os.utime(path, (1_600_000_000, 1_600_000_000))  # a file of this tick is not cached
    return found


def upgrades(transport: FakeTransport) -> list[str]:
    """Return the Upgrade and Connection fields of each response that was written."""
    heads = re.findall(rb"HTTP/1\.1 .*?\r\n\r\n", transport.out, re.DOTALL)
    return [b"; ".join(re.findall(rb"(?m)^(?:Upgrade|Connection): (.*)\r$", head)).decode() for head in heads]


def connect(service: WorkerState) -> tuple[Http1Connection, FakeTransport]:
    protocol, transport = Http1Connection(service), FakeTransport()
    protocol.connection_made(transport)
    return protocol, transport


@pytest.mark.parametrize(("request_bytes", "first"), [(GET, "h2c; Upgrade"), (MISSING, "")])
def test_first_and_later_responses_are_cached_apart(tmp_path: Path, request_bytes: bytes, first: str) -> None:
    async def run() -> None:
        service = WorkerState(site(tmp_path).engine, asyncio.get_running_loop())
        for _ in range(6):
            protocol, transport = connect(service)
            for _ in range(4):
                protocol.data_received(request_bytes)
                await asyncio.sleep(0)
            assert upgrades(transport) == [first, "", "", ""]
            protocol.connection_lost(None)
        index = protocol.cached.index
        assert index.first is not index
        assert index.first.by_key or index.first.by_head
        assert index.by_key or index.by_head

    asyncio.run(run())


def test_heads_of_other_bytes_and_pipelined_ones(tmp_path: Path) -> None:
    async def run() -> None:
        service = WorkerState(site(tmp_path).engine, asyncio.get_running_loop())
        for first, second in ((GET, OTHER), (OTHER, GET), (GET, GET), (OTHER, OTHER)) * 3:
            protocol, transport = connect(service)
            protocol.data_received(first + second + first)
            for _ in range(5):
                await asyncio.sleep(0)
            assert upgrades(transport) == ["h2c; Upgrade", "", ""]
            protocol.connection_lost(None)

    asyncio.run(run())


def test_a_first_response_that_is_the_last_one_is_cached(tmp_path: Path) -> None:
    async def run() -> None:
        service = WorkerState(site(tmp_path).engine, asyncio.get_running_loop())
        for number in range(4):
            protocol, transport = connect(service)
            served = service.duration  # grows with responses that are not from the cache
            protocol.data_received(CLOSE)
            await asyncio.sleep(0)
            assert upgrades(transport) == ["h2c; Upgrade, close"]
            assert number < 2 or service.duration == served
            protocol.connection_lost(None)

    asyncio.run(run())


def test_without_protocols_there_is_one_index(tmp_path: Path) -> None:
    cache = site(tmp_path, "").engine.response_cache
    index = cache.index("127.0.0.1", 80)
    assert index.first is index
