"""HTTP/2 floods beside an honest HTTP/1 client: its latency with Whimbrel and with apache2."""

from __future__ import annotations

import multiprocessing
import os
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from tests.hostile.http2_frames import (
    ACK,
    CONTINUATION,
    DATA,
    ECHO,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    MAX_WINDOW,
    PING,
    PREFACE,
    PRIORITY,
    RST_STREAM,
    SETTINGS,
    block,
    frame,
    literal,
    request,
    settings,
    window,
)
from tests.hostile.latency import HonestClient
from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import APACHE, WHIMBREL, Program, Server, Site

MOST: Final = 10.0  # times apache2's p99
NOISE: Final = 0.002  # seconds of p99 that any server has on two cores with an attacker
CONNECTIONS: Final = 4
PAUSE: Final = 0.2  # seconds in which a server may close a connection after its flood
BEGIN: Final = PREFACE + settings((4, MAX_WINDOW)) + frame(SETTINGS, ACK) + window(0, MAX_WINDOW - 65535)
SITE: Final = Site(
    "Protocols h2c http/1.1\n", {"a.txt": b"plain a\n", "big.html": b"y" * 259_000, "echo.cgi": ECHO}
)
NUMBERS: Final = range(1, 8000, 2)
POST: Final = request(1, method="POST", path="/echo.cgi", end=False)


def _each(make: Callable[[int], bytes]) -> bytes:
    return b"".join([make(number) for number in NUMBERS])


def _rst(number: int) -> bytes:
    return frame(RST_STREAM, 0, number, b"\0\0\0\x08")


FLOODS: Final[dict[str, Callable[[], bytes]]] = {
    "cached requests": lambda: _each(request),
    "uncached requests": lambda: _each(lambda n: request(n, path=f"/none{n}?{n}")),
    "rapid reset": lambda: _each(lambda n: request(n, path=f"/none{n}") + _rst(n)),
    "malformed requests": lambda: _each(lambda n: request(n, ("connection", "close"))),
    "unknown frames": lambda: frame(0xEE, 0, 0, b"") * 20_000,
    "SETTINGS": lambda: settings((4, 1)) * 20_000,
    "SETTINGS ACK": lambda: frame(SETTINGS, ACK) * 20_000,
    "PING": lambda: frame(PING, 0, 0, b"abcdefgh") * 20_000,
    "PING ACK": lambda: frame(PING, ACK, 0, b"abcdefgh") * 20_000,
    "PRIORITY": lambda: frame(PRIORITY, 0, 1, b"\0\0\0\0\x10") * 20_000,
    "DATA of one byte": lambda: POST + frame(DATA, 0, 1, b"x") * 20_000,
    "empty DATA": lambda: POST + frame(DATA, 0, 1) * 20_000,
    "windows of one byte": lambda: (
        settings((4, 1))
        + b"".join([request(n, path="/big.html") for n in range(1, 200, 2)])
        + b"".join([window(n, 1) for _ in range(100) for n in range(1, 200, 2)])
    ),
    "empty CONTINUATION": lambda: frame(HEADERS, END_STREAM, 1, block()) + frame(CONTINUATION, 0, 1) * 20_000,
    "bombs of indexed fields": lambda: (
        frame(HEADERS, END_HEADERS | END_STREAM, 1, block() + literal(("x", "y" * 3900), indexed=True))
        + _each(lambda n: frame(HEADERS, END_HEADERS | END_STREAM, n + 2, block() + b"\xbe" * 30))
    ),
    "bombs of short fields": lambda: _each(
        lambda n: frame(HEADERS, END_HEADERS | END_STREAM, n, block() + b"\0\x01a\0" * 90)
    ),
}


def attack(port: int, flood: bytes, end: float) -> None:
    """Send *flood* repeatedly, on a new connection after each close, and discard all responses.

    Attackers usually are on other machines: here they share one core with the clients, and the server has the
    other one.
    """
    os.nice(19)
    while time.monotonic() < end:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 2) as wire:
            wire.settimeout(0.5)
            view = memoryview(BEGIN + flood)
            while view and time.monotonic() < end:
                with suppress(TimeoutError):
                    view = view[wire.send(view[:16384]) :]
                if _drain(wire):
                    break
            pause = time.monotonic() + PAUSE
            while time.monotonic() < pause and not _drain(
                wire
            ):  # the next connection starts after the effect of this one
                time.sleep(0.01)
            time.sleep(0.01)


def _drain(wire: socket.socket) -> bool:
    """Discard the received bytes; return True if the server has closed."""
    wire.setblocking(False)
    try:
        while wire.recv(1 << 18):
            pass
        return True
    except BlockingIOError:
        return False
    finally:
        wire.settimeout(0.5)


def beside(program: Program, flood: bytes, seconds: float) -> HonestClient:
    """Run an honest client of *program* during an attack."""
    cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores[:1])  # of the server, which inherits it
    with Server(program, SITE) as server:
        os.sched_setaffinity(0, cores[1:] or cores)
        honest = HonestClient(server)
        end = time.monotonic() + seconds
        attackers = [
            multiprocessing.get_context("fork").Process(target=attack, args=(server.port, flood, end))
            for _ in range(CONNECTIONS)
        ]
        for attacker in attackers:
            attacker.start()
        time.sleep(0.3)
        with honest.at_work():
            time.sleep(max(0.0, end - time.monotonic() - 0.2))
        for attacker in attackers:
            attacker.join(10)
            attacker.kill()
        os.sched_setaffinity(0, cores)
        if "Traceback" in server.output:
            honest.failures += 1
    return honest


def run(budget: Budget, names: Iterable[str] = tuple(FLOODS), seconds: float = 4.0) -> Result:
    """Run every flood against both servers, one after the other."""
    result = Result()
    if not APACHE.is_present:
        result.skipped = "apache2 is not installed"
        return result
    for name in names:
        if budget.is_spent:
            result.failures.append(f"no time for {name}")
            continue
        flood = FLOODS[name]()
        theirs, ours = (beside(program, flood, seconds) for program in (APACHE, WHIMBREL))
        result.figures[name] = (
            f"p99 {ours.p99 * 1000:.2f} ms of {len(ours.seconds)}, apache2 {theirs.p99 * 1000:.2f} ms of "
            f"{len(theirs.seconds)}"
        )
        if not ours.seconds or ours.failures or ours.p99 > MOST * max(theirs.p99, NOISE):
            result.failures.append(f"{name}: {result.figures[name]}, {ours.failures} failures")
    return result


MEASURES = (
    Measure(
        "floods-http2",
        "An honest client's p99 beside an HTTP/2 flood is at most 10 times apache2's.",
        run,
        len(FLOODS),
        300,
    ),
)
