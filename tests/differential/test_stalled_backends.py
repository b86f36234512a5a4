"""Back ends that stop reading or writing at every stage: status and codes of apache2 and Whimbrel."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest

from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents
from tests.support.thread_server import ThreadServer

pytestmark = pytest.mark.skipif(not APACHE.present, reason="apache2 is not installed")
SCHEMES = ("http", "scgi", "uwsgi", "fcgi", "ajp")
STAGES = ("nothing", "head", "part", "answer")  # what the back end does before it stalls
BODIES = {"none": 0, "short": 5, "long": 20_000_000}
PROXY_TIMEOUT = 1


class Stalling(ThreadServer):
    """A back end that reads or writes a little, and then neither reads nor writes; a context manager."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        self._ended = threading.Event()
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        listener.bind(("127.0.0.1", 0))
        listener.listen(100)
        super().__init__(listener)

    def stop(self) -> None:
        """Let all connections end."""
        self._ended.set()
        super().stop()

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            count, wanted = 0, {"nothing": 0, "part": 500_000}.get(self.stage, 1)
            while count < wanted and (data := connection.recv(65_536)):
                count += len(data)
            if self.stage == "answer":
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-A: b\r\n")
            self._ended.wait(30)


class Reply(NamedTuple):
    """The status of a response and the seconds until it came."""

    status: bytes
    seconds: float


def ask(port: int, path: str, size: int) -> Reply:
    """Send a request with a body of *size* bytes, and return what comes first."""
    begin = time.monotonic()
    with socket.create_connection(("127.0.0.1", port), 10) as wire:
        method = "POST" if size else "GET"
        length = f"Content-Length: {size}\r\n" if size else ""
        wire.sendall(f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{length}\r\n".encode())

        def send() -> None:
            with contextlib.suppress(OSError):
                wire.sendall(b"x" * size)

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        with contextlib.suppress(ConnectionError):
            data = wire.recv(65_536)
            return Reply(data[9:12], time.monotonic() - begin)
    return Reply(b"", time.monotonic() - begin)


@pytest.fixture(scope="module")
def servers() -> Iterator[list[StockServer]]:
    with TemporaryDirectory(prefix="stalled-") as name, ExitStack() as stack:
        base = Path(name)
        base.chmod(0o755)
        write_documents(base)
        ports = {stage: stack.enter_context(Stalling(stage)).port for stage in STAGES}
        conf = f"ProxyTimeout {PROXY_TIMEOUT}\n" + "".join(
            f"ProxyPass /{scheme}/{stage} {scheme}://127.0.0.1:{port}/ retry=0\n"
            for scheme in SCHEMES
            for stage, port in ports.items()
        )
        modules = ["proxy", *(f"proxy_{scheme}" for scheme in SCHEMES)]
        both = [
            stack.enter_context(StockServer(program, base, conf, modules=modules))
            for program in (APACHE, WHIMBREL)
        ]
        assert all(server.started for server in both), [server.output for server in both]
        yield both


def test_the_status_is_httpds(servers: list[StockServer]) -> None:
    requests = [
        (f"/{scheme}/{stage}", size) for scheme in SCHEMES for stage in STAGES for size in BODIES.values()
    ]
    with ThreadPoolExecutor(20) as threads:
        replies = [
            list(threads.map(lambda each: ask(server.port, *each), requests))  # noqa: B023
            for server in servers
        ]
    found = list(zip(requests, *replies, strict=True))
    assert not [(request, one, two) for request, one, two in found if one.status != two.status]
    assert max(reply.seconds for reply in replies[1]) < PROXY_TIMEOUT + 6, "no request escapes the timeout"
    assert {one.status for _request, one, _two in found} >= {b"502", b"503", b"504"}


def test_the_messages_are_httpds(servers: list[StockServer]) -> None:
    for scheme in ("http", "scgi", "uwsgi"):
        for size in BODIES.values():
            logged = []
            for server in servers:
                path = server.run / "error.log"
                begin = path.stat().st_size
                ask(server.port, f"/{scheme}/nothing", size)
                end = time.monotonic() + 3
                while not (new := path.read_bytes()[begin:]) and scheme != "uwsgi" and time.monotonic() < end:
                    time.sleep(0.02)
                logged.append(re.findall(rb"AH\d{5}", new))
            assert logged[0] == logged[1], (scheme, size)
