"""A proxy in this process in front of a back end that sends prepared bytes, whatever it is sent."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from tests.support.proxy_server import ProxyServer
from tests.support.site import load_module_lines

BODY = b"a wader's body, " * 4
FIELDS = b"Content-Type: text/plain\r\nX-Bird: knot\r\n"
SCHEMES = ("fcgi", "scgi", "uwsgi", "ajp")
Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def record(kind: int, data: bytes, *, request: int = 1, padding: int = 0, version: int = 1) -> bytes:
    """Return a record of FastCGI."""
    return struct.pack(">BBHHBx", version, kind, request, len(data), padding) + data + bytes(padding)


def ajp(data: bytes) -> bytes:
    """Return a message of AJP."""
    return b"AB" + struct.pack(">H", len(data)) + data


def ajp_text(value: bytes) -> bytes:
    """Return a string of AJP."""
    return struct.pack(">H", len(value)) + value + b"\0"


def ajp_head(status: int, *fields: tuple[bytes, bytes]) -> bytes:
    """Return the message with the head of a response."""
    data = b"\4" + struct.pack(">H", status) + ajp_text(b"") + struct.pack(">H", len(fields))
    return ajp(data + b"".join(ajp_text(name) + ajp_text(value) for name, value in fields))


def ajp_piece(data: bytes) -> bytes:
    """Return the message with a piece of a body."""
    return ajp(b"\3" + struct.pack(">H", len(data)) + data + b"\0")


def answer(scheme: str, body: bytes = BODY, *more: tuple[bytes, bytes]) -> bytes:
    """Return a complete answer with status 200 and the fields of `FIELDS`, then *more*."""
    lines = FIELDS + b"".join(b"%b: %b\r\n" % field for field in more)
    if scheme == "fcgi":
        output = lines + b"\r\n" + body
        records = [record(6, output[at : at + 60000]) for at in range(0, len(output), 60000)]
        return b"".join(records) + record(6, b"") + record(3, bytes(8))
    if scheme == "ajp":
        pieces = [ajp_piece(body[at : at + 8000]) for at in range(0, len(body), 8000)]
        fields = [(b"Content-Type", b"text/plain"), (b"X-Bird", b"knot"), *more]
        return ajp_head(200, *fields) + b"".join(pieces) + ajp(b"\5\1")
    return (b"HTTP/1.1 200 OK\r\n" if scheme == "uwsgi" else b"") + lines + b"\r\n" + body


class RawProxy(ProxyServer):
    """A proxy whose back end *play* plays: it is called once for each connection."""

    def __init__(self, root: Path, play: Play, scheme: str, conf: str = "", options: str = "") -> None:
        lines = load_module_lines(["proxy_http2" if scheme == "h2c" else f"proxy_{scheme}"])
        mapping = f"ProxyPass / {scheme}://127.0.0.1:@PORT@/ {options}\n"
        super().__init__(root, self._unused, f"{lines}ProxyTimeout 1\n{conf}{mapping}")
        self.play = play
        self.open = 0

    @staticmethod
    async def _unused(_head: bytes, _reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
        raise AssertionError

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self.open += 1
        try:
            await self.play(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()


def sending(data: bytes, *, is_reset: bool = False) -> Play:
    """Return a back end that sends *data* when a request begins, and closes or resets the connection."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(65536)
        writer.write(data)
        await writer.drain()
        if is_reset:
            await asyncio.sleep(0.005)
            writer.transport.abort()

    return play


def run_raw(
    root: Path,
    scheme: str,
    use: Callable[[RawProxy], Awaitable[Any]],
    play: Play | None = None,
    conf: str = "",
    options: str = "",
    seconds: float = 30,
) -> Any:
    """Return what *use* returns with a running proxy."""

    async def main() -> Any:
        async with (
            asyncio.timeout(seconds),
            RawProxy(root, play or sending(b""), scheme, conf, options) as proxy,
        ):
            return await use(proxy)

    return asyncio.run(main())
