"""Threads of clients that send at a given rate, can be paused, and note everything in one ledger."""

from __future__ import annotations

import random
import threading
import time
import traceback
from collections import Counter
from importlib.util import find_spec
from types import TracebackType

from tests.soak.clients import (
    Client,
    CountingClient,
    DavClient,
    LeavingClient,
    PlainClient,
    TlsClient,
    TunnelClient,
)
from tests.soak.ledger import Ledger
from tests.soak.site import Ports

RATE = 300.0  # requests a second of all clients: a million an hour
SHARES: tuple[tuple[type[Client], float], ...] = (
    (PlainClient, 0.15),
    (PlainClient, 0.15),
    (PlainClient, 0.15),
    (TlsClient, 0.08),
    (TlsClient, 0.08),
    (DavClient, 0.05),
    (DavClient, 0.04),
    (CountingClient, 0.01),
    (CountingClient, 0.01),
    (TunnelClient, 0.01),
    (TunnelClient, 0.01),
    (LeavingClient, 0.02),
)
HTTP2_SHARES = (0.12, 0.12)


def missing() -> str:
    """Return why the load cannot be sent on this machine; "" if it can."""
    absent = [name for name in ("h2", "cryptography") if find_spec(name) is None]
    return f"the packages {' and '.join(absent)} are not installed" if absent else ""


def shares() -> tuple[tuple[type[Client], float], ...]:
    """Return all clients with their shares of the requests; those of HTTP/2 need the optional package h2."""
    from tests.soak.http2_client import Http2Client

    return (*SHARES, *((Http2Client, share) for share in HTTP2_SHARES))


class Load:
    """The running clients of one or more servers; a context manager.

    Attributes:
        problems: tracebacks of clients, which are mistakes of this program.
    """

    def __init__(self, ports: list[Ports], seed: int, rate: float = RATE) -> None:
        self.ledger = Ledger()
        self.problems: list[str] = []
        self.clients = [
            kind(ports, self.ledger, random.Random(seed * 1000 + number), share * rate)
            for number, (kind, share) in enumerate(shares())
        ]
        self._run = threading.Event()
        self._over = threading.Event()
        self._active = len(self.clients)
        self._changed = threading.Condition()
        self._threads = [
            threading.Thread(target=self._drive, args=(one,), daemon=True) for one in self.clients
        ]

    @property
    def counts(self) -> Counter[str]:
        """What clients have counted beside requests."""
        return sum((one.counts for one in self.clients), Counter())

    def __enter__(self) -> Load:
        self._run.set()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._run.set()
        for thread in self._threads:
            thread.join(120)

    def set_rate(self, rate: float) -> None:
        """Send *rate* requests a second from the next one of each client on."""
        for client, (_kind, share) in zip(self.clients, shares(), strict=True):
            client.rate = share * rate

    def pause(self) -> None:
        """Return when no client has a request in progress or an open connection."""
        self._run.clear()
        with self._changed:
            while self._active:
                self._changed.wait()

    def resume(self) -> None:
        """Send again."""
        self._run.set()

    def _count(self, change: int) -> None:
        with self._changed:
            self._active += change
            self._changed.notify_all()

    def _drive(self, client: Client) -> None:
        try:
            due = time.monotonic()
            while not self._over.is_set():
                if not self._run.is_set():
                    client.close()
                    self._count(-1)
                    self._run.wait()
                    self._count(1)
                    due = time.monotonic()
                    continue
                due = max(due + client.step() / client.rate, time.monotonic() - 1)
                self._over.wait(max(0.0, min(due - time.monotonic(), 1.0)))
            client.close()
        except Exception:
            self.problems.append(traceback.format_exc())
        finally:
            self._count(-1)
