"""Two users and one cached URL: no cached response reaches a user for whom Vary does not select it.

A back end sends Vary in one to three lines, in odd spellings, and mod_headers adds to them; both stores hold
the responses.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

from tests.hostile.measure import Budget, Measure, Result
from tests.hostile.server import APACHE, WHIMBREL, HostileSite, Program, ServerProcess

STORES: Final = {
    "disk": "LoadModule cache_disk_module /usr/lib/apache2/modules/mod_cache_disk.so\n"
    'CacheRoot "%ROOT%/cache"\nCacheEnable disk /\n',
    "socache": "LoadModule cache_socache_module /usr/lib/apache2/modules/mod_cache_socache.so\n"
    "LoadModule socache_shmcb_module /usr/lib/apache2/modules/mod_socache_shmcb.so\n"
    'CacheSocache "shmcb:%ROOT%/cache/shm(10485760)"\nCacheSocacheMaxSize 102400\nCacheEnable socache /\n',
}
MODULES: Final = ("cache", "proxy", "proxy_http")
LOAD: Final = "".join(f"LoadModule {m}_module /usr/lib/apache2/modules/mod_{m}.so\n" for m in MODULES)
SETTINGS: Final = (
    "ProxyPass / http://127.0.0.1:{}/\nCacheHeader on\nCacheQuickHandler {}\nCacheDefaultExpire 600\n"
    "CacheIgnoreNoLastMod on\n"
)
NEUTRAL: Final = ("Accept", "Cookie", "User-Agent", "Accept-Encoding", "X-Other")
DECISIVE: Final = (("X-User", "x-user", "X-USER"), ("*",), ("*", "X-User"), ())  # of one response
SEPARATORS: Final = (",", ", ", " ,", ",,", " , ,")
ENDS: Final = ("", "", " ", ",")
HEADER: Final = (
    "",
    "",
    "Header append Vary X-User\n",
    "Header always add Vary *\n",
    "Header always append Vary X-User\n",
    "Header add Vary *\n",
)


@dataclass(frozen=True)
class Case:
    """One URL: the lines of Vary of its responses."""

    lines: tuple[str, ...]

    @property
    def path(self) -> str:
        """The path that makes the back end send the lines."""
        return "/" + "\n".join(self.lines).encode().hex()


class _Handler(BaseHTTPRequestHandler):
    """Responds with the lines of Vary in its path, and names the user that it has read."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Send the response."""
        body = f"of {self.headers.get('X-User')}\n".encode()
        self.send_response(200)
        for line in bytes.fromhex(self.path.strip("/?")).decode().split("\n"):
            self.send_header("Vary", line)
        for name, value in (("Cache-Control", "max-age=600"), ("Content-Type", "text/plain")):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""


@contextmanager
def origin() -> Iterator[int]:
    """Run the back end; yield its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


def case(chance: random.Random) -> Case:
    """Return one to three random lines, of which one at least has a decisive name if there is one."""
    decisive = chance.choice(DECISIVE)
    count = chance.choice((1, 2, 3))
    lines = [[chance.choice(NEUTRAL) for _ in range(chance.choice((0, 1, 1, 2)))] for _ in range(count)]
    for name in decisive:
        line = chance.choice(lines)
        line.insert(chance.randrange(len(line) + 1), name)
    return Case(tuple(chance.choice(SEPARATORS).join(line) + chance.choice(ENDS) for line in lines))


def names(lines: list[str]) -> set[str]:
    """Return the members of all lines (RFC 9110, 12.5.5), in lower case."""
    return {name for line in lines for word in line.split(",") if (name := word.strip().lower())}


def fetch_as(server: ServerProcess, path: str, user: str) -> tuple[list[str], str, bool]:
    """Return the lines of Vary in the response to *user*, the user that it is of, and True for a hit."""
    head, _, body = server.get(path, f"X-User: {user}").partition(b"\r\n\r\n")
    fields = [line.partition(b":") for line in head.split(b"\r\n")[1:]]
    vary = [value.strip().decode("latin-1") for name, _, value in fields if name.lower() == b"vary"]
    owner = re.search(rb"of (\w+)", body)
    return vary, owner[1].decode() if owner else "", b"\r\nX-Cache: HIT" in head


def sites(chance: random.Random, port: int) -> Iterator[tuple[str, HostileSite]]:
    """Yield a site for each store and each handler of mod_cache, with random fields of mod_headers."""
    for name, store in STORES.items():
        for quick in ("on", "off"):
            conf = LOAD + store + SETTINGS.format(port, quick) + chance.choice(HEADER)
            yield f"{name}, quick handler {quick}", HostileSite(conf)


def serving(program: Program, site: HostileSite) -> ServerProcess:
    """Return a server whose workers may write to its cache."""
    server = ServerProcess(program, site)
    (server.root / "cache").mkdir()
    (server.root / "cache").chmod(0o777)
    return server


def leaks(server: ServerProcess, each: Case) -> tuple[bool, bool]:
    """Return True if a second user gets a response that Vary keeps from them, or if ``*`` is stored; and True
    if a third response comes from the cache.
    """
    fetch_as(server, each.path, "ann")
    vary, owner, is_hit = fetch_as(server, each.path, "bob")
    has_leaked = owner != "bob" and not names(vary).isdisjoint(("x-user", "*"))
    has_leaked = has_leaked or (is_hit and "*" in names(list(each.lines)))
    return has_leaked, fetch_as(server, each.path, "bob")[2]


def run(budget: Budget) -> Result:
    """Send the same URL for two users, and for the first one again."""
    result = Result()
    counts = {"urls": 0, "hits": 0, "apache2 leaks": 0}
    beside = APACHE.is_present
    with origin() as port:
        while counts["urls"] < budget.cases and not budget.is_spent:
            for name, site in sites(budget.random, port):
                found = [case(budget.random) for _ in range(max(min(budget.cases // 8, 25), 1))]
                with serving(WHIMBREL, site) as whimbrel:
                    for each in found:
                        counts["urls"] += 1
                        has_leaked, is_hit = leaks(whimbrel, each)
                        counts["hits"] += is_hit
                        if has_leaked:
                            result.failures.append(f"{name}: {each.lines}\n{site.conf}")
                if beside:
                    with serving(APACHE, site) as apache:
                        counts["apache2 leaks"] += sum(leaks(apache, each)[0] for each in found)
    result.figures.update(counts)
    if not beside:
        result.figures["apache2"] = "not installed"
    return result


MEASURES = (
    Measure(
        "vary",
        "No cached response reaches a user for whom its Vary fields, in all their lines, do not select it.",
        run,
        400,
        240,
    ),
)
