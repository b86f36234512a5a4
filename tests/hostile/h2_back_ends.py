"""Back ends of HTTP/2 that break the protocol, stall and flood: each fault fails at once or after
ProxyTimeout, and the requests beside and behind it are answered.
"""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from typing import Final

from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess
from tests.support.faulty_http2_backend import FAULTS, FaultyHttp2Backend

CLIENTS: Final = 6
TIMEOUT: Final = 1.0  # ProxyTimeout
SLACK: Final = 3.0  # of a loaded machine
CONF: Final = """
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http2_module /usr/lib/apache2/modules/mod_proxy_http2.so
ProxyTimeout 1
ProxyPass / h2c://127.0.0.1:{port}/
"""
# faults whose answers have to wait for the time-out, since more of them may follow
SILENT: Final = frozenset(
    "half-frame silence stall-after-head stall-after-interim head-without-end goaway-open early-head".split()
) | {name for name in FAULTS if name.endswith("-drip")}
_NAMES: Final = tuple(name for name in FAULTS if name != "ok")
_RESET: Final = b"HTTP/1.1 502 "
_UPLOAD: Final = b"u" * 100_000
_STATUS: Final = re.compile(rb"HTTP/1\.1 (200|413|500|502|503) ")


def exchange(server: ServerProcess, name: str) -> tuple[bytes, float]:
    """Return the response and its seconds; uploads have a body."""
    body = _UPLOAD if name.startswith("early") else b""
    line = b"POST /%b HTTP/1.1\r\nContent-Length: %d\r\n" % (name.encode(), len(body))
    line = line if body else b"GET /%b HTTP/1.1\r\n" % name.encode()
    begin, data = time.monotonic(), b""
    with server.connect(10) as wire:
        try:
            wire.sendall(line + b"Host: localhost\r\nConnection: close\r\n\r\n" + body)
            while len(data) < 1 << 20 and (piece := wire.recv(65536)):
                data += piece
        except (TimeoutError, ConnectionError) as problem:
            data += f"<{type(problem).__name__}>".encode()
    return data, time.monotonic() - begin


class Client(threading.Thread):
    """A client that alternates between a fault and good requests.

    Attributes:
        counts: requests by fault. `failures`: promises that were broken. `slowest`: seconds of a good answer.
    """

    def __init__(self, server: ServerProcess, number: int, cases: int, budget: Budget) -> None:
        super().__init__(daemon=True)
        self._server, self._number, self._cases, self._budget = server, number, cases, budget
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []
        self.slowest = 0.0
        self.has_finished = threading.Event()  # of the clients beside this one

    def run(self) -> None:
        for case in range(self._cases):
            if self._budget.is_spent:
                break
            name = _NAMES[(case * CLIENTS + self._number) % len(_NAMES)]
            self.counts[name] += 1
            self._fault(name)

    def _fault(self, name: str) -> None:
        data, seconds = exchange(self._server, name)
        limit = (TIMEOUT if name in SILENT else 0.0) + SLACK
        if _STATUS.match(data) is None or b"forged" in data:
            self.failures.append(f"{name}: {data[:200]!r}")
        if seconds > limit:
            self.failures.append(f"{name}: {seconds:.1f} s")


class GoodClient(Client):
    """A client whose requests are all good, on the back end that is broken for the others.

    A request that shares a broken connection is repeated on one of its own, so that none fails, but for those
    that the back end itself resets (502), and those on a connection that it leaves silent for ProxyTimeout: a
    slow answer is not asked for twice.
    """

    def run(self) -> None:
        while not self._budget.is_spent and not self.has_finished.is_set():
            data, seconds = exchange(self._server, "ok")
            self.counts["ok"] += 1
            self.slowest = max(self.slowest, seconds)
            if seconds > TIMEOUT + SLACK:
                self.failures.append(f"ok beside faults: {seconds:.1f} s")
            is_answered = data.startswith(b"HTTP/1.1 200 ") and data.endswith(b"2\r\nok\r\n0\r\n\r\n")
            is_silent = seconds >= TIMEOUT
            self.counts["silent"] += is_silent
            self.counts["reset"] += data.startswith(_RESET)
            if not (is_answered or is_silent or data.startswith(_RESET)):
                self.failures.append(f"ok beside faults: {data[:200]!r}")


def _behind(server: ServerProcess) -> tuple[list[str], float]:
    """Return failures, and the longest time, of a good request behind each fault."""
    failures, slowest = [], 0.0
    for name in _NAMES:
        exchange(server, name)
        data, seconds = exchange(server, "ok")
        slowest = max(slowest, seconds)
        if not data.startswith(b"HTTP/1.1 200 ") or seconds > SLACK:
            failures.append(f"ok behind {name}: {seconds:.1f} s, {data[:100]!r}")
    return failures, slowest


def run(budget: Budget) -> Result:
    """Send faults one by one with a good request behind each, then by several clients beside good ones."""
    with FaultyHttp2Backend() as backend:
        with ServerProcess(WHIMBREL, HostileSite(CONF.format(port=backend.port))) as server:
            failures, behind = _behind(server)
            clients = [Client(server, number, budget.cases // CLIENTS, budget) for number in range(CLIENTS)]
            good = GoodClient(server, 0, 0, budget)
            for client in (*clients, good):
                client.start()
            for client in clients:
                client.join()
            good.has_finished.set()
            good.join()
            output = server.output
        most = backend.accepted
    counts = sum((client.counts for client in clients), Counter[str]())
    failures += [line for client in (*clients, good) for line in client.failures]
    if "Traceback" in output:
        failures.append(output[output.index("Traceback") :][:600])
    figures: dict[str, float | int | str] = {
        "faults": counts.total(),
        "kinds": len(_NAMES),
        "good": good.counts["ok"],
        "good, reset": good.counts["reset"],
        "good, on a silent connection": good.counts["silent"],
        "connections": most,
        "slowest behind a fault": behind,
    }
    return Result(figures, failures)


MEASURES = [
    Measure(
        "h2-back-ends",
        "A broken back end of HTTP/2 fails at once, or after ProxyTimeout where it is silent; the next "
        "request is answered at once, and so are requests beside it, unless the back end resets them.",
        run,
        cases=1200,
        seconds=240.0,
    )
]
