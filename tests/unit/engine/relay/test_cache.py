"""Relayed requests: what is relayed, for whom, how long; clients that go away, and silent back ends."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.proxy_server import Answer, ProxyServer, answering, run

from whimbrel.engine.connection import Connection
from whimbrel.engine.deps.key_spec import KeySpec
from whimbrel.engine.engine import GENERAL_PATH
from whimbrel.engine.relay.cache import MAX_HEAD, MAX_KEYS, MAX_REPLIES, MAX_REQUESTS, RelayEntry, RelayTable
from whimbrel.engine.relay.cache import MAX_SEEN as MAX_SEEN_HEADS
from whimbrel.http.syntax.head_shape import HeadShapes, SplitHead
from whimbrel.http.syntax.line_reader import HeadLimits
from whimbrel.modules.support.backend_relay import MAX_PARTIAL, REST_WAIT
from whimbrel.server.http1.relay import Relayer

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
LIMITS = HeadLimits()
LOG = 'LogFormat "%h %r %>s %b" short\nCustomLog short short\n'
PASS = "ProxyPass / http://127.0.0.1:@PORT@/\n"


@pytest.fixture
def relayed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """The heads of relayed requests."""
    heads: list[bytes] = []
    send = Relayer.finish_relay

    def counted(self: Relayer, exchange: Any, response: bytes) -> None:
        heads.append(exchange.request_head[0])
        send(self, exchange, response)

    monkeypatch.setattr(Relayer, "finish_relay", counted)
    yield heads


class Client:
    """A connection that stays open."""

    def __init__(self, server: ProxyServer) -> None:
        self.server = server

    async def __aenter__(self) -> Client:
        self.reader, self.writer = await self.server.connect()
        return self

    async def __aexit__(self, *_problem: object) -> None:
        self.writer.close()

    async def get(self, path: str = "/x", *fields: str, method: str = "GET") -> bytes:
        """Return the status of one response of two bytes."""
        lines = [f"{method} {path} HTTP/1.1", "Host: front", *fields, "", ""]
        self.writer.write("\r\n".join(lines).encode())
        head = await self.reader.readuntil(b"\r\n\r\n")
        await self.reader.readexactly(2)
        return head[9:12]


async def warm(server: ProxyServer, count: int = 6, *fields: str, method: str = "GET") -> None:
    async with Client(server) as client:
        for _ in range(count):
            assert await client.get("/x", *fields, method=method) == b"200"


def logged(server: ProxyServer) -> list[bytes]:
    """Return the lines of the access log."""
    [lines] = [lines for path, lines in server.engine.runtime.logs.items() if path.endswith("/short")]
    return list(lines)


def entries(server: ProxyServer) -> list[RelayEntry]:
    tables = server.engine.relays._tables.values()
    return [entry for table in tables for entry, _head in table.by_head.values()]


def test_a_request_that_came_before_is_relayed_and_logged_alike(tmp_path: Path, relayed: list[bytes]) -> None:
    async def use(server: ProxyServer) -> Any:
        await warm(server, 8)
        return logged(server), server.heads, server.accepted

    lines, heads, accepted = run(tmp_path, answering(ANSWER), use, LOG + PASS)
    assert len(relayed) == 4
    assert lines == [b"127.0.0.1 GET /x HTTP/1.1 200 2\n"] * 8
    assert (len(heads), len(set(heads)), accepted) == (8, 1, 1)


def test_the_first_request_of_a_connection_is_not_relayed(tmp_path: Path, relayed: list[bytes]) -> None:
    async def use(server: ProxyServer) -> None:
        await warm(server)
        relayed.clear()
        for _ in range(3):
            await warm(server, 1)

    run(tmp_path, answering(ANSWER), use, LOG + PASS)
    assert relayed == []


@pytest.mark.parametrize(
    ("conf", "method", "fields"),
    [
        (LOG + PASS, "POST", ()),
        (LOG + PASS, "DELETE", ()),
        ('LogFormat "%D" all\nCustomLog log all\n' + PASS, "GET", ()),
        ('LogFormat "%X" all\nCustomLog log all\n' + PASS, "GET", ()),
        ('LogFormat "%{remote}p" all\nCustomLog log all\n' + PASS, "GET", ()),
        ('CustomLog log "%{Date}o"\n' + PASS, "GET", ()),
        ("LogLevel debug\n" + PASS, "GET", ()),
        ("Header set X-Time %t\n" + PASS, "GET", ()),
        ("Header set X-A b\n" + PASS, "GET", ()),
        ("SetEnvIf X-Other . proxy-nokeepalive\n" + PASS, "GET", ("X-Other: 1",)),
        ("ProxyVia Full\n" + PASS, "GET", ()),
        ("SetEnv proxy-nokeepalive 1\n" + PASS, "GET", ()),
    ],
)
def test_what_depends_on_more_is_not_relayed(
    tmp_path: Path, relayed: list[bytes], conf: str, method: str, fields: tuple[str, ...]
) -> None:
    async def use(server: ProxyServer) -> list[RelayEntry]:
        for _ in range(2):
            async with Client(server) as client:
                for _ in range(5):
                    client.writer.write(
                        "\r\n".join([f"{method} /x HTTP/1.1", "Host: front", *fields, "", ""]).encode()
                    )
                    await client.reader.readuntil(b"\r\n\r\nok")
        return entries(server)

    assert run(tmp_path, answering(ANSWER), use, conf) == []
    assert relayed == []


def test_changed_settings_and_other_clients_take_the_general_path(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> list[bool]:
        await warm(server)
        [entry] = entries(server)
        connection = next(iter(server.state.connections)).connection  # type: ignore[attr-defined]
        connection.served = 1
        plans = server.engine.plans
        found = [entry.is_valid(connection, plans, None)]
        for name, value in (("served", 0), ("useragent_ip", "192.0.2.1"), ("client_ip", "192.0.2.1")):
            before = getattr(connection, name)
            setattr(connection, name, value)
            found.append(entry.is_valid(connection, plans, None))
            setattr(connection, name, before)
        connection.notes["x"] = "y"
        found.append(entry.is_valid(connection, plans, None))
        connection.notes.clear()
        found.append(entry.is_valid(connection, plans, None))
        plans.invalidate()
        return [*found, entry.is_valid(connection, plans, None)]

    expected = [True, False, False, False, False, True, False]
    assert run(tmp_path, answering(ANSWER), use, LOG + PASS) == expected


def test_a_request_with_a_body_behind_it_is_answered_after_the_first(tmp_path: Path) -> None:
    async def use(server: ProxyServer) -> int:
        await warm(server)
        async with Client(server) as client:
            await client.get()
            client.writer.write(b"GET /x HTTP/1.1\r\nHost: front\r\n\r\n")
            await asyncio.sleep(0.001)
            client.writer.write(b"GET /x HTTP/1.1\r\nHost: front\r\n\r\n" * 2)
            data = b""
            while data.count(b"\r\n\r\nok") < 3:
                data += await client.reader.read(1000)
            return data.count(b"HTTP/1.1 200 OK")

    assert run(tmp_path, answering(ANSWER), use, LOG + PASS) == 3


def delayed(seconds: float, seen: list[int]) -> Answer:
    """Return a back end whose seventh answer is late; *seen* counts the connections that its peer closed."""

    async def answer(_head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(1)
        if len(seen) == 7:
            try:
                async with asyncio.timeout(seconds):
                    if await reader.read(1) == b"":
                        seen.append(-1)
                        raise ConnectionError
            except TimeoutError:
                pass
        writer.write(ANSWER)

    return answer


def test_a_client_that_goes_away_ends_the_request_and_is_logged_once(tmp_path: Path) -> None:
    seen: list[int] = []

    async def use(server: ProxyServer) -> list[bytes]:
        async with Client(server) as client:
            for _ in range(6):
                await client.get()
            client.writer.write(b"GET /x HTTP/1.1\r\nHost: front\r\n\r\n")
            await asyncio.sleep(0.02)
            wire = client.writer.get_extra_info("socket")
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.writer.transport.abort()
        for _ in range(100):
            if seen[-1] < 0:
                break
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.01)
        return logged(server)

    lines = run(tmp_path, delayed(5.0, seen), use, LOG + PASS)
    assert seen == [1] * 7 + [-1]
    assert lines == [b"127.0.0.1 GET /x HTTP/1.1 200 2\n"] * 6 + [b"127.0.0.1 GET /x HTTP/1.1 200 -\n"]


def in_pieces(*pieces: bytes, pause: float) -> Answer:
    """Return a back end whose answers come in *pieces* from the seventh on."""
    count = 0

    async def answer(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        if count < 7:
            writer.write(ANSWER)
            return
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(pause)

    return answer


@pytest.mark.parametrize(
    ("pieces", "is_relayed"),
    [((ANSWER[:-2], b"ok"), True), ((ANSWER[:-2], b"o", b"k"), True), ((ANSWER[:9], ANSWER[9:]), False)],
)
def test_a_body_that_follows_its_head_soon_is_relayed(
    tmp_path: Path,
    relayed: list[bytes],
    pieces: tuple[bytes, ...],
    is_relayed: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("whimbrel.modules.support.backend_relay.REST_WAIT", 1.0)  # on a busy machine, too

    async def use(server: ProxyServer) -> int:
        await warm(server, 6)
        count = len(relayed)
        await warm(server, 1)  # the first request of a connection, which is not relayed
        async with Client(server) as client:
            assert [await client.get() for _ in range(3)] == [b"200"] * 3
        return len(relayed) - count

    found = run(tmp_path, in_pieces(*pieces, pause=0.0005), use, LOG + PASS)
    assert found == (2 if is_relayed else 0)


def test_a_body_that_comes_late_does_not_hold_its_head_back(tmp_path: Path, relayed: list[bytes]) -> None:
    async def use(server: ProxyServer) -> tuple[bytes, list[bytes]]:
        async with Client(server) as client:
            for _ in range(6):
                await client.get()
            relayed.clear()
            client.writer.write(b"GET /x HTTP/1.1\r\nHost: front\r\n\r\n")
            async with asyncio.timeout(0.2):
                await client.reader.readuntil(b"\r\n\r\n")
            body = await client.reader.readexactly(2)
        return body, logged(server)

    body, lines = run(tmp_path, in_pieces(ANSWER[:-2], b"ok", pause=0.4), use, LOG + PASS)
    assert (body, relayed) == (b"ok", [])
    assert lines == [b"127.0.0.1 GET /x HTTP/1.1 200 2\n"] * 7


@pytest.mark.parametrize("rest", [b"", b"o", b"okay"])
def test_a_body_of_another_length_is_that_of_the_general_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rest: bytes
) -> None:
    async def answer(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(1)
        writer.write(ANSWER if len(seen) < 7 else ANSWER[:-2])
        if len(seen) >= 7:
            await asyncio.sleep(0.001)
            writer.write(rest)
            raise ConnectionError

    async def use(server: ProxyServer) -> tuple[bytes, list[bytes], int]:
        seen.clear()
        async with Client(server) as client:
            for _ in range(6):
                await client.get()
            client.writer.write(b"GET /x HTTP/1.1\r\nHost: front\r\n\r\n")
            client.writer.write_eof()
            data = await client.reader.read()
        return data[9:12] + data[-2:], logged(server), len(server.heads)

    seen: list[int] = []
    found = run(tmp_path, answer, use, LOG + PASS)
    monkeypatch.setenv(GENERAL_PATH, "1")
    assert run(tmp_path, answer, use, LOG + PASS) == found


@pytest.mark.parametrize("pause", [0.0, 0.0005])
def test_a_back_end_that_closes_each_connection_without_saying_so(tmp_path: Path, pause: float) -> None:
    async def answer(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(ANSWER)
        if closes:
            await asyncio.sleep(pause)
            raise ConnectionError

    async def get(server: ProxyServer) -> list[bytes]:
        async with Client(server) as client:
            return [await client.get() for _ in range(40)]

    async def use(server: ProxyServer) -> Any:
        await warm(server, 6)
        closes.append(1)
        found = await asyncio.gather(*[get(server) for _ in range(4)])
        return found, len(logged(server))

    closes: list[int] = []
    assert run(tmp_path, answer, use, LOG + PASS) == ([[b"200"] * 40] * 4, 166)


def test_a_silent_back_end_is_answered_as_on_the_general_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def use(server: ProxyServer) -> tuple[bytes, bytes]:
        async with Client(server) as client:
            for _ in range(6):
                await client.get()
            client.writer.write(b"GET /x HTTP/1.1\r\nHost: front\r\n\r\n")
            data = await client.reader.readuntil(b"\r\n\r\n")
        return data[9:12], logged(server)[-1][:34]

    conf = "ProxyTimeout 1\n" + LOG + PASS
    status, line = run(tmp_path, delayed(5.0, []), use, conf)
    assert line.startswith(b"127.0.0.1 GET /x HTTP/1.1 %b " % status)
    monkeypatch.setenv(GENERAL_PATH, "1")
    assert run(tmp_path, delayed(5.0, []), use, conf) == (status, line)


def test_the_tables_have_the_bounds_of_the_documentation(tmp_path: Path) -> None:
    assert (MAX_REQUESTS, MAX_HEAD, MAX_REPLIES) == (256, 4096, 4)
    assert (MAX_PARTIAL, REST_WAIT) == (64 * 1024, 0.005)

    async def use(server: ProxyServer) -> tuple[int, int]:
        for path in (*map(str, range(MAX_REQUESTS + 10)), "x" * MAX_HEAD):
            async with Client(server) as client:
                for _ in range(5):
                    await client.get(f"/{path}")
        tables = server.engine.relays._tables.values()
        longest = max(len(raw) for table in tables for raw in table.by_head)
        return len(entries(server)), longest

    count, longest = run(tmp_path, answering(ANSWER), use, LOG + PASS)
    assert 0 < count <= MAX_REQUESTS
    assert longest < MAX_HEAD


def head_for(shapes: HeadShapes, path: str, *fields: str) -> SplitHead:
    """Return a head in pieces."""
    text = "\r\n".join([f"GET /{path} HTTP/1.1", "Host: front", *fields, "", ""])
    split = shapes.split(text.encode())
    assert split is not None
    return split


def test_requests_are_found_by_shape_and_relevant_fields() -> None:
    shapes = HeadShapes()
    table = RelayTable(shapes)
    client = Connection("192.0.2.1", 1, "127.0.0.1", 80)
    spec = KeySpec(frozenset(("x-read",)), number=1)
    entry: Any = object()
    table.put(spec, head_for(shapes, "x?q", "X-Read: 1", "Cookie: a"), "192.0.2.1", entry)

    def find(path: str, *fields: str, limits: HeadLimits = LIMITS) -> object:
        hit = table.find(client, head_for(shapes, path, *fields)[0], limits)
        return None if hit is None else hit[0]

    assert find("x?q", "X-Read: 1", "Cookie: another") is entry
    assert find("x?q", "X-Read: 1", "Cookie:") is entry
    assert find("x?q", "X-Read: 2", "Cookie: a") is None
    assert find("x?other", "X-Read: 1", "Cookie: a") is None
    assert find("x", "X-Read: 1", "Cookie: a") is None
    assert find("x?q", "Cookie: a", "X-Read: 1") is None
    assert find("x?q", "X-Read: 1") is None
    assert find("x?q", "X-Read: 1", "Cookie: a", "X: y") is None
    assert find("x?q", "X-Read: 1", "Cookie: " + "a" * MAX_HEAD) is None
    assert find("x?q", "X-Read: 1", "Cookie: a", limits=HeadLimits(fields=2)) is None
    assert table.by_head == {}
    for _ in range(2):
        assert find("x?q", "X-Read: 1", "Cookie: twice") is entry
    assert len(table.by_head) == 1
    for data in (b"", b"GET /x?q HTTP/1.1\r\n", head_for(shapes, "x?q", "X-Read: 1", "Cookie: a")[0] * 2):
        assert table.find(client, data, HeadLimits()) is None
    table.clear()
    assert find("x?q", "X-Read: 1", "Cookie: another") is None


def test_the_tables_by_key_have_bounds() -> None:
    assert MAX_KEYS == 512
    assert MAX_SEEN_HEADS == 1024
    shapes = HeadShapes()
    table = RelayTable(shapes)
    client = Connection("192.0.2.1", 1, "127.0.0.1", 80)
    spec = KeySpec(frozenset(), number=1)
    entry: Any = object()
    for number in range(MAX_KEYS * 3):
        head = head_for(shapes, str(number), "Cookie: a")
        table.put(spec, head, "192.0.2.1", entry)
        for _ in range(2):
            table.find(client, head[0], HeadLimits())
        assert len(table.by_key) <= MAX_KEYS
        assert len(table.by_head) <= MAX_REQUESTS
        assert len(table._lines) <= MAX_KEYS
        assert len(table._seen) <= MAX_SEEN_HEADS
