"""Back ends that fail in 5 % of the requests: no descriptor stays open, no answer reaches another client."""

from __future__ import annotations

import os
import random
import re
import socket
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Final

from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import WHIMBREL, HostileSite, ServerProcess
from tests.support.faulty_backend import FAULTS, FaultyBackend

CLIENTS: Final = 12
CONF: Final = """
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
ProxyTimeout 1
KeepAlive On
MaxKeepAliveRequests 0
ProxyPass / http://127.0.0.1:{port}/
"""
_FAULTS: Final = tuple(name for name in FAULTS if name != "ok")
_NAME: Final = re.compile(rb"client-\d+-\d+")
_LENGTH: Final = re.compile(rb"\r\nContent-Length: (\d+)\r\n")


class Client(threading.Thread):
    """A client that checks each answer; its connection stays open between good ones.

    Attributes:
        counts: requests by what the back end does. `failures`: answers that are not this client's.
    """

    def __init__(self, server: ServerProcess, number: int, cases: int, budget: Budget) -> None:
        super().__init__(daemon=True)
        self._server, self._number, self._cases, self._budget = server, number, cases, budget
        self._random = random.Random(f"{budget.seed} {number}")
        self._wire: socket.socket | None = None
        self.counts: Counter[str] = Counter()
        self.failures: list[str] = []

    def run(self) -> None:
        for case in range(self._cases):
            if self._budget.is_spent:
                break
            fault = self._random.choice(_FAULTS) if self._random.random() < 0.05 else "ok"
            self.counts[fault] += 1
            name = b"client-%d-%d" % (self._number, case)
            data = self._exchange(fault, name)
            if set(_NAME.findall(data)) - {name} or b"forged" in data:
                self.failures.append(f"{fault}: {name!r} has received {data[-200:]!r}")
            elif fault == "ok" and (data[:13], data.partition(b"\r\n\r\n")[2]) != (b"HTTP/1.1 200 ", name):
                self.failures.append(f"{name!r} has received {data[:200]!r}")
        self._close()

    def _exchange(self, fault: str, name: bytes) -> bytes:
        """Return the answer; after a fault the connection is closed, amid an endless one."""
        if self._wire is None:
            self._wire = self._server.connect(10)
        data = b""
        try:
            option = b"" if fault == "ok" else b"Connection: close\r\n"
            request = b"GET /%b?%b HTTP/1.1\r\nHost: localhost\r\n%b\r\n"
            self._wire.sendall(request % (fault.encode(), name, option))
            while not _is_complete(data) and len(data) < 1 << 20:
                piece = self._wire.recv(65536)
                if not piece:
                    break
                data += piece
        except OSError:
            pass
        if fault != "ok":
            self._close()
        return data

    def _close(self) -> None:
        if self._wire is not None:
            self._wire.close()
        self._wire = None


def _is_complete(data: bytes) -> bool:
    head, end, body = data.partition(b"\r\n\r\n")
    length = _LENGTH.search(head + b"\r\n")
    return bool(end and length) and len(body) >= int(length[1])


def descriptors(server: ServerProcess, backend: FaultyBackend) -> int:
    """Return the open descriptors of server and workers, without connections that the back end has open."""
    processes = (server.process.pid, *server.workers())
    return sum(len(os.listdir(Path(f"/proc/{pid}/fd"))) for pid in processes) - backend.open


def run(budget: Budget) -> Result:
    """Send requests by several clients at once, and count descriptors before and after."""
    with FaultyBackend() as backend:
        with ServerProcess(WHIMBREL, HostileSite(CONF.format(port=backend.port))) as server:
            for _ in range(20):
                server.get("/ok?warm")
            time.sleep(0.5)  # until the connections of these requests are closed
            before = descriptors(server, backend)
            clients = [Client(server, number, budget.cases // CLIENTS, budget) for number in range(CLIENTS)]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
            end = time.monotonic() + 10
            while (after := descriptors(server, backend)) != before and time.monotonic() < end:
                time.sleep(0.1)
            output = server.output
    counts = sum((client.counts for client in clients), Counter())
    failures = [line for client in clients for line in client.failures]
    if after != before:
        failures.append(f"{before} descriptors at the start, {after} at the end")
    if "Traceback" in output:
        failures.append(output[output.index("Traceback") :][:400])
    faulty = counts.total() - counts["ok"]
    figures = {"requests": counts.total(), "faulty": faulty, "kinds": len(counts) - 1, "descriptors": after}
    return Result(dict(figures), failures)


MEASURES = [
    Measure(
        "proxy-faults",
        "Among 5 % faults of back ends no descriptor stays open, and no answer reaches another client.",
        run,
        cases=100_000,
        seconds=600.0,
    )
]
