"""HTTP/1 requests in pieces: responses and log lines are those to the whole, cold or warm, alone or
pipelined.

A worker's state runs in this process, on connections without sockets, so that a hundred thousand cuts take
minutes. `wire-cuts` repeats some of them over sockets.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.conformance.cases import families
from tests.conformance.cases import load as load_cases
from tests.differential.raw_requests import FRAMING, HEADS, LINES
from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.mutations import ALPHABET, SEEDS
from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess
from tests.support.fakes import FakeTransport
from tests.support.mutation import mutate
from whimbrel.base.dialect import V24
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.modules import ALL
from whimbrel.server.http1.connection import Http1Connection
from whimbrel.server.worker.state import WorkerState
from whimbrel.testing.fake_runtime import FakeRuntime

NOW = 1_790_000_000.5
MTIME = 1_600_000_000
MODULES = (
    "mpm_event authn_core authz_core authz_host alias mime dir env setenvif headers negotiation rewrite "
    "log_config".split()
)
CONF = """
ServerName localhost
Listen 127.0.0.1:8080
DocumentRoot "@/htdocs"
TypesConfig "@/mime.types"
CustomLog logs/access_log "%h %v %>s %b %{User-Agent}i %{Referer}i %{X-A}i \\"%r\\" %q"
SetEnvIf User-Agent Evil evil=1
RewriteEngine On
RewriteRule ^/moved/(.*) /$1
<Directory "@">
    Options +MultiViews
    Require all granted
    Header set X-Evil yes env=evil
</Directory>
<VirtualHost *:8080>
    ServerName localhost
</VirtualHost>
<VirtualHost *:8080>
    ServerName b.test
    DocumentRoot "@/other"
