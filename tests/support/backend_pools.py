"""Pools of connections to a scripted back end, for tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from tests.support.backend_server import BackendServer, LengthReader
from whimbrel.backends.connection import BackendBody, BackendConnection
from whimbrel.backends.pool import ConnectionPool, PoolLimits
from whimbrel.testing.fake_runtime import FakeRuntime

Answer = Callable[[bytes, asyncio.StreamWriter], None]
Use = Callable[[BackendServer, ConnectionPool], Coroutine[Any, Any, Any]]
ECHO = b"\x02ok"


def run(
    answer: Callable[[bytes, asyncio.StreamWriter], None], use: Use, limits: PoolLimits | None = None
) -> Any:
    """Return what *use* returns with a server that calls *answer*, and a pool."""

    async def main() -> Any:
        async with BackendServer(answer) as server:
            async with asyncio.timeout(5):
                return await use(server, ConnectionPool(limits or PoolLimits()))

    return asyncio.run(main())


async def acquire(server: BackendServer, pool: ConnectionPool) -> BackendConnection:
    return await pool.acquire(FakeRuntime(), server.address, timeout=1)


async def fetch(connection: BackendConnection, timeout: float = 1.0) -> bytes:
    """Send a request and return the body of its answer."""
    connection.begin(LengthReader(), timeout)
    connection.write(b"?")
    await connection.next_head()
    body, out = BackendBody(connection), b""
    while (piece := await body.read()) is not None:
        out += piece
    return out
