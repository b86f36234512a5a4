"""Memory of idle WebSocket tunnels in one worker: opens them through `ProxyPass ws://` and reads its RSS.

    .venv/bin/python -m bench.tunnels --count 10000

Each tunnel has two sockets in the worker and two here, so the limit of descriptors is raised as far as the
system admits.
"""

from __future__ import annotations

import argparse
import asyncio
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from whimbrel.testing.ports import free_port

DESCRIPTORS = 65536
STEP = 100  # tunnels that are opened at the same time
REQUEST = (
    b"GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
ANSWER = (
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
)
CONFIG = """ServerRoot "{root}"
ServerName localhost
Listen 127.0.0.1:{port}
PidFile "{root}/pid"
ErrorLog "{root}/error.log"
DocumentRoot "{root}"
TimeOut 600
User nobody
Group nogroup
{modules}
ProxyPass /ws ws://127.0.0.1:{backend}/
"""
MODULES = ("mpm_event", "authz_core", "proxy", "proxy_http", "proxy_wstunnel")


class Figures(NamedTuple):
    """RSS of the worker in bytes before and with the tunnels, and seconds until all of them were closed."""

    before: int
    after: int
    closing: float


class Upgrades(asyncio.Protocol):
    """The back end: answers each head with 101."""

    open = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        Upgrades.open += 1

    def data_received(self, data: bytes) -> None:
        self.transport.write(ANSWER)

    def connection_lost(self, exc: Exception | None) -> None:
        Upgrades.open -= 1


class Client(asyncio.Protocol):
    """A client: sends the request; `ready` is done with the answer."""

    def __init__(self) -> None:
        self.ready: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.write(REQUEST)

    def data_received(self, data: bytes) -> None:
        if not self.ready.done():
            self.ready.set_result(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ready.done():
            self.ready.set_exception(ConnectionResetError("no answer"))


def resident(pid: int) -> int:
    """Return the RSS of a process in bytes."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise ProcessLookupError(pid)


def raise_limit() -> int:
    """Raise the limit of descriptors; return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    for wanted in (DESCRIPTORS, hard):
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), max(hard, wanted)))
            break
        except (OSError, ValueError):
            continue
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


async def _open(port: int, count: int) -> list[Client]:
    loop, clients = asyncio.get_running_loop(), []
    while len(clients) < count:
        group = [
            loop.create_connection(Client, "127.0.0.1", port) for _ in range(min(STEP, count - len(clients)))
        ]
        made = [client for _, client in await asyncio.gather(*group)]
        for answer in await asyncio.gather(*[client.ready for client in made]):
            if not answer.startswith(b"HTTP/1.1 101"):
                raise ConnectionError(answer[:200].decode("latin-1"))
        clients += made
    return clients


async def _run(root: Path, count: int) -> Figures:
    loop = asyncio.get_running_loop()
    backend = await loop.create_server(Upgrades, "127.0.0.1", 0, backlog=1024)
    port = free_port()
    lines = "\n".join([f"LoadModule {name}_module modules/mod_{name}.so" for name in MODULES])
    text = CONFIG.format(root=root, port=port, modules=lines, backend=backend.sockets[0].getsockname()[1])
    (root / "httpd.conf").write_text(text)
    program = Path(sys.executable).parent / "whimbrel-httpd"
    command = [program, "--builtin", "debian", "-X", "-f", root / "httpd.conf"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        await asyncio.to_thread(_wait_for, port)
        warm = await _open(port, 10)
        before = resident(process.pid)
        clients = await _open(port, count)
        await asyncio.sleep(0.5)
        after = resident(process.pid)
        start = time.monotonic()
        for client in (*warm, *clients):
            client.transport.abort()
        while Upgrades.open and time.monotonic() - start < 30:
            await asyncio.sleep(0.01)
        return Figures(before, after, time.monotonic() - start)
    finally:
        process.terminate()
        process.wait(20)
        backend.close()


def _wait_for(port: int) -> None:
    import socket

    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError("the server did not start")


def measure(count: int) -> Figures:
    """Open *count* tunnels and return the figures; raises OSError if descriptors do not suffice."""
    if raise_limit() < 2 * count + 200:
        raise OSError(f"{count} tunnels need {2 * count + 200} descriptors")
    with tempfile.TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        return asyncio.run(_run(Path(root), count))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    count = parser.parse_args().count
    before, after, closing = measure(count)
    print(f"{count} tunnels: {after / 1e6:.1f} MB, {before / 1e6:.1f} MB before the first")
    print(f"{(after - before) / count / 1000:.2f} kB a tunnel; all closed after {closing:.2f} s")


if __name__ == "__main__":
    main()
