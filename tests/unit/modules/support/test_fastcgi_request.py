"""Request bodies that are spooled for FastCGI applications, and the exchange with one."""

from __future__ import annotations

import asyncio
import socket
from types import SimpleNamespace
from typing import Any

from whimbrel.backends.connection import BackendConnection, ConnectionOwner
from whimbrel.engine.input.body import RequestBody
from whimbrel.modules.support.body_sender import MAX_IN_MEMORY, SpooledInput


class Owner(ConnectionOwner):
    """An owner that counts."""

    def __init__(self) -> None:
        self.count = 0

    def release(self, connection: BackendConnection) -> None:
        connection.close()

    def lost(self, connection: BackendConnection) -> None:
        self.count += 1


def test_a_long_body_is_in_a_file() -> None:
    async def spool() -> tuple[int, int, bytes]:
        body = RequestBody(None)
        for _ in range(40):
            body.feed(b"x" * 10_000)
        body.end()
        r: Any = SimpleNamespace(body_in=body)
        spooled = SpooledInput()
        await spooled.fill(r)
        first = await spooled.read()
        inner: Any = spooled._file
        return spooled.length, len(first), b"file" if inner._rolled else b"memory"

    assert asyncio.run(spool()) == (400_000, MAX_IN_MEMORY, b"file")


def test_a_short_body_stays_in_memory() -> None:
    spooled = SpooledInput()
    spooled.write(b"abc")
    spooled.rewind()
    inner: Any = spooled._file
    assert not inner._rolled
    assert asyncio.run(spooled.read()) == b"abc"
    spooled.close()


def test_a_connection_that_ends_is_given_back() -> None:
    """The owner of a connection learns its end, which frees the process behind it."""

    async def run() -> int:
        owner, ends = Owner(), socket.socketpair()
        loop = asyncio.get_running_loop()
        _transport, connection = await loop.create_unix_connection(
            lambda: BackendConnection(owner), sock=ends[0]
        )
        connection.close()
        await asyncio.sleep(0.01)
        ends[1].close()
        return owner.count

    assert asyncio.run(run()) == 1
