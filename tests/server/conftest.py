"""A running server on the loopback, stopped by its process ID at the end of each test."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support import warm_server

from whimbrel.testing.ports import free_port

CONFIGURATION = """\
LoadModule mpm_event_module m/mod_mpm_event.so
LoadModule authz_core_module m/mod_authz_core.so
LoadModule mime_module m/mod_mime.so
LoadModule dir_module m/mod_dir.so
LoadModule alias_module m/mod_alias.so
ServerName localhost
Listen 127.0.0.1:{port}
PidFile logs/httpd.pid
ErrorLog logs/error_log
DocumentRoot htdocs
TypesConfig conf/mime.types
LogFormat "%a %r %>s %b" short
CustomLog logs/access_log short
{user}
Include conf/extra.conf
"""


class ServerProcess:
    """A server root and the process that serves it."""

    def __init__(self, root: Path, port: int) -> None:
        self.root, self.port = root, port
        self.process: subprocess.Popen[bytes] | warm_server.WarmServer | None = None
        self.environment = dict(os.environ)
        self.changes = ""  # Python code that runs before the server, for changes of single tests

    def command(self, *more: str) -> list[str]:
        return [
            sys.executable,
            "-c",
            f"{self.changes}\nfrom whimbrel.cli.httpd import main; main()",
            *self.words(*more),
        ]

    def words(self, *more: str) -> list[str]:
        """Return the arguments of whimbrel-httpd."""
        return ["--builtin", "debian", "-d", str(self.root), *more]

    def run(self, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*more),
            capture_output=True,
            text=True,
            cwd=self.root,
            env=self.environment,
            timeout=60,
            check=False,
        )

    def start(self, *more: str) -> None:
        output = self.root / "stderr"
        if self.changes:
            with output.open("wb") as sink:
                self.process = subprocess.Popen(
                    self.command("-DFOREGROUND", *more), cwd=self.root, stderr=sink, env=self.environment
                )
        else:
            words = [warm_server.HTTPD, *self.words("-DFOREGROUND", *more)]
            self.process = warm_server.start(
                words, output=output, cwd=self.root, environment=self.environment
            )
        self.wait_for(lambda: (self.root / "logs/httpd.pid").exists() or self.ended())

    def ended(self) -> bool:
        return self.process is not None and self.process.poll() is not None

    def wait_for(self, condition: Callable[[], object], seconds: float = 30.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.errors()
            time.sleep(0.02)

    def errors(self) -> str:
        return "".join(
            p.read_text() for p in (self.root / "stderr", self.root / "logs/error_log") if p.exists()
        )

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def master(self) -> int:
        """The process ID in the PidFile."""
        return int((self.root / "logs/httpd.pid").read_text())

    def workers(self) -> list[int]:
        assert self.process is not None
        return children(self.process.pid)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def ask(self, data: bytes) -> bytes:
        """Send bytes, and return all data until the server closes."""
        with self.connect() as wire:
            wire.sendall(data)
            return everything(wire)

    def get(self, path: str = "/") -> bytes:
        return self.ask(b"GET %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % path.encode())

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            finally:
                if self.process.poll() is None:
                    self.process.kill()


def children(pid: int) -> list[int]:
    """Return the process IDs of a process's children."""
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def everything(wire: socket.socket) -> bytes:
    out = bytearray()
    while data := wire.recv(1 << 20):
        out += data
    return bytes(out)


def within(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    """Return True as soon as *condition* holds, False if it does not hold in time.

    The default is what a busy machine may take; what would end by itself has to last longer.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def reset(wire: socket.socket) -> None:
    """Close *wire* with a RST."""
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


def programs(site: ServerProcess) -> list[int]:
    """Return the programs that run: children of the workers."""
    return [child for worker in site.workers() for child in children(worker)]


def open_files(site: ServerProcess) -> list[str]:
    """Return the documents and pipes that the workers have open."""
    out = []
    for worker in site.workers():
        for handle in Path(f"/proc/{worker}/fd").iterdir():
            try:
                target = os.readlink(handle)
            except OSError:
                continue
            if "htdocs" in target or target.startswith("pipe:"):
                out.append(f"{worker} {target}")
    return sorted(out)


def lines(site: ServerProcess) -> list[str]:
    return (site.root / "logs/lines").read_text().splitlines()


@contextmanager
def unstarted_server() -> Iterator[ServerProcess]:
    """Provide a server that was not started; all may read its directory, since workers become www-data."""
    root = Path(tempfile.mkdtemp(prefix="whimbrel-"))
    root.chmod(0o755)
    port = free_port()
    for name in ("conf", "htdocs", "logs"):
        (root / name).mkdir()
    user = "User www-data\nGroup www-data" if os.getuid() == 0 else ""
    (root / "conf/httpd.conf").write_text(CONFIGURATION.format(port=port, user=user))
    (root / "conf/extra.conf").write_text("")
    (root / "conf/mime.types").write_text("text/plain txt\ntext/html html\n")
    (root / "htdocs/index.html").write_text("hello\n")
    (root / "htdocs/big.bin").write_bytes(bytes(range(256)) * 40_000)
    for path in (root / "htdocs").iterdir():
        os.utime(path, (1_600_000_000, 1_600_000_000))
    running = ServerProcess(root, port)
    try:
        yield running
    finally:
        running.stop()
        shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def server() -> Iterator[ServerProcess]:
    """A server that was not started."""
    with unstarted_server() as found:
        yield found


@pytest.fixture
def second_server() -> Iterator[ServerProcess]:
    """Another one."""
    with unstarted_server() as found:
        yield found
