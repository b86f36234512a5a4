"""mod_ident: replies as httpd 2.4.71 reads them; bounds in bytes and time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from time import monotonic

import pytest
from tests.support.client import fetch
from tests.support.engine import build_engine

from whimbrel.engine.connection import Connection
from whimbrel.modules.metadata import mod_ident
from whimbrel.modules.metadata.mod_ident import MAX_REPLY, UNKNOWN, IdentError, query_user, user_of

Service = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[None, None, None]]
CONF = (
    "LoadModule ident_module modules/mod_ident.so\nLoadModule log_config_module modules/mod_log_config.so\n"
)


@pytest.mark.parametrize(
    ("reply", "user"),
    [
        (b"4711,80 : USERID : UNIX : joe\r\n", "joe"),
        (b"4711,80:USERID:OTHER,X:a b\n", "a"),
        (b"4711 , 80 : USERID : UNIX : " + b"j" * 900, "j" * 512),
        (b'4711,80 : USERID : UNIX : "j\x01\xffe\r\n', '"j\x01\xffe'),
        (b"4711,80 : ERROR : NO-USER\r\n", UNKNOWN),
        (b"1,2 : USERID : UNIX : joe\r\n", UNKNOWN),
        (b"4711,80 : USERID : UNIX : \r\n", UNKNOWN),
        (b"4711,80 :\0 USERID : UNIX : joe\r\n", UNKNOWN),
        (b"\n", UNKNOWN),
    ],
)
def test_replies(reply: bytes, user: str) -> None:
    assert user_of(reply, 4711, 80) == user


def query(monkeypatch: pytest.MonkeyPatch, service: Service, timeout: float = 5.0) -> str:
    """Return the result of a look-up at a *service* of this test."""

    async def run() -> str:
        server = await asyncio.start_server(service, "127.0.0.1", 0)
        monkeypatch.setattr(mod_ident, "PORT", server.sockets[0].getsockname()[1])
        async with server:
            return await query_user(Connection("127.0.0.1", 4711, "127.0.0.1", 80), timeout)

    return asyncio.run(run())


def test_the_query_names_both_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert await reader.readline() == b"4711,80\r\n"
        writer.write(b"4711,80:USERID:UNIX:")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.write(b"joe\r\n")

    assert query(monkeypatch, service) == "joe"


def test_a_reply_is_read_to_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    async def service(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not writer.is_closing():
                writer.write(b"x" * MAX_REPLY)
                await writer.drain()
        except ConnectionError:
            return

    assert query(monkeypatch, service) == UNKNOWN


@pytest.mark.parametrize("pause", [0.05, 5.0])
def test_the_time_is_that_of_the_whole_look_up(monkeypatch: pytest.MonkeyPatch, pause: float) -> None:
    async def service(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            for _ in range(100):
                writer.write(b"4")
                await asyncio.sleep(pause)
        except (ConnectionError, asyncio.CancelledError):
            return

    begin = monotonic()
    with pytest.raises(IdentError, match="^.70007.The timeout specified has expired$"):
        query(monkeypatch, service, 0.3)
    assert monotonic() - begin < 4.5  # the look-up alone takes 5


def test_an_early_end(monkeypatch: pytest.MonkeyPatch) -> None:
    async def service(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"4711,80:USERID:UNIX:joe")
        writer.close()

    with pytest.raises(IdentError, match="^.70014.End of file found$"):
        query(monkeypatch, service)


def test_no_service_and_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def service(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"4711,80:USERID:UNIX:joe\n")

    assert query(monkeypatch, service, 0) == UNKNOWN
    monkeypatch.setattr(mod_ident, "PORT", 1)
    conf = CONF + 'LogFormat "%l %U" l\nCustomLog log l\n<Location /a>\nIdentityCheck On\n</Location>'
    serving = build_engine(tmp_path, conf, {"htdocs/a": "a", "htdocs/b": "b"})
    fetch(serving, "/b")
    fetch(serving, "/a")
    runtime = serving.runtime
    assert [line for lines in runtime.logs.values() for line in lines] == [b"- /b\n", b"unknown /a\n"]
