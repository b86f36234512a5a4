"""Requests for long work: a concurrent honest client waits little longer than beside apache2."""

from __future__ import annotations

import base64
import multiprocessing
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.hostile.latency import HonestClient
from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import APACHE, WHIMBREL, HostileSite, Program, ServerProcess

ENTRIES = 20_000
MAX_FACTOR = 10.0  # of apache2's p99 beside the same load
MAX_LISTING = 2.0  # of the server's own p99 without load, beside listings
NOISE = 0.002  # seconds that a wait may always take: the scheduler's noise on a busy machine
BCRYPT = "$2y$05$5J8ZBwsPeCVKRyF0D3hI9O9L0pu5c8L8m3dVdU2yPqYbO8NnUOu2S"
CONF = """
Timeout 30
KeepAliveTimeout 30
ExtendedStatus On
AddType text/html .shtml
AddOutputFilter INCLUDES .shtml
IndexOptions FancyIndexing VersionSort
<Directory "%ROOT%/htdocs/views">
    Options +MultiViews
</Directory>
<Directory "%ROOT%/htdocs/secret">
    AuthType Basic
    AuthName x
    AuthUserFile "%ROOT%/users"
    Require valid-user
</Directory>
<Location /server-status>
    SetHandler server-status
</Location>
<Location /server-info>
    SetHandler server-info
</Location>
RewriteEngine on
RewriteRule ^/long/([a-z]+)x([a-z]+)y([a-z]+)z$ /a.txt
"""


def _documents() -> dict[str, bytes]:
    slow = b"#!/bin/sh\nsleep 0.05\nprintf 'Content-Type: text/plain\\n\\nslow\\n'\n"
    page = b'<!--#echo var="DATE_LOCAL" --><!--#include virtual="/a.txt" -->\n' * 2000
    return {"a.txt": b"plain a\n", "slow.cgi": slow, "page.shtml": page, "secret/a.txt": b"secret\n"}


def _fill(server: ServerProcess) -> None:
    """Write the directories of many files, and the users."""
    for name in ("list", "views"):
        folder = server.root / "htdocs" / name
        folder.mkdir()
        for number in range(ENTRIES):
            (folder / f"file{number}.txt").touch()
    (server.root / "users").write_text(f"joe:{BCRYPT}\n")


def _guess(choice: random.Random) -> str:
    words = base64.b64encode(f"joe:{choice.random()}".encode()).decode()
    return f"/secret/a.txt HTTP/1.1\r\nAuthorization: Basic {words}"


@dataclass(frozen=True)
class Flood:
    """One kind of request: *target* returns the next target, with version and further fields."""

    name: str
    target: Callable[[random.Random], str]
    clients: int = 4


FLOODS = (
    Flood(
        "listing", lambda c: f"/list/?C={c.choice('NMSD')};O={c.choice('AD')};P=*{c.randrange(10)}* HTTP/1.1"
    ),
    Flood("listing of all", lambda c: f"/list/?C={c.choice('NMSD')}&x={c.random()} HTTP/1.1", 2),
    Flood("MultiViews", lambda c: f"/views/file{c.randrange(ENTRIES)} HTTP/1.1"),
    Flood("MultiViews in vain", lambda c: f"/views/{c.random()} HTTP/1.1"),
    Flood("bcrypt", _guess),
    Flood("server-status", lambda c: f"/server-status?{c.random()} HTTP/1.1"),
    Flood("server-info", lambda c: f"/server-info?{c.random()} HTTP/1.1"),
    Flood("rewriting", lambda c: f"/long/{c.choice('abxyz') * 6000}{c.random()} HTTP/1.1"),
    Flood("SSI", lambda c: f"/page.shtml?{c.random()} HTTP/1.1"),
    Flood("slow CGI", lambda c: f"/slow.cgi?{c.random()} HTTP/1.1", 16),
)


