"""HTTP/2 back ends behind apache2 and Whimbrel: the same responses from mod_http2 and a scripted back end."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread

import pytest

pytest.importorskip("h2", reason="the optional package h2 is not installed")

from tests.differential.servers import APACHE, WHIMBREL
from tests.differential.stock_site import StockServer, write_documents
from tests.support.http2_backend import Http2Backend

pytestmark = pytest.mark.skipif(not APACHE.present, reason="apache2 is not installed")
SERVER = "Protocols h2c http/1.1\nServerSignature Off\n"
FRONT = """
ServerSignature Off
ProxyTimeout 3
ProxyVia on
<Location /o/>
ProxyErrorOverride on
ProxyPass h2c://127.0.0.1:%script%/
</Location>
ProxyPass /gone/ h2c://127.0.0.1:1/
ProxyPass /real/ h2c://127.0.0.1:%real%/
ProxyPassReverse /real/ http://127.0.0.1:%real%/
ProxyPass /s/ h2c://127.0.0.1:%script%/
"""
TARGETS = [
    "/real/",
    "/real/index.html",
    "/real/none",
    "/real/big",
    "/real/a%20b",
    "/gone/x",
    "/o/missing",
] + [f"/s/{name}" for name in "ok refuse goaway reset close garbage missing trailers redirect hints".split()]
VARYING = re.compile(rb"(?m)^(Date|Server|Keep-Alive|Connection|Transfer-Encoding): .*\r\n")


class BackendThread(Http2Backend):
    """A scripted back end in a thread, which refuses every other request."""

    def __enter__(self) -> BackendThread:
        self.loop = asyncio.new_event_loop()
        self.loop.run_until_complete(self.__aenter__())
        self.thread = Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_problem: object) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[BackendThread, StockServer, StockServer]]:
    with TemporaryDirectory(prefix="whimbrel-h2-") as name, BackendThread() as script:
        base = Path(name)
        base.chmod(0o755)
        write_documents(base)
        (base / "www/html/big").write_bytes(b"0123456789" * 50_000)
        os.utime(base / "www/html/big", (1_600_000_000, 1_600_000_000))  # a new file has a weak ETag
        with StockServer(APACHE, base, SERVER, modules=["http2"]) as real:
            assert real.started, real.output
            conf = FRONT.replace("%script%", str(script.port)).replace("%real%", str(real.port))
            modules = ["proxy", "proxy_http2"]
            with (
                StockServer(APACHE, base, conf, modules=modules) as apache,
                StockServer(WHIMBREL, base, conf, modules=modules) as whimbrel,
            ):
                assert apache.started, apache.output
                assert whimbrel.started, whimbrel.output
                yield script, apache, whimbrel


async def fetch(port: int, target: str, body: bytes = b"") -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    method = "POST" if body else "GET"
    length = f"Content-Length: {len(body)}\r\n" if body else ""
    head = f"{method} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{length}\r\n"
    writer.write(head.encode() + body)
    async with asyncio.timeout(15):
        data = await reader.read()
    writer.close()
    return data


def comparable(response: bytes) -> tuple[list[bytes], bytes]:
    """Return the lines of the head, sorted, and the body without its framing."""
    response = re.sub(rb"(?m)^(Via: .*:)\d+", rb"\1PORT", VARYING.sub(b"", response))
    head, _, body = response.partition(b"\r\n\r\n")
    body = re.sub(rb"(?m)^[0-9a-f]+\r\n|\r\n", b"", body)
    return sorted(head.split(b"\r\n")), body


@pytest.mark.parametrize("target", TARGETS)
def test_same_answers(servers: tuple[BackendThread, StockServer, StockServer], target: str) -> None:
    script, *fronts = servers
    answers = []
    for front in fronts:
        script.refusals = 1
        answers.append(comparable(asyncio.run(fetch(front.port, target))))
    assert answers[0] == answers[1]


def test_long_bodies(servers: tuple[BackendThread, StockServer, StockServer]) -> None:
    script, *fronts = servers
    for front in fronts:
        before = script.received
        assert asyncio.run(fetch(front.port, "/s/ok", b"x" * 300_000)).startswith(b"HTTP/1.1 200 ")
        assert script.received - before == 300_000
