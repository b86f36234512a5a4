"""Connections to back ends: answers in pieces, silence, ends, unasked bytes, back-pressure."""

from __future__ import annotations

import asyncio
from typing import Any, cast
from unittest.mock import create_autospec

import pytest
from tests.support.backend_pools import ECHO, Answer, acquire, fetch, run
from tests.support.backend_server import BackendServer, LengthReader
from tests.support.fakes import FakeTransport

from whimbrel.backends.connection import MAX_AHEAD, BackendBody, BackendConnection, RelayReader
from whimbrel.backends.pool import ConnectionPool, PoolLimits
from whimbrel.engine.body import Aborted
from whimbrel.http.client.answer import AnswerReader, BackendError
from whimbrel.testing.fake_runtime import FakeRuntime


def test_an_answer_is_read_and_the_connection_used_again() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> tuple[Any, ...]:
        first = await acquire(server, pool)
        bodies = [await fetch(first)]
        second = await acquire(server, pool)
        bodies.append(await fetch(second))
        return bodies, first is second, server.accepted, second.served

    assert run(lambda _data, out: out.write(ECHO), use) == ([b"ok", b"ok"], True, 1, 2)


def test_pieces_of_an_answer_are_returned_as_they_come() -> None:
    def answer(data: bytes, out: asyncio.StreamWriter) -> None:
        out.write(b"\x04ab" if data == b"?" else b"cd")

    async def use(server: BackendServer, pool: ConnectionPool) -> list[bytes | None]:
        connection = await acquire(server, pool)
        connection.begin(LengthReader(), 1.0)
        connection.write(b"?")
        await connection.next_head()
        body = BackendBody(connection)
        pieces = [body.read_now(), body.read_now()]
        connection.write(b"more")
        return [*pieces, await body.read(), await body.read()]

    assert run(answer, use) == [b"ab", b"", b"cd", None]


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda _data, out: out.close(), "ended early"),
        (lambda _data, out: out.transport.abort(), "ended early"),
        (lambda _data, out: out.write(b"E"), "bad answer"),
        (lambda _data, out: None, "ended early"),
    ],
)
def test_a_back_end_that_fails_before_its_head_raises(answer: Answer, text: str) -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> tuple[str, int]:
        connection = await acquire(server, pool)
        with pytest.raises(BackendError) as caught:
            await fetch(connection, 0.2)
        connection.finish()
        await asyncio.sleep(0.01)
        return str(caught.value), pool.count

    assert run(answer, use) == (text, 0)


def test_a_body_that_ends_early_is_aborted_and_its_connection_closed() -> None:
    def answer(_data: bytes, out: asyncio.StreamWriter) -> None:
        out.write(b"\x09abc")
        out.close()

    async def use(server: BackendServer, pool: ConnectionPool) -> tuple[int, int]:
        connection = await acquire(server, pool)
        with pytest.raises(Aborted):
            await fetch(connection)
        await asyncio.sleep(0.01)
        return pool.count, len(pool.idle)

    assert run(answer, use) == (0, 0)


def test_bytes_after_an_answer_close_the_connection() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> tuple[bytes, int]:
        body = await fetch(await acquire(server, pool))
        await asyncio.sleep(0.01)
        return body, pool.count

    assert run(lambda _data, out: out.write(ECHO + b"unasked"), use) == (b"ok", 0)


def test_bytes_on_an_idle_connection_close_it() -> None:
    def answer(_data: bytes, out: asyncio.StreamWriter) -> None:
        out.write(ECHO)
        asyncio.get_running_loop().call_later(0.02, out.write, b"late")

    async def use(server: BackendServer, pool: ConnectionPool) -> int:
        await fetch(await acquire(server, pool))
        assert pool.count == 1
        await asyncio.sleep(0.1)
        return pool.count

    assert run(answer, use) == 0


def test_an_idle_connection_that_the_back_end_closes_is_not_used() -> None:
    def answer(_data: bytes, out: asyncio.StreamWriter) -> None:
        out.write(ECHO)
        asyncio.get_running_loop().call_later(0.02, out.close)

    async def use(server: BackendServer, pool: ConnectionPool) -> tuple[int, int, bytes]:
        await fetch(await acquire(server, pool))
        await asyncio.sleep(0.1)
        left = pool.count
        return left, len(pool.idle), await fetch(await acquire(server, pool))

    assert run(answer, use) == (0, 0, b"ok")


class CountingReader(AnswerReader):
    """An endless answer."""

    def feed(self, data: bytes) -> None:
        self._add(data)

    def eof(self, cause: str = "") -> None:
        self._end()


def test_a_fast_back_end_waits_for_a_slow_client() -> None:
    def answer(_data: bytes, out: asyncio.StreamWriter) -> None:
        out.write(bytes(8_000_000))

    async def use(server: BackendServer, pool: ConnectionPool) -> tuple[int, int]:
        connection = await acquire(server, pool)
        reader = CountingReader()
        connection.begin(reader, 1.0)
        connection.write(b"?")
        await asyncio.sleep(0.2)
        held, total = reader.buffered, 0
        while total < 8_000_000:
            await connection.changed() if not reader.buffered else None
            total += len(connection.take())
        connection.close()
        return held, total

    held, total = run(answer, use)
    assert (MAX_AHEAD < held <= MAX_AHEAD + 256 * 1024, total) == (True, 8_000_000)