</VirtualHost>
"""
VARIANTS = {
    "strict": "",
    "unsafe": "HttpProtocolOptions Unsafe",
    "0.9": "HttpProtocolOptions Allow0.9",
    "h2c": "Protocols h2c http/1.1\n",
    "small": "LimitRequestLine 60\nLimitRequestFieldSize 80\nLimitRequestFields 4\nMaxKeepAliveRequests 3",
    "unlimited": "MaxKeepAliveRequests 0",
}
CACHED = tuple(
    f"{line}\r\n{fields}\r\n".encode("latin-1")
    for line in (
        "GET /a.txt HTTP/1.1",
        "GET / HTTP/1.0",
        "GET /a.txt?q=1 HTTP/1.1",
        "GET /none HTTP/1.1",
        "HEAD /page HTTP/1.1",
        "GET /moved/a.txt HTTP/1.1",
    )
    for fields in (
        "",
        "Host: localhost\r\n",
        "Host: b.test\r\nUser-Agent: Evil\r\n",
        "Host: localhost\r\nX-A: 1\r\nX-B: 2\r\nConnection: keep-alive\r\n",
    )
)
CACHED_PREFIX = b"".join(CACHED[1:4])
FIELDS = (
    "Host: localhost",
    "Host: b.test",
    "host: x",
    "X-A: 1",
    "X-B:",
    "X-A:2 ",
    "User-Agent: Evil",
    "User-Agent: Good",
    "Range: bytes=0-1",
    "Expect: x",
    "Expect: 100-continue",
    "Content-Length: 3",
    "Content-Length: 0",
    "Transfer-Encoding: chunked",
    "Connection: close",
    "Connection: keep-alive",
    "Bad Name: x",
    "Folded: a\r\n b",
    " x",
    "A: \x01",
    "A: \x00",
    "Nothing",
    "If-None-Match: *",
    "Upgrade: h2c",
    "Keep-Alive: 3",
    "Cookie: a=1",
    "\n",
)
TARGETS = (
    "/a.txt",
    "/",
    "/page",
    "/none",
    "/a.txt?q=2",
    "/a.txt?",
    "//a.txt",
    "/a.txt#f",
    "/a.txt#f?q",
    "http://b.test/a.txt",
    "*",
    "/%61.txt",
    "/moved/a.txt",
)
CHANGING = rb"\r\nDate: [^\r]*|(?<=boundary=)\w+|(?<=\r\n--)\w+"
MOST_BYTES = 20_000  # bytes of one input: a longer one is cut too rarely


class CuttingWorker:
    """One configuration behind a worker's service; `ask` sends pieces on a connection of its own."""

    def __init__(self, root: Path, variant: str = "strict") -> None:
        self.runtime = FakeRuntime()
        self.runtime.now = lambda: NOW  # type: ignore[method-assign]
        conf = root / f"{variant}.conf"
        conf.write_text(
            "".join(f"LoadModule {m}_module modules/mod_{m}.so\n" for m in MODULES)
            + VARIANTS[variant]
            + CONF.replace("@", str(root))
        )
        self.engine = Engine(load(LoadOptions(server_root=str(root), file=str(conf)), ALL, V24), self.runtime)
        self.loop = asyncio.new_event_loop()
        self.problems: list[Any] = []
        self.loop.set_exception_handler(
            lambda _loop, context: self.problems.append(context.get("exception") or context)
        )
        self.service = WorkerState(self.engine, self.loop, report=self.problems.append, period=1e6)
        self.service.round = float("inf")
        self._count = 0

    def turn(self, work: Callable[..., object], *arguments: Any) -> None:
        """Do *work* in the loop and run two more ticks.

        The loop is not started and stopped each time, which would take ten times as long.
        """
        self.loop.call_soon(work, *arguments)
        asyncio._set_running_loop(self.loop)
        for _ in range(3):
            self.loop.call_soon(_nothing)
            self.loop._run_once()  # type: ignore[attr-defined]
        asyncio._set_running_loop(None)

    def ask(self, *pieces: bytes) -> tuple[bytes, tuple[bytes, ...]]:
        """Return the response to *pieces* and the end of the connection, without dates, and the access log's
        lines.
        """
        self.runtime.logs.clear()
        self._count += 1
        self.service.is_busy = self._count % 3 > 0
        wire = FakeTransport(server=("127.0.0.1", 8080))
        wire.protocol = Http1Connection(self.service)
        wire.protocol.connection_made(wire)
        for piece in pieces:
            self.turn(lambda data: wire.protocol.data_received(data), piece)
        if not wire.is_closed:
            self.turn(lambda: wire.protocol.eof_received())
        self.turn(lambda: wire.protocol.connection_lost(None))
        lines = next(
            (tuple(lines) for name, lines in self.runtime.logs.items() if name.endswith("access_log")), ()
        )
        return re.sub(CHANGING, b"", bytes(wire.out)), lines

    def whole(self, data: bytes) -> tuple[bytes, tuple[bytes, ...]]:
        """Call `ask` with all data in one piece on an engine with an empty cache."""
        self.engine.response_cache.clear()
        return self.ask(data)

    def close(self) -> None:
        """Close the worker's state."""
        for connection in list(self.service.connections):
            self.service.remove(connection)
        self.loop.close()


def lay_out(root: Path) -> None:
    """Write the documents, all unchanged for years."""
    for name in (
        "htdocs/index.html",
        "htdocs/a.txt",
        "htdocs/page.html.de",
        "other/a.txt",
        "other/index.html",
        "logs/none",
        "mime.types",
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"this is {name}\n" if name != "mime.types" else "text/html html\ntext/plain txt\n")
    for path in root.rglob("*"):
        os.utime(path, (MTIME, MTIME))


