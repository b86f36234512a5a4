"""Large files to clients of all kinds: slow, many at a time, and those that leave or stop reading."""

from __future__ import annotations

import os
import socket
import struct
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.server.conftest import ServerProcess

CONTENT = bytes(range(256)) * 40_000
ASK = b"GET /big.bin HTTP/1.1\r\nHost: a\r\n\r\n"


def begin(server: ServerProcess, window: int = 0) -> socket.socket:
    """Return a connection on which the file was requested; *window* bytes wait for the client at most."""
    wire = socket.socket()
    if window:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, window)
    wire.settimeout(8)
    wire.connect(("127.0.0.1", server.port))
    wire.sendall(ASK)
    return wire


def answer(wire: socket.socket, length: int = len(CONTENT), pause: float = 0.0) -> bytes:
    """Read one response body of *length* bytes, waiting *pause* seconds before each read."""
    got = b""
    while b"\r\n\r\n" not in got:
        got += wire.recv(1)
    body = bytearray()
    while len(body) < length:
        time.sleep(pause)
        data = wire.recv(min(1 << 18, length - len(body)))
        assert data, f"ended after {len(body)} bytes"
        body += data
    return bytes(body)


def access_log(server: ServerProcess) -> list[str]:
    return (server.root / "logs/access_log").read_text().splitlines()


def received(wire: socket.socket, count: int) -> int:
    """Return the number of bytes received, once it is *count*."""
    size = 0
    while size < count and (data := wire.recv(1000)):
        size += len(data)
    return size


def open_by_workers(server: ServerProcess) -> list[str]:
    """Return the files below the document root that a worker holds open."""
    links = []
    for worker in server.workers():
        for one in Path(f"/proc/{worker}/fd").iterdir():
            try:
                links.append(os.readlink(one))
            except FileNotFoundError:
                continue
    return [link for link in links if link.startswith(str(server.root / "htdocs"))]


def test_twenty_at_a_time_arrive_completely(server: ServerProcess) -> None:
    server.start()

    def download(_: int) -> bytes:
        with begin(server) as wire:
            return answer(wire)

    with ThreadPoolExecutor(20) as threads:
        assert all(body == CONTENT for body in threads.map(download, range(20)))
    server.wait_for(lambda: len(access_log(server)) == 20)
    assert set(access_log(server)) == {f"127.0.0.1 GET /big.bin HTTP/1.1 200 {len(CONTENT)}"}
    server.wait_for(lambda: not open_by_workers(server))


def test_slow_clients_get_all_of_it_and_delay_no_other(server: ServerProcess) -> None:
    server.start()
    slow = [begin(server, window=1 << 16) for _ in range(20)]
    begun = time.monotonic()
    assert server.get().endswith(b"hello\n")
    with begin(server) as wire:
        assert answer(wire) == CONTENT
    assert time.monotonic() - begun < 20
    assert answer(slow[0], pause=0.01) == CONTENT
    for wire in slow:
        wire.close()


def test_the_connection_goes_on_after_it(server: ServerProcess) -> None:
    server.start()
    with begin(server) as wire:
        wire.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        assert answer(wire) == CONTENT
        assert answer(wire, 6) == b"hello\n"
        wire.sendall(ASK)
        assert answer(wire) == CONTENT


def test_a_client_that_leaves_in_the_middle(server: ServerProcess) -> None:
    """%b is the size of the response whether it arrives or not, %O the bytes sent (mod/mod_log_config.html).

    The second response is a cached one.
    """
    more = 'LogFormat "%b %O" sizes\nCustomLog logs/sizes sizes\n'
    (server.root / "conf/extra.conf").write_text(more)
    server.start()
    end, sizes = time.monotonic() + 30, server.root / "logs/sizes"
    for asked in range(2):
        wire = begin(server, window=1 << 16)
        assert received(wire, 1000) >= 1000
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        wire.close()
        while min(len(access_log(server)), len(sizes.read_text().splitlines())) <= asked:
            assert time.monotonic() < end, server.errors()
            time.sleep(0.02)
    assert set(access_log(server)) == {f"127.0.0.1 GET /big.bin HTTP/1.1 200 {len(CONTENT)}"}
    for line in sizes.read_text().splitlines():
        size, out = map(int, line.split())
        assert size == len(CONTENT)
        assert 1000 <= out < size
    server.wait_for(lambda: not open_by_workers(server))
    assert "Traceback" not in server.errors()
    assert server.get().endswith(b"hello\n")


