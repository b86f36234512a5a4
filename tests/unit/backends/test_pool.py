"""Pools of connections: limits, order, waiting requests."""

from __future__ import annotations

import asyncio
import ssl

import pytest
from tests.support.backend_pools import ECHO, acquire, fetch, run
from tests.support.backend_server import BackendServer

from whimbrel.backends.pool import ConnectionPool, PoolExhausted, PoolLimits
from whimbrel.engine.tls import BackendTlsParameters
from whimbrel.testing.fake_runtime import FakeRuntime


def test_the_connection_that_was_used_last_is_used_first() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> bool:
        first, second = await acquire(server, pool), await acquire(server, pool)
        await fetch(first)
        await fetch(second)
        return (await acquire(server, pool)) is second and (await acquire(server, pool)) is first

    assert run(lambda _data, out: out.write(ECHO), use)


def test_a_request_beyond_the_limit_waits_for_a_connection() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> tuple[list[bytes], int, int]:
        async def request() -> bytes:
            return await fetch(await acquire(server, pool))

        bodies = await asyncio.gather(*[request() for _ in range(10)])
        return list(bodies), server.accepted, pool.count

    found = run(lambda _data, out: out.write(ECHO), use, PoolLimits(max=2))
    assert found == ([b"ok"] * 10, 2, 2)


def test_a_request_that_waits_too_long_fails() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> bytes:
        first = await acquire(server, pool)
        with pytest.raises(PoolExhausted):
            await acquire(server, pool)
        return await fetch(first)

    assert run(lambda _data, out: out.write(ECHO), use, PoolLimits(max=1, acquire=0.05)) == b"ok"


def test_a_cancelled_request_passes_its_turn_on() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> bytes:
        first = await acquire(server, pool)
        waiting = [asyncio.create_task(acquire(server, pool)) for _ in range(2)]
        await asyncio.sleep(0.01)
        body = await fetch(first)
        waiting[0].cancel()  # was admitted in this tick
        return body + await fetch(await waiting[1])

    assert run(lambda _data, out: out.write(ECHO), use, PoolLimits(max=1)) == b"okok"


def test_a_refused_connection_is_not_counted() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> int:
        with pytest.raises(OSError):
            await pool.acquire(FakeRuntime(), ("127.0.0.1", 1), timeout=1)
        return pool.count

    assert run(lambda _data, out: None, use) == 0


def test_idle_connections_above_smax_end_after_their_time() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> tuple[int, int]:
        both = [await acquire(server, pool) for _ in range(2)]
        for connection in both:
            await fetch(connection)
        await asyncio.sleep(0.1)
        await fetch(await acquire(server, pool))
        await asyncio.sleep(0.01)
        return pool.count, server.accepted

    assert run(lambda _data, out: out.write(ECHO), use, PoolLimits(smax=1, ttl=0.05)) == (1, 2)


def test_without_reuse_each_request_has_its_connection() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> tuple[int, int]:
        for _ in range(2):
            await fetch(await acquire(server, pool))
        await asyncio.sleep(0.01)
        return server.accepted, pool.count

    assert run(lambda _data, out: out.write(ECHO), use, PoolLimits(keeps_open=False)) == (2, 0)


def test_a_pool_begins_empty() -> None:
    assert ConnectionPool(PoolLimits()).take_idle() is None


def test_connections_with_other_tls_are_not_used_again() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> tuple[bool, bool]:
        first = await acquire(server, pool)
        await fetch(first)
        first.tls = BackendTlsParameters(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "a", "a")
        second = await acquire(server, pool)
        return second is first, first.is_closed

    assert run(lambda _data, out: out.write(ECHO), use) == (False, True)


def test_bytes_behind_an_answer_are_not_those_of_the_next_request() -> None:
    outputs: list[asyncio.StreamWriter] = []

    def answer(_data: bytes, out: asyncio.StreamWriter) -> None:
        outputs.append(out)
        out.write(ECHO)

    async def use(server: BackendServer, pool: ConnectionPool) -> tuple[bytes, int]:
        await fetch(await acquire(server, pool))
        outputs[0].write(b"\x02no")  # in the socket, but not read yet
        return await fetch(await acquire(server, pool)), server.accepted

    assert run(answer, use) == (b"ok", 2)