def recorded() -> list[bytes]:
    """Return the requests of all recorded cases, without duplicates."""
    found: dict[bytes, None] = {}
    for family in families():
        for case in load_cases(family):
            for request in case.get("requests", ()):
                raw = request.get("raw")
                if not isinstance(raw, str):
                    fields = "".join(
                        f"{name}: {value}\r\n" for name, value in dict(request.get("headers") or {}).items()
                    )
                    line = f"{request.get('method', 'GET')} {request.get('path', '/')} HTTP/1.1"
                    raw = f"{line}\r\nHost: {request.get('host', 'localhost')}\r\n{fields}\r\n"
                data = raw.encode("latin-1", "replace")
                if 0 < len(data) <= MOST_BYTES:
                    found[data] = None
    return list(found)


def generated(choice: random.Random) -> bytes:
    """Return a head of a few fields, most of which change the response; sometimes with a body or other line
    ends.
    """
    fields = "".join(f"{field}\r\n" for field in choice.choices(FIELDS, k=choice.randrange(5)))
    method = choice.choice(("GET", "GET", "GET", "HEAD", "POST", "X"))
    line = (
        f"{method} {choice.choice(TARGETS)} "
        f"{choice.choice(('HTTP/1.1', 'HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', ''))}"
    )
    data = f"{line}\r\n{choice.choice(('Host: localhost', 'Host: b.test', ''))}\r\n{fields}\r\n".replace(
        "\r\n\r\nX", "\r\nX"
    ).encode("latin-1")
    if choice.random() < 0.1:
        data = choice.choice((b"\r\n", b"\n", b"\0", b" ")) + data
    if choice.random() < 0.1:
        data = data.replace(b"\r\n", b"\n", choice.choice((1, 2, -1)))
    return data + choice.choice(
        (b"", b"", b"", b"abc", b"3\r\nabc\r\n0\r\n\r\n", b"3\r\nabc\r\n0\r\nT: u\r\nV: w\r\n\r\n")
    )


def pieces_of(data: bytes, choice: random.Random) -> list[bytes]:
    """Cut *data* into two to four pieces, or into bytes; cuts near line ends are preferred."""
    kind = choice.random()
    if kind < 0.05 and len(data) < 400:
        return [data[n : n + 1] for n in range(len(data))]
    ends = [found.start() + n for found in re.finditer(rb"\r\n", data) for n in range(3)]
    points = sorted(
        {
            choice.choice(ends) if ends and choice.random() < 0.5 else choice.randint(0, len(data))
            for _ in range(choice.randint(1, 3))
        }
    )
    return [
        piece
        for piece in (data[a:b] for a, b in zip([0, *points], [*points, len(data)], strict=True))
        if piece
    ]


def compare(desk: CuttingWorker, pieces: list[bytes], *, warm: bool) -> str:
    """Ask in pieces and at one time; a sentence on how both differ, "" if they do not."""
    data = b"".join(pieces)
    expected = desk.whole(data)
    if warm:
        desk.ask(CACHED_PREFIX)
        for _ in range(2):
            desk.ask(data)
    else:
        desk.engine.response_cache.clear()
    found = desk.ask(*pieces)
    if found != expected:
        return f"{'warm' if warm else 'cold'} {pieces!r}: {found!r} instead of {expected!r}"
    problems, desk.problems[:] = desk.problems[:], []
    return f"exception: {problems!r} for {pieces!r}" if problems else ""


def _nothing() -> None:
    """Do nothing but run the loop."""


def every_cut(data: bytes) -> Iterator[list[bytes]]:
    """Yield *data* in two pieces in every way, and byte by byte."""
    yield from ([data[:n], data[n:]] for n in range(1, len(data)))
    yield [data[n : n + 1] for n in range(len(data))]


def exhaustive(
    desk: CuttingWorker, inputs: list[bytes], is_spent: Callable[[], bool] = lambda: False
) -> tuple[int, list[str]]:
    """Cut each of *inputs* at every byte, warm; return the number of cuts and one line per difference."""
    count, failures = 0, []
    for data in inputs:
        expected = desk.whole(data)
        for _ in range(3):
            if (found := desk.ask(data)) != expected:
                failures.append(f"warm, whole: {data!r}: {found!r} instead of {expected!r}")
        for pieces in every_cut(data):
            if is_spent():
                return count, failures
            count += 1
            if (found := desk.ask(*pieces)) != expected:
                failures.append(f"{pieces!r}: {found!r} instead of {expected!r}")
    return count, failures + [f"exception: {problem!r}" for problem in desk.problems]


