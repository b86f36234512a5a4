"""Back end of the load, a process: pages that are fresh for two seconds, chunks, and an echo of WebSockets.

`python -m tests.soak.backend` prints its port and serves until its input ends.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import random
import subprocess
import sys
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[2]
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
LIMIT = 1 << 17


class BackEnd:
    """The process; a context manager. `port` is that of HTTP on the loopback."""

    def __enter__(self) -> BackEnd:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.backend"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert self._process.stdout is not None
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        if self._process.wait(10) and problem is None:
            raise RuntimeError(f"the back end has ended with {self._process.returncode}")


def _fields(head: bytes) -> dict[bytes, bytes]:
    lines = [line.partition(b":") for line in head.split(b"\r\n")[1:] if line]
    return {name.lower(): value.strip() for name, _, value in lines}


def page(path: bytes) -> tuple[bytes, bytes]:
    """Return the fields and the body of a page; lines of a body are equal, so that a mixture shows."""
    line = b"%b %d\n" % (path.partition(b"?")[0], random.getrandbits(48))
    body = line * random.randrange(1, 400)
    more = b"Cache-Control: max-age=2\r\n" if path.startswith(b"/cached/") else b""
    if b"/chunked" in path:
        half = len(body) // 2
        pieces = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:half], body[half:]) if part)
        return b"Transfer-Encoding: chunked\r\n" + more, pieces + b"0\r\n\r\n"
    return b"Content-Length: %d\r\n" % len(body) + more, body


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            fields = _fields(head)
            path = head.split(b" ", 2)[1]
            if size := int(fields.get(b"content-length", b"0")):
                await reader.readexactly(size)
            if b"upgrade" in fields:
                await _echo(reader, writer, fields)
                return
            if b"/slow" in path:
                await asyncio.sleep(0.2)
            top, body = page(path)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n" + top + b"\r\n" + body)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def _echo(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, fields: dict[bytes, bytes]
) -> None:
    accept = base64.b64encode(hashlib.sha1(fields.get(b"sec-websocket-key", b"") + GUID).digest())
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: %b\r\n\r\n" % accept
    )
    while data := await reader.read(LIMIT):
        writer.write(data)
        await writer.drain()


async def _main() -> None:
    server = await asyncio.start_server(_serve, "127.0.0.1", 0, limit=LIMIT, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main())
