"""Connections as clients see them, over real sockets."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from tests.server.conftest import Running, everything


def test_keep_alive_until_the_client_says_close(server: Running) -> None:
    server.start()
    got = server.ask(
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 3 + b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    )
    assert got.count(b"HTTP/1.1 200 OK") == 4
    assert got.count(b"Connection: close") == 1


def test_head_has_the_length_and_no_body(server: Running) -> None:
    server.start()
    got = server.ask(b"HEAD / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
    assert b"\r\nContent-Length: 6\r\n" in got
    assert got.endswith(b"\r\n\r\n")


def test_a_large_file_arrives_whole_between_small_ones(server: Running) -> None:
    server.start()
    want = bytes(range(256)) * 40_000
    got = server.ask(
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET /big.bin HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: "
        b"a\r\nConnection: close\r\n\r\n"
    )
    assert got.count(b"hello\n") == 2
    assert want in got


def test_large_files_and_small_ones_that_are_kept_leave_in_order(server: Running) -> None:
    """Repeated and simultaneous requests: first uncached, then cached."""
    server.start()
    large, small = (server.root / "htdocs/big.bin").stat(), (server.root / "htdocs/index.html").stat()
    for name in ("big.bin", "index.html"):
        os.utime(server.root / "htdocs" / name, (1_600_000_000, 1_600_000_000))
    names = (b"big.bin", b"", b"index.html", b"big.bin", b"index.html", b"big.bin")
    asked = b"".join(b"GET /%b HTTP/1.1\r\nHost: a\r\n\r\n" % name for name in names)
    for _ in range(4):
        got = server.ask(asked + b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        sizes = [int(size) for size in re.findall(rb"Content-Length: (\d+)\r\n", got)]
        assert sizes == [
            large.st_size,
            small.st_size,
            small.st_size,
            large.st_size,
            small.st_size,
            large.st_size,
            small.st_size,
        ]
        heads = sum(len(head) for head in re.findall(rb"HTTP/1.1 200 OK\r\n.*?\r\n\r\n", got, re.DOTALL))
        assert len(got) == heads + sum(sizes)


def test_max_keep_alive_requests(server: Running) -> None:
    (server.root / "conf/extra.conf").write_text("MaxKeepAliveRequests 3\n")
    server.start()
    for _ in range(3):
        got = server.ask(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n" * 5)
        assert re.findall(rb"max=[0-9]+|Connection: close", got) == [
            b"max=3",
            b"max=2",
            b"max=1",
            b"Connection: close",
        ]


def test_a_connection_stays_after_a_body_that_was_asked_for(server: Running) -> None:
    """As recorded from 2.4.71: 100 Continue when the handler reads, then a response without Connection:
    close.
    """
    server.start()
    with server.connect() as wire:
        wire.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        assert wire.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        wire.sendall(b"abcGET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        got = everything(wire)
    assert got.startswith(b"HTTP/1.1 200 OK")
    assert b"HTTP/1.1 404 " in got


def test_idle_connections_are_closed_without_a_word(server: Running) -> None:
    (server.root / "conf/extra.conf").write_text("KeepAliveTimeout 1\nTimeout 1\n")
    server.start()
    begun = time.monotonic()
    assert server.ask(b"") == b""
    assert server.ask(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").endswith(b"hello\n")
    assert time.monotonic() - begun < 5


def test_the_change_of_a_file_is_seen_by_the_next_request(server: Running) -> None:
    server.start()
    for number in range(20):
        (server.root / "htdocs/index.html").write_text(f"{number}\n" * (1 + number % 2))
        assert server.get().endswith(b"\r\n\r\n" + f"{number}\n".encode() * (1 + number % 2))


def test_the_error_page_reaches_a_client_that_sends_too_much(server: Running) -> None:
    """Lingering close: further data from the client does not destroy the response."""
    server.start()
    with server.connect() as wire:
        wire.sendall(b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n")
        wire.sendall(b"X: y\r\n" * 20_000)
        got = everything(wire)
    assert got.startswith(b"HTTP/1.1 414 ")


def test_every_request_has_one_whole_line_in_the_log(server: Running) -> None:
    server.start()
    for number in range(50):
        server.get(f"/none{number}?" + "q" * number * 50)
    server.stop()
    lines = (server.root / "logs/access_log").read_text().splitlines()
    assert sorted(lines) == sorted(
        f"127.0.0.1 GET /none{n}?{'q' * n * 50} HTTP/1.1 404 236" for n in range(50)
    )


def test_a_worker_is_small(server: Running) -> None:
    """Proportional set size under 45 MB after some work."""
    server.start()
    for _ in range(20):
        server.get()
        server.get("/big.bin")
    for pid in server.workers():
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
        found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
        assert found is not None
        assert int(found[1]) < 45 * 1024
