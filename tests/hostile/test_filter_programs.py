"""Filter programs that flood, hang or end early: bounded memory, and no process is left."""

from __future__ import annotations

import os
import re
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess

MAX_GROWTH = 16.0  # MB that a worker may grow
SIZE = 128 << 20  # bytes of the filtered file
CONF = """
LoadModule ext_filter_module /usr/lib/apache2/modules/mod_ext_filter.so
TimeOut 2
LogLevel error
ExtFilterDefine cat cmd="/bin/cat"
ExtFilterDefine flood cmd="/usr/bin/yes"
ExtFilterDefine deaf cmd="/bin/sleep 60"
ExtFilterDefine loud cmd="/bin/sh -c 'yes >&2 & sleep 0.3; kill $!; cat'"
<Directory "%ROOT%/htdocs/cat">
    SetOutputFilter cat
</Directory>
<Directory "%ROOT%/htdocs/flood">
    SetOutputFilter flood
</Directory>
<Directory "%ROOT%/htdocs/deaf">
    SetOutputFilter deaf
</Directory>
<Directory "%ROOT%/htdocs/loud">
    SetOutputFilter loud
</Directory>
"""
NAMES = ("cat", "flood", "deaf", "loud")


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """A server with a small and a large file for each program."""
    documents = {f"{name}/a.txt": b"small words\n" for name in NAMES}
    with ServerProcess(WHIMBREL, HostileSite(CONF, documents)) as running:
        for name in NAMES:
            path = running.write(f"{name}/big.txt", b"")
            os.truncate(path, SIZE)
        running.get("/cat/a.txt")
        yield running


def children(server: ServerProcess) -> list[str]:
    """The processes of all workers, zombies among them."""
    return [
        child
        for worker in server.workers()
        for child in Path(f"/proc/{worker}/task/{worker}/children").read_text().split()
    ]


def are_gone(server: ServerProcess, seconds: float = 6.0) -> bool:
    """Return True if the workers have no process after at most *seconds*."""
    end = time.monotonic() + seconds
    while children(server) and time.monotonic() < end:
        time.sleep(0.05)
    return not children(server)


def request(server: ServerProcess, target: str, buffer: int = 1 << 20) -> socket.socket:
    """Send a GET; *buffer*: bytes that the client's system receives ahead."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    wire.settimeout(20)
    wire.connect(("127.0.0.1", server.port))
    wire.sendall(f"GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    return wire


def test_a_large_file_needs_little_memory(server: ServerProcess) -> None:
    server.reset_peak()
    before, count, last = server.peak_memory(), 0, b""
    with request(server, "/cat/big.txt") as wire:
        while data := wire.recv(1 << 20):
            count, last = count + len(data), data
    assert last.endswith(b"0\r\n\r\n")
    assert count > SIZE
    assert server.peak_memory() - before < MAX_GROWTH
    assert are_gone(server)


def test_a_slow_client_suspends_the_program(server: ServerProcess) -> None:
    server.reset_peak()
    before = server.peak_memory()
    with request(server, "/flood/a.txt", 4096) as wire:
        wire.recv(100)
        time.sleep(1)
        assert len(children(server)) == 1
        used = cpu_ticks(children(server)[0])
        time.sleep(0.5)
        assert cpu_ticks(children(server)[0]) == used
        assert server.peak_memory() - before < MAX_GROWTH
    assert are_gone(server)


def cpu_ticks(pid: str) -> int:
    """The processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_a_flood_ends_with_its_client(server: ServerProcess) -> None:
    server.reset_peak()
    before, count = server.peak_memory(), 0
    with request(server, "/flood/a.txt") as wire:
        while count < 8 << 20:
            count += len(wire.recv(1 << 20))
    assert are_gone(server)
    assert server.peak_memory() - before < MAX_GROWTH
    assert re.match(rb"HTTP/1.1 200 ", server.exchange(b"HEAD /flood/a.txt HTTP/1.0\r\n\r\n"))
    assert are_gone(server)


def test_a_program_that_neither_reads_nor_writes(server: ServerProcess) -> None:
    began = time.monotonic()
    assert server.get("/deaf/big.txt").startswith(b"HTTP/1.1 500 ")
    assert time.monotonic() - began < 6
    assert are_gone(server)


def test_floods_of_standard_error_are_discarded(server: ServerProcess) -> None:
    assert server.get("/loud/a.txt").endswith(b"\r\n\r\nsmall words\n")
    assert len(server.output) < 10_000
    assert are_gone(server)


def test_two_hundred_requests_leave_no_process(server: ServerProcess) -> None:
    for _ in range(200):
        assert server.get("/cat/a.txt").endswith(b"\r\n\r\nsmall words\n")
    assert are_gone(server)
    for worker in server.workers():
        assert len(os.listdir(f"/proc/{worker}/fd")) < 60
