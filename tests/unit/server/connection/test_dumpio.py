"""Log lines of one request, as recorded from httpd (modules-filters, mod_dumpio)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from stat import S_IFDIR, S_IFREG
from types import SimpleNamespace
from typing import Any

import pytest
from tests.support.fakes import FakeEngine, FakeResponse, FakeTransport

from whimbrel.base.dialect import V22, Dialect
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.log.error_log_line import LEVELS
from whimbrel.http.syntax.head import Head
from whimbrel.modules.debugging.mod_dumpio import DumpioServerConfig
from whimbrel.server.connection.dumpio import DumpIOLayer
from whimbrel.server.worker.state import WorkerState

HEAD = b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
READ = [
    "mod_dumpio: dumpio_in [getline-blocking] 0 readbytes",
    "mod_dumpio:  dumpio_in (data-HEAP): 21 bytes",
    "mod_dumpio:  dumpio_in (data-HEAP): GET /a.txt HTTP/1.1\r\n",
    "mod_dumpio: dumpio_in [getline-blocking] 0 readbytes",
    "mod_dumpio:  dumpio_in (data-HEAP): 17 bytes",
    "mod_dumpio:  dumpio_in (data-HEAP): Host: localhost\r\n",
    "mod_dumpio: dumpio_in [getline-blocking] 0 readbytes",
    "mod_dumpio:  dumpio_in (data-HEAP): 19 bytes",
    "mod_dumpio:  dumpio_in (data-HEAP): Connection: close\r\n",
    "mod_dumpio: dumpio_in [getline-blocking] 0 readbytes",
    "mod_dumpio:  dumpio_in (data-HEAP): 2 bytes",
    "mod_dumpio:  dumpio_in (data-HEAP): \r\n",
]
WRITTEN = [
    "mod_dumpio: dumpio_out",
    "mod_dumpio:  dumpio_out (data-HEAP): 6 bytes",
    "mod_dumpio:  dumpio_out (data-HEAP): [head]",
    "mod_dumpio: dumpio_out",
    "mod_dumpio:  dumpio_out (data-HEAP): 8 bytes",
    "mod_dumpio:  dumpio_out (data-HEAP): dump me\n",
    "mod_dumpio:  dumpio_out (metadata-EOS): 0 bytes",
    "mod_dumpio: dumpio_out",
    "mod_dumpio:  dumpio_out (metadata-EOR): 0 bytes",
    "mod_dumpio: dumpio_out",
    "mod_dumpio:  dumpio_out (metadata-FLUSH): 0 bytes",
    "mod_dumpio:  dumpio_out (metadata-EOC): 0 bytes",
]


class Dumped(FakeEngine):
    """An engine whose one server enables dumps; `lines` is the error log."""

    def __init__(
        self,
        handler: Callable[[Head, RequestBody], Any],
        settings: DumpioServerConfig,
        dialect: Dialect | None,
        level: str,
    ) -> None:
        super().__init__(handler)
        self.settings, self.lines = settings, []  # type: tuple[DumpioServerConfig, list[tuple[str, str, str]]]
        self.error_log = self
        self.configuration.dialect = dialect or self.configuration.dialect
        self.main.record(CoreServerConfig).log_level = {"": LEVELS[level]}

    def provider(self, group: str, name: str) -> Any:
        return (lambda _configuration, _server: self.settings) if group == "dumpio" else None

    def about_connection(self, connection: Any, _server: Any, line: Any) -> None:
        self.lines.append((connection.client_ip, line.level, line.text))


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    yield made
    made.close()


def logged(
    loop: asyncio.AbstractEventLoop,
    settings: DumpioServerConfig,
    *,
    dialect: Dialect | None = None,
    level: str = "trace7",
    body: bytes = b"dump me\n",
    about: Mapping[str, object] | None = None,
) -> list[tuple[str, str, str]]:
    def handler(_head: Head, _body: RequestBody) -> FakeResponse:
        response = FakeResponse(body, close=True)
        vars(response.request).update({"finfo": None, **(about or {})})
        return response

    engine = Dumped(handler, settings, dialect, level)
    protocol = DumpIOLayer(WorkerState(engine, loop))  # type: ignore[arg-type]
    protocol.connection_made(FakeTransport(server=("::ffff:192.0.2.1", 80)))
    protocol.data_received(HEAD)
    return engine.lines


def test_both_directions(loop: asyncio.AbstractEventLoop) -> None:
    assert logged(loop, DumpioServerConfig(True, True)) == [
        ("192.0.2.7", "trace7", line) for line in READ + WRITTEN
    ]


@pytest.mark.parametrize(
    ("status", "handler", "size", "mode", "is_file"),
    [
        (200, None, 8, S_IFREG, True),
        (200, "default-handler", 8, S_IFREG, True),
        (204, None, 8, S_IFREG, False),
        (404, None, 8, S_IFREG, False),  # the page of an error has nothing of the file
        (200, "server-status", 8, S_IFREG, False),
        (200, None, 9, S_IFREG, False),
        (200, None, 8, S_IFDIR, False),
    ],
)
def test_a_whole_file_is_a_bucket_of_its_kind(
    loop: asyncio.AbstractEventLoop, status: int, handler: str | None, size: int, mode: int, is_file: bool
) -> None:
    """The default handler of httpd passes a file on as it is; small ones are mapped when they are read."""
    info = SimpleNamespace(st_mode=mode, st_size=size)
    about = {"status": status, "handler": handler, "finfo": info}
    lines = [line for _client, _level, line in logged(loop, DumpioServerConfig(False, True), about=about)]
    kinds = {
        line.split("(data-")[1].partition(")")[0]
        for line in lines
        if "(data-" in line and "[head]" not in line
    }
    assert bool(kinds & {"FILE", "MMAP"}) is is_file, lines


def test_one_direction(loop: asyncio.AbstractEventLoop) -> None:
    assert [line for _client, _level, line in logged(loop, DumpioServerConfig(True, False))] == READ


def test_nothing_where_the_level_is_lower(loop: asyncio.AbstractEventLoop) -> None:
    assert logged(loop, DumpioServerConfig(True, True), level="trace6") == []


def test_22_names_its_source_instead_of_the_client(loop: asyncio.AbstractEventLoop) -> None:
    lines = logged(loop, DumpioServerConfig(True, False, "debug"), dialect=V22, level="debug")
    assert lines[0] == (
        "",
        "debug",
        "mod_dumpio.c(135): mod_dumpio: dumpio_in [getline-blocking] 0 readbytes",
    )


def test_22_notices_need_no_level(loop: asyncio.AbstractEventLoop) -> None:
    assert logged(loop, DumpioServerConfig(True, False, "notice"), dialect=V22, level="warn")[0] == (
        "",
        "notice",
        READ[0],
    )


def test_long_data_is_cut_and_a_nul_ends_a_line(loop: asyncio.AbstractEventLoop) -> None:
    lines = [
        line
        for _client, _level, line in logged(loop, DumpioServerConfig(False, True), body=b"a" * 1968 + b"b\0c")
    ]
    assert lines[5:8] == [
        "mod_dumpio:  dumpio_out (data-HEAP): " + "a" * 1968,
        "mod_dumpio:  dumpio_out (data-HEAP): b",
        "mod_dumpio:  dumpio_out (metadata-EOS): 0 bytes",
    ]
