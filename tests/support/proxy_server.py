"""A proxy on the loopback in this process, for tests that read what back end and client get."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.support.site import CONF, load_module_lines, write_file, write_files
from whimbrel.base.dialect import DIALECTS
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.modules import ALL
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.state import WorkerState
from whimbrel.testing.fake_runtime import FakeRuntime

MODULES = {
    "2.2": "authz_host log_config headers setenvif env proxy proxy_http",
    "2.4": "mpm_event authz_core headers setenvif env proxy proxy_http",
}
Answer = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class ProxyServer:
    """A proxy in front of a back end that *answer* plays: it is called with each head, and may read on.

    Attributes:
        heads: the heads that the back end got. `accepted`: number of connections to it.
        engine: of the proxy.
    """

    def __init__(self, root: Path, answer: Answer, conf: str = "", version: str = "2.4") -> None:
        self.heads: list[str] = []
        self.accepted = 0
        self._root, self._answer, self._conf, self._version = root, answer, conf, version

    async def __aenter__(self) -> ProxyServer:
        self._backend = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = int(self._backend.sockets[0].getsockname()[1])
        write_files(self._root, {"htdocs/.keep": "", "logs/.keep": ""})
        text = (
            load_module_lines(MODULES[self._version].split())
            + f'Listen 127.0.0.1:80\nServerName front\nDocumentRoot "{self._root}/htdocs"\n'
            + (self._conf or "ProxyPass / http://127.0.0.1:@PORT@/\n").replace("@PORT@", str(self.port))
        )
        write_file(self._root / CONF, text, None)
        options = LoadOptions(server_root=str(self._root), file=str(self._root / CONF))
        runtime = FakeRuntime()
        self.engine = Engine(load(options, ALL, DIALECTS[self._version]), runtime)
        runtime.open_segments(self.engine.configuration)
        self.problems: list[BaseException] = []
        loop = asyncio.get_running_loop()
        self.state = WorkerState(self.engine, loop, report=self.problems.append)
        self._front = await loop.create_server(lambda: Http1Connection(self.state), "127.0.0.1", 0)
        self.address = self._front.sockets[0].getsockname()
        return self

    async def __aexit__(self, *_problem: object) -> None:
        self._front.close()
        self._backend.close()
        for connection in list(self.state.connections):
            connection.sender.transport.abort()
        await asyncio.sleep(0.01)
        assert self.problems == []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head.decode("latin-1"))
                await self._answer(head, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Return a connection of a client."""
        return await asyncio.open_connection(*self.address[:2])

    async def send(self, data: bytes) -> bytes:
        """Return the bytes that a client gets for *data*, until the end of the connection."""
        reader, writer = await self.connect()
        writer.write(data)
        out = await reader.read()
        writer.close()
        return out

    async def get(self, path: str = "/x", *fields: str, method: str = "GET", body: bytes = b"") -> bytes:
        """Return the response to one request."""
        lines = [f"{method} {path} HTTP/1.1", "Host: client.example", "Connection: close", *fields]
        return await self.send("\r\n".join([*lines, "", ""]).encode("latin-1") + body)


async def echo(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer with the head and the body of the request."""
    fields = {
        name.lower(): value for name, _, value in (line.partition(b": ") for line in head.split(b"\r\n"))
    }
    body = head
    if fields.get(b"expect", b"").lower() == b"100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if b"content-length" in fields:
        body += await reader.readexactly(int(fields[b"content-length"]))
    elif fields.get(b"transfer-encoding") == b"chunked":
        while (size := int(await reader.readline(), 16)) or (await reader.readline()).strip():
            body += (await reader.readexactly(size + 2))[:-2]
    writer.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    )
    await writer.drain()


def answering(data: bytes) -> Answer:
    """Return a back end that answers each request with *data*."""

    async def answer(_head: bytes, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return answer


def run(
    root: Path,
    answer: Answer,
    use: Callable[[ProxyServer], Awaitable[Any]],
    conf: str = "",
    version: str = "2.4",
) -> Any:
    """Return what *use* returns with a running proxy."""

    async def main() -> Any:
        async with asyncio.timeout(20), ProxyServer(root, answer, conf, version) as server:
            return await use(server)

    return asyncio.run(main())