def run_cuts(budget: Budget) -> Result:
    """Cut random inputs, alone and in pairs, cold and warm; then cached requests at every byte."""
    result, choice, count = Result(), budget.random, 0
    sources: list[Callable[[], bytes]] = [
        lambda: choice.choice(known),
        lambda: choice.choice(raw),
        lambda: generated(choice),
        lambda: choice.choice(CACHED),
        lambda: mutate(choice.choice(CACHED), choice, ALPHABET, SEEDS),
    ]
    known, raw = (
        recorded(),
        [text.encode("latin-1") for group in (FRAMING, HEADS, LINES) for text in group.values()],
    )
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        lay_out(root)
        desks = [CuttingWorker(root, variant) for variant in VARIANTS]
        while count < budget.cases and not budget.is_spent and len(result.failures) < 50:
            data = b"".join(choice.choice(sources)() for _ in range(choice.choice((1, 1, 2))))[:MOST_BYTES]
            desk = choice.choice(desks)
            count += 1
            if problem := compare(desk, pieces_of(data, choice), warm=choice.random() < 0.75):
                result.failures.append(problem)
        pairs = [first + choice.choice(CACHED) for first in CACHED]
        every, failures = exhaustive(desks[0], [*CACHED, *pairs], lambda: budget.is_spent)
        result.failures += failures
        for desk in desks:
            desk.close()
    result.figures = {"random cuts": count, "every cut": every, "recorded requests": len(known)}
    return result


def _statuses(data: bytes) -> tuple[bytes, ...]:
    return tuple(re.findall(rb"HTTP/1\.[01] (\d{3})|(plain a|front)", data))


def _exchange(server: ServerProcess, pieces: list[bytes], pause: float) -> bytes:
    out = bytearray()
    with server.connect(10) as wire:
        wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for number, piece in enumerate(pieces):
                if number:
                    time.sleep(pause)
                wire.sendall(piece)
            wire.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused before the end
        try:
            while data := wire.recv(65536):
                out += data
        except OSError:
            pass
    return re.sub(rb"\r\nDate: [^\r]*", b"", bytes(out))


def run_wire(budget: Budget) -> Result:
    """Repeat a sample over sockets, including a file that the kernel sends."""
    result, choice, count = Result(), budget.random, 0
    documents = {"index.html": b"front\n", "a.txt": b"plain a\n", "big.txt": b"x" * 40_000}
    inputs = [*CACHED, *(data.replace(b"/a.txt", b"/big.txt") for data in CACHED)]
    with ServerProcess(WHIMBREL, HostileSite(documents=documents)) as server:
        wholes = {}
        while count < budget.cases and not budget.is_spent:
            data = choice.choice(inputs) + choice.choice((b"", b"", choice.choice(inputs)))
            if data not in wholes:
                wholes[data] = _exchange(server, [data], 0)
            count += 1
            pieces = pieces_of(data, choice)
            if (found := _exchange(server, pieces[:8] + [b"".join(pieces[8:])], 0.003)) != wholes[data]:
                result.failures.append(f"{pieces!r}: {_statuses(found)} instead of {_statuses(wholes[data])}")
        if "Traceback" in server.output:
            result.failures.append(f"a traceback: {server.output[-2000:]}")
    result.figures = {"exchanges": count}
    return result


MEASURES = (
    Measure(
        "cuts",
        "A request in pieces gets what it gets whole, cold or warm, alone or pipelined.",
        run_cuts,
        100_000,
        900,
    ),
    Measure("wire-cuts", "The same over sockets.", run_wire, 1500, 120),
)
