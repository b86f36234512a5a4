"""Back ends that fail: statuses as of apache2, nothing left open, no answer to another client."""

from __future__ import annotations

import contextlib
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.conftest import ServerProcess, everything, reset, unstarted_server, within
from tests.support.faulty_backend import FaultyBackend

from whimbrel.testing.ports import free_port

CONF = """\
LoadModule proxy_module m/mod_proxy.so
LoadModule proxy_http_module m/mod_proxy_http.so
StartServers 1
ServerLimit 1
ProxyPass /hang http://127.0.0.1:{port}/hang timeout=1
ProxyPass /stall http://127.0.0.1:{port}/stall timeout=1
ProxyPass /patient/ http://127.0.0.1:{port}/patient/
ProxyPass /dead/ http://127.0.0.1:{dead}/
ProxyPass / http://127.0.0.1:{port}/
"""
BEGUN, PAGE_502 = (200, b"begin"), (502, b"<!DOCTYPE")
# What apache2 2.4.71 answered: status, and how the body begins.
ANSWERS = {
    "close": PAGE_502,
    "reset": PAGE_502,
    "hang": PAGE_502,
    "stall": BEGUN,
    "part-of-head": PAGE_502,
    "reset-in-head": PAGE_502,
    "reset-in-body": BEGUN,
    "short": BEGUN,
    "long": (200, b"ok"),
    "garbage": PAGE_502,
    "binary": (200, b"64\r\n\xff\xff"),
    "empty-lines": PAGE_502,
    "version": PAGE_502,
    "field": PAGE_502,
    "long-field": PAGE_502,
    "bad-chunk": PAGE_502,
    "no-last-chunk": (200, b"3\r\nabc\r\n"),
    "bad-length": PAGE_502,
    "negative-length": PAGE_502,
    "two-lengths": (200, b"ok"),
    "switches": PAGE_502,
    "bad-name": (500, b"<!DOCTYPE"),
    "control": (500, b"<!DOCTYPE"),
    "nul": PAGE_502,
    "cr": (500, b"<!DOCTYPE"),
    "bad-connection": (200, b"ok"),
    "too-large": (413, b"no"),
    "dead/x": (503, b"<!DOCTYPE"),
}


@pytest.fixture
def backend() -> Iterator[FaultyBackend]:
    with FaultyBackend() as running:
        yield running


@pytest.fixture
def site(server: ServerProcess, backend: FaultyBackend) -> ServerProcess:
    return started(server, backend)


@pytest.fixture(scope="module")
def shared() -> Iterator[ServerProcess]:
    """A site for tests that read one response: no fault spoils the next one."""
    with FaultyBackend() as backend, unstarted_server() as server:
        yield started(server, backend)


def started(server: ServerProcess, backend: FaultyBackend) -> ServerProcess:
    """Start a server in front of *backend*; return it after its first response."""
    conf = CONF.format(dead=free_port(), port=backend.port)
    (server.root / "conf/extra.conf").write_text(conf)
    server.start()
    server.get("/ok")
    return server


def parts(data: bytes) -> tuple[int, bytes]:
    """Return status and body of a response."""
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


def sockets(site: ServerProcess) -> int:
    """Return the number of open sockets of the workers."""
    links = []
    for pid in site.workers():
        for path in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):  # closed in the meantime
                links.append(os.readlink(path))
    return sum(link.startswith("socket:") for link in links)


def post(path: str, length: int) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n".encode()


@pytest.mark.parametrize("name", ANSWERS)
def test_a_fault_is_answered_as_apache_does(shared: ServerProcess, name: str) -> None:
    status, beginning = ANSWERS[name]
    found, body = parts(shared.get(f"/{name}"))
    assert found == status
    assert body.startswith(beginning)
    assert b"forged" not in body


def test_interim_answers_are_passed_on_up_to_a_bound(shared: ServerProcess) -> None:
    data = shared.get("/interim-flood")
    assert data.count(b"HTTP/1.1 102") == 9
    assert b"Too many (10) interim responses from origin server" in data


@pytest.mark.parametrize("name", ["hang", "stall", "endless"])
def test_the_connection_ends_with_its_client(site: ServerProcess, backend: FaultyBackend, name: str) -> None:
    before = backend.open
    wire = site.connect()
    wire.sendall(f"GET /patient/{name} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    assert within(lambda: len(backend.requests) > 1)
    assert backend.open > before
    if name != "hang":
        wire.recv(1000)
    reset(wire)  # one that only ends its side may wait for the response
    assert within(lambda: backend.open <= before)


def test_an_answer_before_the_end_of_the_body_stops_the_body(site: ServerProcess) -> None:
    with site.connect() as wire:
        wire.sendall(post("/too-large", 1 << 30) + b"x" * 100_000)
        assert parts(everything(wire))[0] == 413


def test_a_client_that_sends_half_a_body_is_not_answered_by_half_a_request(
    site: ServerProcess, backend: FaultyBackend
) -> None:
    before = backend.open
    with site.connect() as wire:
        wire.sendall(post("/ok", 100_000) + b"x" * 50_000)
        assert within(lambda: len(backend.requests) > 1)
    assert within(lambda: backend.open <= before)


def test_a_post_is_never_sent_twice_and_a_get_once_more(site: ServerProcess, backend: FaultyBackend) -> None:
    site.get("/ok")
    site.ask(post("/close", 0).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    assert sum(line.startswith("POST") for line in backend.requests) == 1
    site.get("/ok")
    assert parts(site.get("/close"))[0] == 502
    assert sum(line.startswith("GET /close") for line in backend.requests) == 2


def test_faults_leave_nothing_open_and_no_answer_reaches_another_client(
    site: ServerProcess, backend: FaultyBackend
) -> None:
    wrong: list[bytes] = []
    faults = [name for name in ANSWERS if name not in ("hang", "stall")]
    before = sockets(site)

    def client(number: int) -> None:
        chance = random.Random(number)
        for count in range(40):
            if chance.random() < 0.3:
                site.get(f"/{chance.choice(faults)}")
                continue
            text = f"client-{number}-{count}".encode()
            data = site.get(f"/ok?{text.decode()}")
            if parts(data) != (200, text):
                wrong.append(data)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert within(lambda: sockets(site) <= before + backend.open)
    assert backend.open <= 8  # idle connections in the pool
