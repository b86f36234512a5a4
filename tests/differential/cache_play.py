"""Random clients of two servers of one configuration: one with its caches of responses and prepared requests,
one without.
"""

from __future__ import annotations

import asyncio
import os
import random
from pathlib import Path

import pytest

from tests.differential.cache_engines import (
    FILES,
    MTIME,
    CachingWorker,
    Clock,
    Pair,
    configured,
    masked,
)
from tests.differential.cache_grammar import Clients, Texts
from tests.support.fakes import TaskLoop
from whimbrel.base.dialect import Dialect
from whimbrel.engine.cache import response_template, validity
from whimbrel.engine.expressions import RequestView
from whimbrel.engine.request import Request
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.semantics.tracked_headers import TrackedHeaders
from whimbrel.modules.metadata.mod_unique_id import IdGenerator

ADDRESSES = ("127.0.0.1", "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4", "10.0.0.2")
CHANGING = ("htdocs/a.txt", "htdocs/b.txt", "htdocs/dir/index.html", "htdocs/dir/a.txt", "htdocs/ssi.shtml")
CLOCKED = ("whimbrel.server.worker.state", "whimbrel.server.worker.accounting")


def make_clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of both servers."""
    made = Clock()
    for module in CLOCKED:
        monkeypatch.setattr(f"{module}.time", lambda: made.now)
    monkeypatch.setattr(os, "getloadavg", lambda: (1.5, 1.0, 0.5))  # server-status shows it
    monkeypatch.setattr(IdGenerator, "next", made.unique_id)
    monkeypatch.setattr(
        "whimbrel.modules.metadata.mod_usertrack.random.SystemRandom", lambda: random.Random(1)
    )
    return made


class Play:
    """One configuration, and random clients that send the same requests to two servers of it; *answered*
    counts the responses. `close` ends the loop of both.
    """

    def __init__(self, root: Path, dialect: Dialect, preamble: str, seed: int, clock: Clock) -> None:
        self.chance = random.Random(f"{dialect.name} {seed}")
        self.texts = Texts(self.chance)
        self.root, self.clock = root, clock
        self.loop = asyncio.new_event_loop()
        self._own_files()
        if (
            self.chance.random() < 0.7
        ):  # responses with the id are not cached, and a line in the error log shows it
            preamble = "".join(line for line in preamble.splitlines(keepends=True) if "unique_id" not in line)
        made = configured(root, dialect, preamble, self.texts.blocks())
        self.blocks: list[str] = []
        self.servers: list[CachingWorker] = []
        if made is not None:
            self.blocks = made[1]
            self.servers = [
                CachingWorker(each[0], clock, TaskLoop(self.loop))
                for each in (made, configured(root, dialect, preamble, made[1]) or made)
            ]
            self.servers[1].engine.is_general_only = True
        self.clients = Clients(self.texts)
        self.pairs: list[Pair] = []
        self.port = 4000
        self.answered = 0

    def close(self) -> None:
        """End the loop."""
        self.loop.close()

    def _own_files(self) -> None:
        for name in CHANGING:
            (self.root / name).write_text(FILES[name])
            os.utime(self.root / name, (MTIME, MTIME))
        for name in ("htdocs/.htaccess", "htdocs/dir/.htaccess", "htdocs/list/.htaccess"):
            (self.root / name).unlink(missing_ok=True)
        self.htaccess: dict[str, str] = {}
        for name in ("htdocs/.htaccess", "htdocs/dir/.htaccess", "htdocs/list/.htaccess"):
            if self.chance.random() < 0.3:
                self._put(name)

    def _put(self, name: str) -> None:
        text = self.texts.htaccess().replace("@", str(self.root))
        self.htaccess[name] = text
        path = self.root / name
        path.with_suffix(".new").write_text(text, "latin-1")
        os.utime(path.with_suffix(".new"), (MTIME, MTIME))
        path.with_suffix(".new").rename(path)

    def turn(self) -> None:
        """The next tick; it may be another second, and a file may have changed.

        Never an .htaccess file: the first request after its change may begin with the old plans and check
        access again for a sub-request with the new ones.
        """
        for server in self.servers:
            server.loop.run(server.loop.tick)
        if self.chance.random() < 0.2:
            self.clock.now += self.chance.choice((0.25, 1.0, 70.0))
        if self.chance.random() < 0.03:
            path = self.root / self.chance.choice(CHANGING)
            path.write_text(self.chance.choice(("one\n", "other\n")))
            os.utime(path, (MTIME + self.chance.randrange(1000),) * 2)

    def pair(self) -> Pair:
        """A connection: an open one or one more."""
        chance = self.chance
        self.pairs = [one for one in self.pairs if one.open]
        if len(self.pairs) < 4 or chance.random() < 0.05:
            source = chance.choice(ADDRESSES)
            self.port += 1
            first, second = (server.connect(source, self.port) for server in self.servers)
            self.pairs.append(Pair(first, second))
        return chance.choice(self.pairs[-6:])

    def step(self) -> str:
        """Send one request to both; return the difference, "" for none."""
        pair, data = self.pair(), self.clients.head()
        pair.sent.append(data)
        self.clock.step += 1
        out, logs = self.servers[0].ask(pair.kept, data)
        self.servers[1].forget()
        expected = self.servers[1].ask(pair.made, data)
        self.answered += 1
        is_same = masked(out, logs) == masked(*expected) and pair.same
        if self.chance.random() < 0.3:
            self.turn()
        if is_same:
            return ""
        asked = f"{pair.kept[0].connection.client_ip} {data!r}"
        shown = "\n".join([*self.blocks, *(f"== {name}\n{text}" for name, text in self.htaccess.items())])
        return f"another answer:\n{asked}\nkept {masked(out, logs)}\nmade {masked(*expected)}\n{shown}"


def _address(view: RequestView) -> str:
    connection = view.request.connection
    return str(connection.useragent_ip or connection.client_ip)


FORGETFUL = {
    "query": (
        Request,
        "args",
        property(lambda r: r.untracked_args, lambda r, query: setattr(r, "untracked_args", query)),
    ),
    "client": (RequestView, "client", _address),
    "lists": (
        Request,
        "client_in",
        lambda r, addresses: (r.connection.useragent_ip or r.connection.client_ip) in addresses,
    ),
    "values": (TrackedHeaders, "get_classified", Headers.get_classified),
    "fields": (TrackedHeaders, "get", Headers.get),
    "files": (validity, "unchanged", lambda _notes, _turn: True),
    "count": (response_template, "KeepAliveCount", type("NoCount", (), {})),
}
