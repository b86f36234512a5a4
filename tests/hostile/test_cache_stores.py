"""Stores of mod_cache behind two real workers: full disks, lost clients, servers that restart or hang."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.hostile.server import WHIMBREL, HostileSite, Program, ServerProcess
from tests.support.cache_server import PROGRAMS, CacheServer

MODULES = "proxy proxy_http cache cache_disk cache_socache socache_memcache socache_redis".split()
CONF = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n" for name in MODULES) + (
    "CacheHeader On\nCacheMaxFileSize 10000000\nCacheEnable {kind} /p/\n"
    "ProxyPass /p/ http://127.0.0.1:{port}/\n{conf}\n"
)
BODY = b"0123456789abcdef" * 65536


class Origin(ThreadingHTTPServer):
    """An origin server that counts its requests.

    Attributes:
        delay: seconds before each response.
    """

    daemon_threads = True
    request_queue_size = 128
    delay = 0.0
    lifetime = 60
    body = b"short"

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.count = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_: object) -> None:
        """Write no message about a connection that the proxy closes."""


class Answering(BaseHTTPRequestHandler):
    """Each response is fresh for the origin's lifetime."""

    protocol_version = "HTTP/1.1"
    server: Origin

    def do_GET(self) -> None:
        self.server.count += 1
        time.sleep(self.server.delay)
        self.send_response(200)
        self.send_header("Cache-Control", f"max-age={self.server.lifetime}")
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        self.wfile.write(self.server.body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def origin() -> Iterator[Origin]:
    found = Origin()
    yield found
    found.shutdown()
    found.server_close()


def ask(server: ServerProcess, path: str, timeout: float = 20) -> tuple[int, str, bytes]:
    """Return status, the first word of X-Cache and the body."""
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)
    try:
        client.request("GET", path, headers={"Host": "localhost"})
        reply = client.getresponse()
        return reply.status, reply.getheader("X-Cache", "none").split()[0], reply.read()
    finally:
        client.close()


def wait_for_hit(server: ServerProcess, path: str) -> None:
    """Ask until a stored response answers: storing may end after the response."""
    end = time.monotonic() + 10
    while ask(server, path)[1] != "HIT":
        assert time.monotonic() < end
        time.sleep(0.02)


@contextmanager
def served(
    origin: Origin, conf: str, kind: str = "disk", program: Program = WHIMBREL
) -> Iterator[ServerProcess]:
    """Serve the origin below /p/ through a cache, with two workers."""
    text = CONF.format(port=origin.server_address[1], kind=kind, conf=conf)
    with ServerProcess(program, HostileSite(text, processes=2)) as server:
        yield server


@pytest.fixture
def cache(open_path: Path) -> Path:
    """A directory that the server's user may write."""
    found = open_path / "cache"
    found.mkdir()
    found.chmod(0o777)
    return found


@pytest.mark.skipif(not shutil.which("prlimit"), reason="prlimit of util-linux is not installed")
def test_a_disk_that_is_full_in_the_middle_of_a_body(origin: Origin, cache: Path) -> None:
    origin.body = BODY
    limited = Program("limited", ("prlimit", "--fsize=300000", *WHIMBREL.argv))
    with served(origin, f"CacheRoot {cache}", program=limited) as server:
        assert [ask(server, "/p/a") for _ in range(3)] == [(200, "MISS", BODY)] * 3
        assert "AH00731" in server.output
    assert not [path for path in cache.rglob("*") if path.is_file()]


def test_a_root_that_is_not_writable(origin: Origin, cache: Path) -> None:
    if os.getuid() == 0:
        cache.chmod(0o555)  # the workers are of another user
    else:
        cache.rmdir()
        cache.write_text("a file")
    with served(origin, f"CacheRoot {cache}") as server:
        assert [ask(server, "/p/a") for _ in range(2)] == [(200, "MISS", b"short")] * 2


def locked(cache: Path) -> str:
    """Return the lines of a cache with locks."""
    return f"CacheRoot {cache}\nCacheLock On\nCacheLockPath {cache}/locks\nCacheLockMaxAge 3"


def test_100_clients_of_one_stale_url(origin: Origin, cache: Path) -> None:
    origin.lifetime = 1
    with served(origin, locked(cache)) as server:
        assert ask(server, "/p/a")[1] == "MISS"
        time.sleep(2)
        origin.count, origin.delay = 0, 1.0
        with ThreadPoolExecutor(100) as pool:
            found = list(pool.map(lambda _: ask(server, "/p/a"), range(100)))
        assert {(status, body) for status, _, body in found} == {(200, b"short")}
        assert origin.count == 1


@pytest.mark.parametrize("is_killed", [False, True], ids=["the client leaves", "the worker is killed"])
def test_a_lock_whose_holder_ends(origin: Origin, cache: Path, is_killed: bool) -> None:
    origin.lifetime = 1
    with served(origin, locked(cache)) as server:
        ask(server, "/p/a")
        time.sleep(2)
        origin.delay = 1.0
        with server.connect() as client:
            client.sendall(b"GET /p/a HTTP/1.1\r\nHost: localhost\r\n\r\n")
            time.sleep(0.3)
            if is_killed:
                for pid in server.workers():
                    os.kill(pid, signal.SIGKILL)
        origin.delay = 0.0
        end = time.monotonic() + 10
        states = []
        while time.monotonic() < end and "MISS" not in states:
            status, state, body = ask(server, "/p/a")
            assert (status, body) == (200, b"short")
            states.append(state)
            time.sleep(0.1)
        assert "MISS" in states  # somebody stores again
        wait_for_hit(server, "/p/a")


@pytest.fixture(params=sorted(PROGRAMS))
def cache_server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[CacheServer]:
    found = CacheServer(request.param, tmp_path)
    found.start()
    yield found
    found.stop()


def test_workers_share_entries_that_a_restart_loses(origin: Origin, cache_server: CacheServer) -> None:
    conf = f"CacheSocache {cache_server.kind}:127.0.0.1:{cache_server.port}"
    with served(origin, conf, "socache") as server:
        assert ask(server, "/p/a") == (200, "MISS", b"short")
        wait_for_hit(server, "/p/a")
        count = origin.count
        for pid in server.workers():  # those that come have read nothing
            os.kill(pid, signal.SIGKILL)
        time.sleep(1)
        assert [ask(server, "/p/a")[1] for _ in range(20)] == ["HIT"] * 20
        assert origin.count == count
        cache_server.signal(signal.SIGTERM)
        assert ask(server, "/p/a") == (200, "MISS", b"short")
        cache_server.start()
        assert ask(server, "/p/a")[1] == "MISS"
        wait_for_hit(server, "/p/a")


def test_a_server_that_hangs_delays_no_other_client(origin: Origin, cache_server: CacheServer) -> None:
    conf = f"CacheSocache {cache_server.kind}:127.0.0.1:{cache_server.port}"
    with served(origin, conf, "socache") as server, ThreadPoolExecutor(30) as pool:
        ask(server, "/p/a")
        cache_server.signal(signal.SIGSTOP)
        waiting = [pool.submit(ask, server, f"/p/{number % 3}") for number in range(30)]
        longest = 0.0
        for _ in range(40):
            begin = time.monotonic()
            assert ask(server, "/a.txt")[0] == 200
            longest = max(longest, time.monotonic() - begin)
        assert longest < 1
        assert {future.result()[::2] for future in waiting} == {(200, b"short")}
        cache_server.signal(signal.SIGCONT)
        wait_for_hit(server, "/p/a")
