"""Connections that are kept, and requests that wait for one."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from whimbrel.backends.connection import BackendConnection
from whimbrel.modules.wsgi.mod_wsgi import connections
from whimbrel.modules.wsgi.mod_wsgi.connect import MAX_POOLS, ConnectionPools
from whimbrel.modules.wsgi.mod_wsgi.connections import MAX_QUEUE, ProcessConnections


class Waiting:
    """A QueuedRequest that stores what it gets."""

    def __init__(self) -> None:
        self.found: list[BackendConnection | None] = []
        self.wants = True

    def is_waiting(self) -> bool:
        """See QueuedRequest."""
        return self.wants

    def start(self, connection: BackendConnection | None) -> None:
        """See QueuedRequest."""
        self.found.append(connection)


@contextlib.asynccontextmanager
async def listening(path: Path) -> AsyncIterator[str]:
    """Accept connections at *path*, and keep them open."""
    server = await asyncio.start_unix_server(lambda reader, writer: None, path)
    try:
        yield str(path)
    finally:
        server.close()


def test_no_more_connections_than_threads(tmp_path: Path) -> None:
    async def main() -> None:
        async with listening(tmp_path / "s") as path:
            pool = ProcessConnections(path, 2)
            first = pool.take()
            second = pool.take()
            assert first is not None
            assert second is not None
            assert pool.take() is None
            assert pool.is_full()
            waiting = [Waiting() for _ in range(3)]
            for each in waiting:
                assert pool.enqueue(each)
            waiting[0].wants = False
            pool.release(first)
            assert [each.found for each in waiting] == [[], [first], []]
            second.close()  # another one takes its place
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert waiting[2].found not in ([], [None], [second])
            pool.release(first)
            assert pool.take() is first

    asyncio.run(main())


def test_the_queue_has_a_bound(tmp_path: Path) -> None:
    async def main() -> None:
        async with listening(tmp_path / "s") as path:
            pool = ProcessConnections(path, 1)
            assert pool.take() is not None
            assert [pool.enqueue(Waiting()) for _ in range(MAX_QUEUE + 1)] == [True] * MAX_QUEUE + [False]

    asyncio.run(main())


def test_a_request_does_not_wait_for_threads_that_hang(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_WAIT", 0.01)

    async def main() -> None:
        async with listening(tmp_path / "s") as path:
            pool = ProcessConnections(path, 1)
            assert pool.take() is not None
            waiting = Waiting()
            pool.enqueue(waiting)
            async with asyncio.timeout(5):
                while not waiting.found:
                    await asyncio.sleep(0.005)
            assert waiting.found == [None]

    asyncio.run(main())


def test_the_number_of_sockets_has_a_bound(tmp_path: Path) -> None:
    async def main() -> None:
        async with listening(tmp_path / "s") as path:
            pools = ConnectionPools()
            pool = pools.pool(path, 2)
            connection = pool.take()
            assert connection is not None
            pool.release(connection)
            for number in range(MAX_POOLS):
                pools.pool(str(number), 2)
            assert len(pools._pools) <= MAX_POOLS
            assert connection.is_closed

    asyncio.run(main())
