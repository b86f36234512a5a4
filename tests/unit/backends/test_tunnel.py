"""Tunnels: half-close, back-pressure, time limits, and the end of one side."""

from __future__ import annotations

import asyncio
import socket
import weakref
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.support.fakes import FakeTransport

from whimbrel.backends import tunnel as tunnels
from whimbrel.backends.tunnel import FOREVER, Tunnel

MAX_HELD = 512 * 1024
Use = Callable[["Joined"], Awaitable[Any]]


class Joined:
    """A tunnel between two socket pairs; the test holds the outer ends.

    Attributes:
        client, backend: streams of the outer ends.
        ended: the tunnel, once it has ended.
    """

    async def open(self, timeout: float, *, is_half_closing: bool) -> None:
        loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[Tunnel] = loop.create_future()
        outer, inner = [], []
        for _ in range(2):
            ours, theirs = socket.socketpair()
            outer.append(await asyncio.open_connection(sock=ours))
            inner.append((await loop.create_connection(asyncio.Protocol, sock=theirs))[0])
        self.client, self.backend = outer
        self.inner = inner
        self.tunnel = Tunnel(
            inner[0],
            inner[1],
            timeout=timeout,
            closed=self.ended.set_result,
            is_half_closing=is_half_closing,
        )
        inner[0].set_protocol(self.tunnel.client)
        inner[1].set_protocol(self.tunnel.backend)


def run(use: Use, timeout: float = 5.0, *, is_half_closing: bool = True) -> Any:
    async def main() -> Any:
        joined = Joined()
        await joined.open(timeout, is_half_closing=is_half_closing)
        async with asyncio.timeout(10):
            return await use(joined)

    return asyncio.run(main())


@pytest.mark.parametrize("first", ["client", "backend"])
def test_each_side_ends_its_own_output(first: str) -> None:
    async def use(joined: Joined) -> tuple[bytes, bytes, tuple[int, int]]:
        one, other = joined.client, joined.backend
        if first == "backend":
            one, other = other, one
        one[1].write(b"question")
        one[1].write_eof()
        question = await other[0].read()
        other[1].write(b"answer")
        await asyncio.sleep(0.05)
        other[1].write_eof()
        answer = await one[0].read()
        end = (await joined.ended).client
        return question, answer, (end.count, end.received)

    sizes = (6, 8) if first == "client" else (8, 6)
    assert run(use) == (b"question", b"answer", sizes)


def test_without_half_close_the_first_end_is_the_last() -> None:
    async def use(joined: Joined) -> bytes:
        joined.client[1].write_eof()
        await joined.ended
        return await joined.client[0].read()

    assert run(use, is_half_closing=False) == b""


@pytest.mark.parametrize("slow", ["client", "backend"])
def test_a_slow_reader_holds_a_bounded_amount(slow: str) -> None:
    async def use(joined: Joined) -> int:
        reader = joined.inner[0 if slow == "client" else 1]
        writer = (joined.backend if slow == "client" else joined.client)[1]
        getattr(joined, slow)[1].transport.pause_reading()
        most = 0
        for _ in range(64):
            writer.write(bytes(256 * 1024))
            for _ in range(20):
                await asyncio.sleep(0)
                most = max(most, reader.get_write_buffer_size())
        joined.tunnel.abort()
        await joined.ended
        return most

    assert tunnels.WRITE_AHEAD <= run(use) <= MAX_HELD


@pytest.mark.parametrize("gone", ["client", "backend"])
def test_the_end_of_one_connection_closes_the_other(gone: str) -> None:
    async def use(joined: Joined) -> tuple[bool, float]:
        loop = asyncio.get_running_loop()
        start = loop.time()
        joined.inner[0 if gone == "client" else 1].abort()
        await joined.ended
        other = joined.backend if gone == "client" else joined.client
        return await other[0].read() == b"", loop.time() - start

    is_closed, seconds = run(use)
    assert is_closed and seconds < 1


def test_silence_ends_it() -> None:
    async def use(joined: Joined) -> tuple[bool, float]:
        loop = asyncio.get_running_loop()
        start = loop.time()
        await asyncio.sleep(0.2)
        joined.client[1].write(b"x")  # renews the limit
        return (await joined.ended).has_expired, loop.time() - start

    has_expired, seconds = run(use, timeout=0.3)
    assert has_expired and 0.45 < seconds < 3


def test_no_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tunnels, "LINGER", 0.1)

    async def use(joined: Joined) -> float:
        loop = asyncio.get_running_loop()
        joined.client[1].transport.pause_reading()
        joined.tunnel.client.send(bytes(8 << 20))
        start = loop.time()
        joined.tunnel.close()  # the client takes no more
        await joined.ended
        return loop.time() - start

    assert run(use, timeout=FOREVER) < 2


def test_a_closed_side_has_a_limited_time_to_take_its_last_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the time limit of the tunnel is."""
    monkeypatch.setattr(tunnels, "LINGER", 0.05)

    async def use(joined: Joined) -> None:
        joined.client[1].transport.pause_reading()
        while not joined.inner[0].get_write_buffer_size():
            joined.backend[1].write(b"x" * 5000)
            await asyncio.sleep(0)
        joined.backend[1].transport.abort()
        async with asyncio.timeout(5):
            assert (await joined.ended).client.is_lost

    run(use, timeout=3600.0, is_half_closing=False)


@pytest.mark.parametrize("has_tls", [False, True])
def test_an_end_stays_half_open_unless_the_library_has_its_tls(has_tls: bool) -> None:
    async def main() -> bool:
        client, backend = FakeTransport(), FakeTransport()
        if has_tls:
            backend._extra["sslcontext"] = object()  # type: ignore[attr-defined]
        tunnel = Tunnel(client, backend, timeout=FOREVER, closed=lambda _: None, is_half_closing=True)
        return tunnel.backend.eof_received()

    assert asyncio.run(main()) is not has_tls


class Owner:
    """The holder of a request, which waits for the end of its tunnel."""

    ends = 0

    def closed(self, _tunnel: Tunnel) -> None:
        self.ends += 1


def test_a_tunnel_that_has_ended_does_not_keep_its_request() -> None:
    """Both sides and the tunnel refer to each other: they wait for a collection, and the request must not."""

    async def use() -> None:
        owner = Owner()
        kept = weakref.ref(owner)
        tunnel = Tunnel(FakeTransport(), FakeTransport(), timeout=FOREVER, closed=owner.closed)
        for end in (tunnel.client, tunnel.backend):
            assert not owner.ends
            end.connection_lost(None)
        tunnel.client.connection_lost(None)
        assert owner.ends == 1
        del owner
        assert kept() is None

    asyncio.run(use())