def test_a_client_that_stops_reading_has_timeout_seconds(server: ServerProcess) -> None:
    (server.root / "conf/extra.conf").write_text("TimeOut 1\n")
    server.start()
    with begin(server, window=1 << 16) as wire:
        begun = time.monotonic()
        assert received(wire, 1000) >= 1000
        server.wait_for(lambda: access_log(server))
        assert 0.9 < time.monotonic() - begun < 20
        server.wait_for(lambda: not open_by_workers(server))


# files of medium size: cached responses, sent from an open descriptor ----------------------------
MIDDLE = 100 * 1024


def lay(server: ServerProcess, name: str, content: bytes, seconds: int) -> None:
    """Replace a file atomically."""
    (server.root / "htdocs/part").write_bytes(content)
    os.utime(server.root / "htdocs/part", (1_600_000_000 + seconds,) * 2)
    os.replace(server.root / "htdocs/part", server.root / "htdocs" / name)


def ask_middle(wire: socket.socket, length: int) -> bytes:
    wire.sendall(ASK.replace(b"big", b"mid"))
    return answer(wire, length)


def test_each_answer_is_what_the_file_is_by_then(server: ServerProcess) -> None:
    lay(server, "mid.bin", b"a" * MIDDLE, 0)
    server.start()
    path = server.root / "htdocs/mid.bin"
    with server.connect() as wire:
        for _ in range(5):
            assert ask_middle(wire, MIDDLE) == b"a" * MIDDLE
        assert len(open_by_workers(server)) <= 1
        lay(server, "mid.bin", b"b" * MIDDLE, 5)  # another file
        for _ in range(5):
            assert ask_middle(wire, MIDDLE) == b"b" * MIDDLE
        path.write_bytes(b"c" * (MIDDLE - 1000))  # the same file, shorter
        for _ in range(3):
            assert ask_middle(wire, MIDDLE - 1000) == b"c" * (MIDDLE - 1000)
        os.utime(path, (1_600_000_009,) * 2)
        for _ in range(5):
            assert ask_middle(wire, MIDDLE - 1000) == b"c" * (MIDDLE - 1000)
        path.unlink()
        wire.sendall(ASK.replace(b"big", b"mid"))
        assert wire.recv(12) == b"HTTP/1.1 404"
    server.wait_for(lambda: not open_by_workers(server), 10)


def test_pipelined_answers_of_bytes_and_of_files_keep_their_order(server: ServerProcess) -> None:
    lay(server, "mid.bin", CONTENT[:MIDDLE], 0)
    server.start()
    small = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    middle = ASK.replace(b"big", b"mid")
    with server.connect() as wire:
        for _ in range(10):
            wire.sendall(small + middle + middle + small + ASK + small + middle)
            for length in (6, MIDDLE, MIDDLE, 6, len(CONTENT), 6, MIDDLE):
                assert answer(wire, length) == (b"hello\n" if length == 6 else CONTENT[:length])
    server.wait_for(lambda: len(access_log(server)) == 70)


def test_a_slow_client_gets_the_rest_of_a_cached_file(server: ServerProcess) -> None:
    lay(server, "mid.bin", CONTENT[: 5 * MIDDLE], 0)
    server.start()
    ask = ASK.replace(b"big", b"mid")
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    wire.settimeout(20)
    wire.connect(("127.0.0.1", server.port))
    for _ in range(2):
        wire.sendall(ask * 12)  # more than both socket buffers hold
        time.sleep(0.1)
        for _ in range(12):
            assert answer(wire, 5 * MIDDLE) == CONTENT[: 5 * MIDDLE]
    wire.close()
    server.wait_for(lambda: len(access_log(server)) == 24)
    assert all(f" 200 {5 * MIDDLE}" in line for line in access_log(server))
    server.wait_for(lambda: not open_by_workers(server), 10)
