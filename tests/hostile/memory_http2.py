"""Memory under HTTP/2 bombs: no input and no reading pace makes a worker grow by 50 MB."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat
from typing import Final

from tests.hostile.http2_frames import (
    CONTINUATION,
    DATA,
    ECHO,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    MAX_WINDOW,
    PING,
    PREFACE,
    RST_STREAM,
    block,
    exchange,
    frame,
    literal,
    request,
    settings,
    window,
)
from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import WHIMBREL, Server, Site

MOST_MB: Final = 50.0
MOST_BYTES: Final = 4 << 20
CONNECTIONS: Final = 24
BIG: Final = 259_000  # bytes of a page
# unlimited windows
OPEN: Final = PREFACE + settings((4, MAX_WINDOW), (5, (1 << 24) - 1)) + window(0, MAX_WINDOW - 65535)
SLEEP: Final = b"#!/bin/sh\nsleep 3\necho Content-Type: text/plain\necho\necho\n"
SITE: Final = Site(
    "Protocols h2c http/1.1\nTimeout 20\n",
    {
        "a.txt": b"plain a\n",
        "big.html": b"y" * BIG,
        "dir/a": b"a",
        "sleep.cgi": SLEEP,
        "echo.cgi": ECHO,
        **{f"list/{'n' * 100}{number}.txt": b"" for number in range(700)},
    },
)
NUMBERS: Final = tuple(range(1, 20_000, 2))


def _many(path: str, numbers: Iterable[int] = NUMBERS) -> Iterator[bytes]:
    """Return requests on separate streams."""
    return (request(number, path=path) for number in numbers)


def _unlike(size: int) -> Iterator[bytes]:
    """Return requests that each have a unique field of *size* bytes, sent twice."""
    for number in NUMBERS:
        yield request(number, ("x", f"{number // 4:0{size}}"))


def _indexed(count: int) -> Iterator[bytes]:
    """Return requests with *count* copies of a field of 4,000 bytes, one byte each."""
    yield frame(HEADERS, END_HEADERS | END_STREAM, 1, block() + literal(("x", "y" * 3900), indexed=True))
    for number in NUMBERS[1:2000]:
        yield frame(HEADERS, END_HEADERS | END_STREAM, number, block() + b"\xbe" * count)


def _bodies(size: int, count: int) -> Iterator[bytes]:
    """Return bodies that no program reads, in frames of *size* bytes, up to the windows."""
    for number in range(1, 2 * count, 2):
        yield request(number, path="/sleep.cgi", method="POST", end=False)
        yield frame(DATA, 0, number, b"x" * size) * (65535 // size)


def _continuations(payload: bytes, count: int) -> Iterator[bytes]:
    return chain([frame(HEADERS, END_STREAM, 1, block())], repeat(frame(CONTINUATION, 0, 1, payload), count))


BOMBS: Final[dict[str, Callable[[], Iterator[bytes]]]] = {
    "cached page of 259 kB, 10,000 times": lambda: chain([OPEN], _many("/big.html")),
    "cached page of 259 kB, 100 times": lambda: chain([OPEN], _many("/big.html", NUMBERS[:100])),
    "cached page of 8 bytes, 10,000 times": lambda: chain([OPEN], _many("/a.txt")),
    "long list of a directory": lambda: chain([OPEN], _many("/list/", NUMBERS[:100])),
    "missing pages": lambda: chain([OPEN], (request(number, path=f"/none{number}") for number in NUMBERS)),
    "fields unlike any other": lambda: chain([OPEN], _unlike(3000)),
    "short fields unlike any other": lambda: chain([OPEN], _unlike(40)),
    "indexed fields, 120 kB": lambda: chain([OPEN], _indexed(30)),
    "indexed fields, 4 MB": lambda: chain([OPEN], _indexed(1000)),
    "dynamic table of the client": lambda: chain(
        [OPEN + settings((1, (1 << 32) - 1))],
        (request(number, path=f"/dir?{number:03000}") for number in NUMBERS),
    ),
    "changing size of the dynamic table": lambda: chain(
        [OPEN], (settings((1, number % 4096)) + request(number) for number in NUMBERS)
    ),
    "CONTINUATION without end": lambda: chain([OPEN], _continuations(literal(("x", "y" * 16_000)), 2000)),
    "empty CONTINUATION without end": lambda: chain([OPEN], _continuations(b"", 100_000)),
    "blocks of fields that do not end": lambda: chain(
        [OPEN], _continuations(literal(("x", "y" * 16_000)), 8)
    ),
    "windows of one byte": lambda: chain(
        [PREFACE + settings((4, 1))],
        _many("/big.html", NUMBERS[:100]),
        (window(number, 1) for _ in range(50) for number in NUMBERS[:100]),
    ),
    "PING": lambda: chain([OPEN], repeat(frame(PING, 0, 0, b"abcdefgh") * 1000, 1000)),
    "PING between requests": lambda: chain(
        [OPEN], (frame(PING, 0, 0, b"abcdefgh") * 500 + request(number) for number in NUMBERS)
    ),
    "SETTINGS": lambda: chain([OPEN], repeat(settings((4, 1)) * 1000, 1000)),
    "malformed requests": lambda: chain(
        [OPEN], (request(number, ("connection", "close")) for number in NUMBERS)
    ),
    "requests that are given up": lambda: chain(
        [OPEN],
        (request(number, path="/list/") + frame(RST_STREAM, 0, number, b"\0\0\0\x08") for number in NUMBERS),
    ),
    "large heads of requests that wait": lambda: chain(
        [OPEN],
        (
            request(number, ("x", "x" * 8000), ("y", "y" * 8000), path="/sleep.cgi")
            for number in NUMBERS[:100]
        ),
    ),
    "large heads behind unread pages": lambda: chain(
        [OPEN],
        _many("/big.html", NUMBERS[:20]),
        (request(n, ("x", "x" * 7000), ("y", "y" * 7000), path="/big.html") for n in NUMBERS[20:100]),
    ),
    "unread bodies": lambda: chain([OPEN], _bodies(13_107, 10)),
    "unread bodies in frames of one byte": lambda: chain([OPEN], _bodies(1, 10)),
    "half a frame": lambda: iter([OPEN + frame(DATA, 0, 1, bytes(16_384))[:16_000]]),
}


def made(name: str) -> bytes:
    """Return the bytes of a bomb, up to `MOST_BYTES`."""
    out = bytearray()
    for piece in BOMBS[name]():
        out += piece
        if len(out) >= MOST_BYTES:
            break
    return bytes(out)


def _send(server: Server, bomb: bytes, seconds: float) -> None:
    """Send as much of *bomb* as the server takes, read nothing, and hold the connection for *seconds*."""
    end = time.monotonic() + seconds
    with server.connect(seconds) as wire:
        try:
            wire.sendall(bomb)
        except OSError:
            pass  # the server takes no more
        time.sleep(max(0.0, end - time.monotonic()))


def growth(server: Server, name: str, connections: int, seconds: float) -> float:
    """Return the growth of a worker in MB while *connections* send a bomb."""
    bomb = made(name)
    server.reset_peak()
    before = server.peak_memory()
    threads = [threading.Thread(target=_send, args=(server, bomb, seconds)) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return server.peak_memory() - before


def warm(server: Server) -> None:
    """Let the worker import its modules and cache the pages."""
    for _ in range(2):
        for path in ("/a.txt", "/big.html", "/list/", "/none"):
            exchange(server, request(1, path=path), pause=0.0)


def run(
    budget: Budget, names: Iterable[str] = tuple(BOMBS), connections: int = CONNECTIONS, seconds: float = 3.0
) -> Result:
    """Run every bomb against a new server."""
    result = Result()
    for name in names:
        if budget.is_spent:
            result.failures.append(f"no time for {name}")
            continue
        with Server(WHIMBREL, SITE) as server:
            warm(server)
            workers = server.workers()
            grown = result.figures[name] = round(growth(server, name, connections, seconds), 1)
            if grown > MOST_MB:
                result.failures.append(f"{name}: {grown:.1f} MB more")
            if b"plain a" not in server.exchange(b"GET /a.txt HTTP/1.0\r\n\r\n", timeout=30.0):
                result.failures.append(f"{name}: no answer to an honest client behind it")
            if server.workers() != workers:
                result.failures.append(f"{name}: a worker has been replaced")
            if "Traceback" in server.output:
                result.failures.append(f"{name}: {server.output[-2000:]}")
    return result


MEASURES = (
    Measure("memory-http2", "No HTTP/2 bomb makes a worker grow by more than 50 MB.", run, len(BOMBS), 300),
)