def _send(server: ServerProcess, flood: Flood, seed: int, responses: Any) -> None:
    """Run one client, which sends the next request after each response, until its process is ended."""
    choice = random.Random(seed)
    while True:
        head = f"GET {flood.target(choice)}\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        try:
            with server.connect(60) as wire:
                wire.sendall(head.encode("latin-1"))
                while wire.recv(1 << 18):
                    pass
            with responses.get_lock():
                responses.value += 1
        except OSError:
            time.sleep(0.01)


def _attack(server: ServerProcess, flood: Flood, seed: int, responses: Any) -> None:
    for number in range(flood.clients):
        threading.Thread(target=_send, args=(server, flood, seed + number, responses), daemon=True).start()
    time.sleep(600)


class Attack:
    """Clients of *flood* in a separate process, which takes no time from the honest client."""

    def __init__(self, server: ServerProcess, flood: Flood, seed: int) -> None:
        context = multiprocessing.get_context("fork")
        self._responses = context.Value("l", 0)
        self._process = context.Process(
            target=_attack, args=(server, flood, seed, self._responses), daemon=True
        )

    @property
    def responses(self) -> int:
        """Number of responses so far."""
        return int(self._responses.value)

    def __enter__(self) -> Attack:
        self._process.start()
        time.sleep(0.3)
        return self

    def __exit__(self, *_problem: object) -> None:
        self._process.kill()
        self._process.join(10)


@dataclass(frozen=True)
class FloodedSite:
    """What the servers serve under the floods: configuration, documents, and what is written before them."""

    conf: str
    documents: dict[str, bytes]
    fill: Callable[[ServerProcess], None] = lambda server: None


def latencies(
    program: Program, site: FloodedSite, floods: tuple[Flood, ...], seconds: float, seed: int
) -> tuple[dict[str, float], dict[str, int]]:
    """Return p99 of an honest client beside each flood, in seconds ("" is no flood), and each flood's
    responses.
    """
    p99, responses = {}, {}
    with ServerProcess(program, HostileSite(site.conf, site.documents, processes=2)) as server:
        site.fill(server)
        server.get("/a.txt")
        with HonestClient(server).at_work() as honest:
            time.sleep(seconds)
        p99[""] = honest.p99
        for flood in floods:
            with Attack(server, flood, seed) as attack, HonestClient(server).at_work() as honest:
                time.sleep(seconds)
            p99[flood.name], responses[flood.name] = honest.p99, attack.responses
            time.sleep(0.3)
    return p99, responses


def compare(site: FloodedSite, floods: tuple[Flood, ...], seconds: float, seed: int) -> Result:
    """Run each of *floods* against both servers."""
    result = Result()
    if not APACHE.is_present:
        result.skipped = "apache2 is not installed"
        return result
    theirs, their_count = latencies(APACHE, site, floods, seconds, seed)
    ours, our_count = latencies(WHIMBREL, site, floods, seconds, seed)
    for name in ("", *(flood.name for flood in floods)):
        shown = name or "no flood"
        result.figures |= {
            f"{shown} ms": round(ours[name] * 1000, 2),
            f"{shown} apache2 ms": round(theirs[name] * 1000, 2),
        }
        if name:
            result.figures[f"{shown} responses"] = f"{our_count[name]} to {their_count[name]}"
        limit = max(theirs[name] * MAX_FACTOR, NOISE)
        if name.startswith("listing"):
            limit = min(limit, max(ours[""] * MAX_LISTING, NOISE, theirs[name]))
        if ours[name] > limit:
            result.failures.append(f"{shown}: p99 {ours[name] * 1000:.1f} ms, at most {limit * 1000:.1f} ms")
    return result


def run(budget: Budget) -> Result:
    """Run five seconds of each flood."""
    seconds = min(5.0, budget.seconds / len(FLOODS) / 2.5)
    return compare(FloodedSite(CONF, _documents(), _fill), FLOODS, seconds, budget.seed)


MEASURES = (
    Measure(
        "floods-work",
        "Requests that mean long work delay others at most ten times as much as with apache2.",
        run,
        1,
        150,
    ),
)
