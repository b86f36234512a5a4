"""Cached responses on connections: bytes and log lines equal those of an engine without a cache."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.cache_site import FIELDS, PATHS, QUERIES, URLS, write_cache_site
from tests.support.engine import start_engine
from tests.support.fakes import FakeTransport
from tests.support.samples import amount
from tests.support.worker import WorkerHarness

from whimbrel.config.model import LogSink
from whimbrel.server.http1.connection import Http1Connection

NOW = 1_790_000_000.5
MODULES = ("whimbrel.server.worker.state", "whimbrel.server.worker.accounting")
VARIED = ("Cookie: a=#", "X-Trace: #", "User-Agent: Mozilla/#", "Cookie: theme=dark; a=#", "Via: 1.1 #")
TURN = 12  # requests in one turn of the loop


class CachingWorker(WorkerHarness):
    """A worker of an engine on the cache site, at one moment."""

    def __init__(self, root: Path) -> None:
        super().__init__(start_engine(root))
        self.engine.runtime.now = lambda: NOW  # type: ignore[method-assign]

    def accept(self, port: int) -> tuple[Http1Connection, FakeTransport]:
        """Return a connection from *port*."""
        return self.connect(("192.0.2.7", port), ("127.0.0.1", 8080))

    def respond(
        self, connection: tuple[Http1Connection, FakeTransport], data: bytes
    ) -> tuple[bytes, list[bytes]]:
        """Return the written bytes and the lines of the access log."""
        out, logs = self.exchange(connection, data)
        return out, [line for name, lines in logs.items() if name.endswith("access_log") for line in lines]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_cache_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES:
        monkeypatch.setattr(f"{module}.time", lambda: NOW)


def fresh(site: CachingWorker, connection: Http1Connection, data: bytes) -> tuple[bytes, list[bytes]]:
    """Return the response of an engine without a cache after as many requests of the connection."""
    site.engine.response_cache.clear()
    at = site.accept(connection.connection.client_port)
    at[0].connection.served = connection.connection.served
    found = site.respond(at, data)
    at[0].connection_lost(None)
    site.loop.tick()
    return found


def heads(chance: random.Random) -> list[bytes]:
    """Heads of one client: most of them differ in one value."""
    path, queried = chance.choice([*PATHS, *URLS]), chance.random() < 0.4
    common = [field for field in chance.sample(FIELDS, chance.randrange(4)) if field]
    out = []
    for number in range(TURN):
        own = [chance.choice(VARIED).replace("#", str(number))]
        other = chance.choice(FIELDS) if chance.random() < 0.2 else ""
        where = chance.choice(PATHS) if chance.random() < 0.1 else path + (f"?q={number}" if queried else "")
        where += chance.choice(QUERIES[:-3]) if chance.random() < 0.1 else ""
        lines = "".join(f"{line}\r\n" for line in (*common, *own, other) if line)
        out.append(f"GET {where} HTTP/1.1\r\nHost: localhost\r\n{lines}\r\n".encode("latin-1"))
    if chance.random() < 0.3:
        at = chance.randrange(TURN)
        out[at] += out[at - 1]
    return out


@pytest.mark.parametrize("seed", range(amount(2, 6)))
def test_heads_of_one_turn_get_what_a_fresh_engine_gives(root: Path, seed: int) -> None:
    chance, site, other = random.Random(seed), CachingWorker(root), CachingWorker(root)
    quick = 0
    for port in range(4000, 4030):
        at = site.accept(port)
        for data in heads(chance):
            if at[0].state.name != "READY":
                break
            expected = fresh(other, at[0], data)
            assert site.respond(at, data) == expected, data
            quick += at[0].connection.shape != 0
        if chance.random() < 0.5:
            site.loop.tick()
    assert quick > TURN // 2


@pytest.mark.parametrize("path", ["/a.txt", "/nope", "/a.txt?q=n#"])
@pytest.mark.parametrize("own", ["", "Cookie: a=#\r\n"])
@pytest.mark.parametrize("sized", [False, True])
def test_connections_of_one_turn_have_counts_of_their_own(
    root: Path, path: str, own: str, sized: bool
) -> None:
    """The count in Keep-Alive and the logged length (%O) are the connection's on every path of a response."""
    text = (root / "conf/httpd.conf").read_text()
    if sized:
        (root / "conf/httpd.conf").write_text(
            "LoadModule logio_module modules/mod_logio.so\n" + text.replace('LogFormat "', 'LogFormat "%O ')
        )
    site, other = CachingWorker(root), CachingWorker(root)
    (root / "conf/httpd.conf").write_text(text)
    clients = [site.accept(port) for port in range(4000, 4004)]
    for number, (connection, _wire) in enumerate(clients):
        connection.connection.served = (1, 31, 86, 90)[number]
    for number in range(8):
        for at in clients:
            lines = (
                (path.replace("#", ""), own)
                if number < 4
                else (path.replace("#", str(number)), own.replace("#", str(number)))
            )
            data = "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n%s\r\n" % lines
            served = at[0].connection.served
            expected = fresh(other, at[0], data.encode())
            assert site.respond(at, data.encode()) == expected, (number, served)
            assert b"Keep-Alive: timeout=5, max=%d\r\n" % (100 - served) in expected[0]
            if sized:
                assert expected[1][0].startswith(b"%d " % len(expected[0]))