def test_a_slow_back_end_stops_the_sender_until_it_reads() -> None:
    async def main() -> tuple[bool, bool]:
        begin = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await begin.wait()
            while await reader.read(1 << 20):
                pass
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1024)
        pool = ConnectionPool(PoolLimits())
        connection = await pool.acquire(FakeRuntime(), server.sockets[0].getsockname(), timeout=1)
        connection.begin(CountingReader(), 5.0)
        connection.write(bytes(30_000_000))
        paused = connection.is_paused
        begin.set()
        await connection.drain()
        after = connection.is_paused
        connection.close()
        server.close()
        return paused, after

    assert asyncio.run(main()) == (True, False)


def test_closing_a_body_closes_its_connection() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> tuple[int, int]:
        connection = await acquire(server, pool)
        connection.begin(LengthReader(), 1.0)
        connection.write(b"?")
        await connection.next_head()
        await BackendBody(connection).aclose()
        await asyncio.sleep(0.02)
        return pool.count, server.open

    assert run(lambda _data, out: out.write(b"\x09abc"), use) == (0, 0)


class Recorder(RelayReader):
    """A reader that knows the answer b"ok", and notes what is called."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[object] = []

    def receive(self, data: bytes) -> bool:
        self.calls.append(data)
        return data == b"ok"

    def feed(self, data: bytes) -> None:
        self.calls.append(("feed", data))

    def eof(self, cause: str = "") -> None:
        self.calls.append(("eof", cause))

    def set(self, value: None) -> None:
        self.calls.append(value)


async def relayed(server: BackendServer, pool: ConnectionPool) -> tuple[BackendConnection, Recorder]:
    """Return a connection that was used before, with a request that is not sent yet."""
    connection = await acquire(server, pool)
    await fetch(connection)
    reader, found = Recorder(), pool.take_idle()
    assert found is connection
    connection.relay(reader, b"?", 1.0)
    return connection, reader


def test_a_known_answer_to_a_relayed_request_ends_it_at_once() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> Any:
        connection, reader = await relayed(server, pool)
        connection.write_gathered()
        connection.data_received(b"ok")
        connection.complete(is_reusable=True)
        return reader.calls, connection.served, len(pool.idle)

    assert run(lambda _data, out: out.write(ECHO), use) == ([b"ok"], 2, 1)


def test_an_unknown_answer_to_a_relayed_request_is_fed() -> None:
    async def use(server: BackendServer, pool: ConnectionPool) -> Any:
        connection, reader = await relayed(server, pool)
        connection.write_gathered()
        connection.data_received(b"other")
        connection.data_received(b"ok")
        return list(reader.calls)

    expected = [b"other", ("feed", b"other"), None, ("feed", b"ok")]
    assert run(lambda _data, out: out.write(ECHO), use) == expected


@pytest.mark.parametrize("has_bytes", [True, False])
def test_a_connection_that_ends_before_its_relayed_request_is_sent_sends_nothing(has_bytes: bool) -> None:
    seen: list[bytes] = []

    def answer(data: bytes, out: asyncio.StreamWriter) -> None:
        seen.append(data)
        out.write(ECHO)

    async def use(server: BackendServer, pool: ConnectionPool) -> Any:
        connection, reader = await relayed(server, pool)
        if has_bytes:
            connection.data_received(b"ok")
        else:
            connection.eof_received()
        connection.write_gathered()
        await asyncio.sleep(0.01)
        return reader.calls, connection.is_closed, len(seen)

    assert run(answer, use)[1:] == (True, 1)
    assert run(answer, use)[0][:2] == [("eof", ""), None]


class _Reader:
    """An answer, whole or not, that notes what it is fed."""

    def __init__(self, *, is_done: bool) -> None:
        self.done = is_done
        self.buffered = 0
        self.fed: list[bytes] = []

    def feed(self, data: bytes) -> None:
        self.fed.append(data)


@pytest.mark.parametrize(
    ("reader", "has_failed", "is_fed"),
    [
        (None, False, False),
        (_Reader(is_done=True), False, False),
        (_Reader(is_done=False), True, False),
        (_Reader(is_done=False), False, True),
    ],
)
def test_bytes_that_no_request_has_asked_for_end_a_connection(
    reader: _Reader | None, has_failed: bool, is_fed: bool
) -> None:
    """RFC 9112, 9.4.1: they would be taken for the answer to the next request."""

    async def run() -> tuple[bool, list[bytes]]:
        owner: Any = create_autospec(ConnectionPool, instance=True)
        connection = BackendConnection(owner)
        transport = FakeTransport()
        connection.connection_made(transport)
        connection.reader = cast("AnswerReader | None", reader)
        if has_failed:
            connection.failure = BackendError("x")
        connection.data_received(b"HTTP/1.1 200 OK")
        return transport.is_closing(), reader.fed if reader is not None else []

    closed, fed = asyncio.run(run())
    assert (closed, fed) == ((False, [b"HTTP/1.1 200 OK"]) if is_fed else (True, []))
