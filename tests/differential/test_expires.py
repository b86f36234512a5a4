"""mod_expires under load: Expires - Date is the configured time on every response, as on apache2."""

from __future__ import annotations

import functools
import socket
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from h2.connection import H2Connection
from h2.events import ResponseReceived, StreamEnded

from tests.differential.servers import APACHE, WHIMBREL, Program
from tests.differential.site import GeneratedSite, ServerProcess, documents
from tests.support.origin import Origin

SECONDS: Final = 2.3  # of requests: two seconds begin among them
EXPIRY: Final = 600
MODULES: Final = "expires cgid proxy proxy_http http2 status"
CONF: Final = """Protocols h2c http/1.1
ScriptSock %BASE%/cgisock
ThreadsPerChild 32
MaxRequestWorkers 32
ServerLimit 1
ExpiresActive On
ExpiresDefault A600
KeepAliveTimeout 20
MaxKeepAliveRequests 0
ScriptAlias /slow.cgi %BASE%/slow.cgi
ProxyPass /proxied/ http://127.0.0.1:%BACKEND%/
<Directory "%BASE%">
Require all granted
Options +Includes +Indexes
</Directory>
<Location /list/one.txt>
SetOutputFilter INCLUDES
</Location>
<Location /status>
SetHandler server-status
</Location>
"""
SLOW: Final = "#!/bin/sh\necho Content-Type: text/plain\necho\nsleep 0.02\necho slow\n"
PATHS: Final = (
    *("/a.txt", "/big.txt", "/dir/b.txt", "/list/one.txt", "/slow.cgi", "/proxied/x", "/status", "/list/"),
)
FIELDS: Final[tuple[dict[str, str], ...]] = (
    *({}, {"Range": "bytes=0-1"}, {"If-None-Match": "*"}, {"Accept": "text/*"}),
)


@functools.cache
def seconds(date: str) -> float:
    """Return the time that *date* stands for."""
    return parsedate_to_datetime(date).timestamp()


def judged(path: str, fields: dict[str, str]) -> str:
    """Return what is wrong with the dates of a response, "" for nothing."""
    date, expires, age = (fields.get(name, "") for name in ("date", "expires", "cache-control"))
    if not date or not expires:
        return f"{path}: Date {date!r}, Expires {expires!r}"
    if seconds(expires) - seconds(date) == EXPIRY and age == f"max-age={EXPIRY}":
        return ""
    return f"{path}: Date {date}, Expires {expires}, {age}"


def load_http1(port: int, number: int, end: float) -> list[str]:
    """Send requests of HTTP/1 on one connection until *end*; return what is wrong with each response."""
    found = []
    with closing(HTTPConnection("127.0.0.1", port)) as connection:
        while time.monotonic() < end:
            number += 1
            path = PATHS[number % len(PATHS)]
            method = "HEAD" if number % 11 == 0 else "GET"
            connection.request(method, path, headers=FIELDS[number // len(PATHS) % len(FIELDS)])
            response = connection.getresponse()
            response.read()
            assert response.status in (200, 206, 304), (path, response.status)
            found.append(judged(path, {name.lower(): value for name, value in response.getheaders()}))
    return found


def text(value: str | bytes) -> str:
    """Return a name or value of HTTP/2 as text."""
    return value if isinstance(value, str) else value.decode("latin-1")


def load_http2(port: int, end: float) -> list[str]:
    """Send a request for each path at once, over HTTP/2, until *end*; see `load_http1`."""
    found, number = [], -1
    with socket.create_connection(("127.0.0.1", port)) as wire:
        state = H2Connection()
        state.initiate_connection()
        while time.monotonic() < end:
            paths = {}
            for path in PATHS:
                number += 2
                paths[number] = path
                names = {":method": "GET", ":scheme": "http", ":authority": "x", ":path": path}
                state.send_headers(number, [*names.items()], end_stream=True)
            open_streams = set(paths)
            while open_streams:
                wire.sendall(state.data_to_send())
                for event in state.receive_data(wire.recv(65536)):
                    if isinstance(event, ResponseReceived):
                        fields = {text(name): text(value) for name, value in event.headers}
                        found.append(judged(paths[event.stream_id], fields))
                    elif isinstance(event, StreamEnded):
                        open_streams.discard(event.stream_id)
                    elif length := getattr(event, "flow_controlled_length", 0):
                        state.acknowledge_received_data(length, event.stream_id)
    return found


@pytest.mark.parametrize("program", [APACHE, WHIMBREL], ids=lambda program: program.name)
def test_expires_minus_date_is_the_configured_time_under_load(program: Program) -> None:
    if not program.present:
        pytest.skip(f"{program.name} is not installed")
    with tempfile.TemporaryDirectory() as base, Origin() as backend:
        root = Path(base, "site")
        root.mkdir()
        Path(base).chmod(0o755)
        documents(root)
        (root / "htdocs" / "big.txt").write_bytes(b"x" * 400_000)
        (root / "slow.cgi").write_text(SLOW)
        (root / "slow.cgi").chmod(0o755)
        loads = "".join(f"LoadModule {m}_module {program.module_dir}/mod_{m}.so\n" for m in MODULES.split())
        text = loads + CONF.replace("%BACKEND%", str(backend.port))
        with ServerProcess(program, GeneratedSite(text), root) as server, ThreadPoolExecutor(6) as pool:
            assert server.started, server.output
            end = time.monotonic() + SECONDS
            loads1 = [pool.submit(load_http1, server.port, number, end) for number in (0, 3, 5, 20)]
            loads2 = [pool.submit(load_http2, server.port, end) for _ in range(2)]
            found = [each for load in loads1 + loads2 for each in load.result()]
    assert len(found) > 200
    assert not [each for each in found if each][:9]