@pytest.mark.parametrize("path", ["/a.txt", "/nope"])
def test_a_logged_keep_alive_field_is_that_of_the_response(tmp_path: Path, path: str) -> None:
    root = write_cache_site(tmp_path)
    text = (root / "conf/httpd.conf").read_text()
    (root / "conf/httpd.conf").write_text(text.replace('LogFormat "', 'LogFormat "%{Keep-Alive}o '))
    site = CachingWorker(root)
    at = site.accept(4000)
    for left in (100, 99, 98, 97):
        data = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"
        assert site.respond(at, data.encode())[1][0].startswith(b"timeout=5, max=%d " % left)


def test_a_logged_size_follows_count_and_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_cache_site(tmp_path)
    text = (root / "conf/httpd.conf").read_text().replace('LogFormat "', 'LogFormat "%O ')
    more = "LoadModule logio_module m/mod_logio.so\nLoadModule expires_module m/mod_expires.so\n"
    more += "ExpiresActive on\nExpiresDefault A60\nMaxKeepAliveRequests 12\n"
    (root / "conf/httpd.conf").write_text(more + text)
    site = CachingWorker(root)
    at = site.accept(4000)
    at[0].connection.served = 4
    for number in range(4):
        for module in MODULES:
            monkeypatch.setattr(f"{module}.time", lambda now=NOW + number: now)
        out, lines = site.respond(
            at, b"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n"
        )
        assert lines[0].startswith(b"%d " % len(out))
        site.loop.tick()


def test_a_log_is_appended_to_only_after_it_was_written_in_the_same_tick(root: Path) -> None:
    """The first line of a tick makes the log flush at its end (Runtime.log_appender)."""
    site, written = CachingWorker(root), set[int]()
    runtime, at = site.engine.runtime, site.accept(4000)
    write = runtime.write_log

    def write_log(sink: LogSink, line: bytes) -> None:
        written.add(id(sink))
        write(sink, line)

    def log_appender(sink: LogSink) -> Callable[[bytes], None]:
        def append(line: bytes) -> None:
            assert id(sink) in written
            write(sink, line)

        return append

    runtime.write_log, runtime.log_appender = write_log, log_appender  # type: ignore[method-assign]
    for number in range(24):
        head = f"GET /a.txt HTTP/1.1\r\nHost: localhost\r\nCookie: a={number // 4}\r\n\r\n".encode()
        assert site.respond(at, head)[1]
        if number % 3 == 2:
            site.loop.tick()
            written.clear()
