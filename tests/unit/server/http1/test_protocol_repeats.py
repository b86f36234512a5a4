"""Cached responses on connections.

Different heads in one tick get the bytes and log lines of an engine without cache.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from tests.performance.site import Loop, Wire
from tests.unit.engine.cache.test_index import ASKED, FIELDS, PATHS, QUERIES, engine
from tests.unit.engine.cache.test_index import root as root

from whimbrel.engine.engine import Engine
from whimbrel.server.http1.protocol import HttpProtocol
from whimbrel.server.worker.state import WorkerState
from whimbrel.testing.fake_runtime import FakeRuntime

NOW = 1_790_000_000.5
MODULES = ("whimbrel.server.worker.state", "whimbrel.server.http1.writer")
VARIED = ("Cookie: a=#", "X-Trace: #", "User-Agent: Mozilla/#", "Cookie: theme=dark; a=#", "Via: 1.1 #")
TURN = 12  # requests in one tick


class Gathering(Wire):
    """A transport that records everything written."""

    def write(self, data: bytes) -> None:
        self.out += bytes(data)


class Site:
    """A worker with one engine; `ask` sends bytes on a connection."""

    def __init__(self, root: Path) -> None:
        self.engine: Engine = engine(root)
        runtime = self.engine.runtime
        assert isinstance(runtime, FakeRuntime)
        self.runtime = runtime
        runtime.now = lambda: NOW  # type: ignore[method-assign]
        self.loop = Loop()
        self.service = WorkerState(self.engine, self.loop, report=self.fail)  # type: ignore[arg-type]

    def fail(self, problem: BaseException) -> None:
        raise problem

    def connect(self, port: int) -> tuple[HttpProtocol, Gathering]:
        wire = Gathering(port)
        wire._extra["sockname"] = ("127.0.0.1", 8080)
        connection = HttpProtocol(self.service)
        connection.connection_made(wire)
        return connection, wire

    def ask(self, at: tuple[HttpProtocol, Gathering], data: bytes) -> tuple[bytes, list[bytes]]:
        """Return the written bytes and the lines of the access log."""
        connection, wire = at
        self.runtime.logs.clear()
        wire.out = b""
        connection.data_received(data)
        return wire.out, [
            line for name, lines in self.runtime.logs.items() if name.endswith("access_log") for line in lines
        ]


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in MODULES:
        monkeypatch.setattr(f"{module}.time", lambda: NOW)


def fresh(site: Site, connection: HttpProtocol, data: bytes) -> tuple[bytes, list[bytes]]:
    """Return the response of an engine with an empty cache, after as many requests of the connection."""
    site.engine.response_cache.clear()
    at = site.connect(connection.connection.client_port)
    at[0].connection.served = connection.connection.served
    found = site.ask(at, data)
    at[0].connection_lost(None)
    site.loop.turn()
    return found


def heads(chance: random.Random) -> list[bytes]:
    """Return heads of one client: most of them differ in one value."""
    path, queried = chance.choice([*PATHS, *ASKED]), chance.random() < 0.4
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


@pytest.mark.parametrize("seed", range(6))
def test_heads_of_one_turn_get_what_a_fresh_engine_gives(root: Path, seed: int) -> None:
    chance, site, other = random.Random(seed), Site(root), Site(root)
    quick = 0
    for port in range(4000, 4030):
        at = site.connect(port)
        for data in heads(chance):
            if at[0]._state.name != "READY":
                break
            expected = fresh(other, at[0], data)
            assert site.ask(at, data) == expected, data
            quick += at[0]._pattern is not None
        if chance.random() < 0.5:
            site.loop.turn()
    assert quick > TURN // 2


@pytest.mark.parametrize("path", ["/a.txt", "/nope", "/a.txt?q=n#"])
@pytest.mark.parametrize("own", ["", "Cookie: a=#\r\n"])
@pytest.mark.parametrize("sized", [False, True])
def test_connections_of_one_turn_have_counts_of_their_own(
    root: Path, path: str, own: str, sized: bool
) -> None:
    """The Keep-Alive count is the connection's on every path, and so is the length of its head (%O)."""
    text = (root / "conf/httpd.conf").read_text()
    if sized:
        (root / "conf/httpd.conf").write_text(
            "LoadModule logio_module modules/mod_logio.so\n" + text.replace('LogFormat "', 'LogFormat "%O ')
        )
    site, other = Site(root), Site(root)
    (root / "conf/httpd.conf").write_text(text)
    clients = [site.connect(port) for port in range(4000, 4004)]
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
            assert site.ask(at, data.encode()) == expected, (number, served)
            assert b"Keep-Alive: timeout=5, max=%d\r\n" % (100 - served) in expected[0]
            if sized:
                assert expected[1][0].startswith(b"%d " % len(expected[0]))
