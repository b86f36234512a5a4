"""Random differential of specialized answers: a worker, and one that takes the general path for each request.

    python -m tests.differential.specialized_run --seconds 1800 --first 0 --details differences.txt

Each seed is a configuration with a document tree, and a script of requests and of changes on disk. After each
step both workers have sent the same bytes, logged the same lines, counted the same and show the same
scoreboard. A difference is reduced to few blocks and steps. Exit code 1 if one was found. For root no file is
unreadable, unless `setpriv --bounding-set -dac_override,-dac_read_search` starts the program.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import pytest
from hpack import Decoder, Encoder

from tests.differential.cache_engines import BEGIN, CachingWorker, Clock, Pair, configured, loads, masked
from tests.differential.specialized_requests import Requests
from tests.differential.specialized_site import Change, Site, SiteMaker, loads_of, random_change, write_tree
from tests.hostile.http2_frames import (
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PREFACE,
    frame,
    read_frames,
    settings,
    window,
)
from tests.support.fakes import TaskLoop
from whimbrel.base.dialect import DIALECTS, Dialect
from whimbrel.engine.cache import index as cache_index
from whimbrel.engine.specialized import budget, directories
from whimbrel.engine.specialized.directories import SpecializedResponses
from whimbrel.modules.metadata.mod_unique_id import IdGenerator

CLOCKED: Final = (
    "whimbrel.server.worker.state",
    "whimbrel.server.worker.accounting",
    "whimbrel.engine.specialized.answers",
)
SOURCES: Final = ("127.0.0.1", "127.0.0.1", "127.0.0.2", "10.0.0.2")
STEPS: Final = 90
MAX_WAITS: Final = 12  # iterations of the loop after each input
MAX_TICKS: Final = 12  # in which pipelined requests and streams are answered
MAX_PROBES: Final = 250  # runs of one reduction
LARGE_WINDOW: Final = settings((4, (1 << 31) - 1)) + window(0, (1 << 31) - 65536)

Item = TypeVar("Item")


class Tick(NamedTuple):
    """The end of a tick; *seconds* pass."""

    seconds: float


class Send(NamedTuple):
    """Bytes that client *number* of *source* sends, as they arrive; *waits* for pipelined responses."""

    number: int
    source: str
    pieces: tuple[bytes, ...]
    waits: bool


class Stream(NamedTuple):
    """A request of HTTP/2 client *number*; the responses to concurrent ones may come in another order."""

    number: int
    source: str
    fields: tuple[tuple[str, str], ...]


Step = Tick | Send | Stream | Change


class Difference(NamedTuple):
    """A difference: the last step's results, with the configuration and the steps that lead to it."""

    seed: int
    version: str
    what: str
    site: Site
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        parts = [f"== {self.version} seed {self.seed}: {self.what}", *self.site.blocks]
        parts += [f"-- {place}.htaccess\n{text}" for place, text in self.site.htaccess.items()]
        return "\n".join([*parts, *map(repr, self.steps)])


@contextmanager
def still_clock() -> Iterator[Clock]:
    """Let all modules read one clock, and make random values predictable."""
    clock = Clock()
    with pytest.MonkeyPatch.context() as patch:
        for module in CLOCKED:
            patch.setattr(f"{module}.time", lambda: clock.now)
        patch.setattr("whimbrel.engine.output.byteranges._boundary", lambda: "limit")
        patch.setattr(IdGenerator, "next", clock.unique_id)
        patch.setattr("whimbrel.modules.metadata.mod_usertrack.random.SystemRandom", lambda: random.Random(1))
        yield clock


class SteppedLoop(TaskLoop):
    """A loop whose tasks run until they wait for clients."""

    async def settle(self) -> None:
        """Let the tasks run."""
        for _ in range(MAX_WAITS):
            await asyncio.sleep(0)


class Http2Client:
    """A client of both workers: the same frames for both, and a decoder for each."""

    def __init__(self, pair: Pair) -> None:
        self.pair, self.encoder, self.stream = pair, Encoder(), -1
        self.decoders = (Decoder(1 << 20), Decoder(1 << 20))
        self.pending = PREFACE + LARGE_WINDOW

    def request(self, head: Sequence[tuple[str, str]]) -> bytes:
        """Return the frames of a request."""
        self.stream += 2
        fields = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head]
        out = frame(HEADERS, END_HEADERS | END_STREAM, self.stream, self.encoder.encode(fields))
        out, self.pending = self.pending + out, b""
        return out

    def events(self, which: int, data: bytes) -> dict[int, list[Any]]:
        """Return what a worker sent on each stream."""
        found: dict[int, list[Any]] = {}
        for kind, flags, number, payload in read_frames(data):
            events = found.setdefault(number, [])
            if kind == HEADERS:
                events.append([*self.decoders[which].decode(payload, raw=True)])
            elif kind == DATA and events and isinstance(events[-1], bytes):
                events[-1] += payload
            else:
                events.append(payload if kind == DATA else (kind, flags, payload))
            if flags & END_STREAM and kind in (HEADERS, DATA):
                events.append("end")
        return found


class Run:
    """Both workers of one site: `kept` with the specialized functions, `made` without."""

    def __init__(
        self,
        root: Path,
        dialect: Dialect,
        preamble: str,
        site: Site,
        clock: Clock,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.root, self.clock, clock.now = root, clock, BEGIN
        write_tree(root, site.htaccess)
        self.workers: list[CachingWorker] = []
        for is_general in (False, True):
            made = configured(root, dialect, preamble, list(site.blocks), site.base)
            if made is None:
                break
            worker = CachingWorker(made[0], clock, SteppedLoop(loop))
            worker.engine.is_general_only = is_general
            worker.engine.turns.length = float("inf")  # long work is not cut by the clock
            made[0].boundary = "limit"
            self.workers.append(worker)
            self.blocks = tuple(block.replace(str(root), "@") for block in made[1])
        self.pairs: dict[int, Pair] = {}
        self.clients: dict[int, Http2Client] = {}
        self.ends: list[tuple[CachingWorker, Any, Any]] = []
        self.port = 4000

    def close(self) -> None:
        """End all connections."""
        for worker, connection, wire in self.ends:
            worker.loop.run((wire.protocol or connection).connection_lost, None)

    @property
    def has_started(self) -> bool:
        """Return True if the configuration was accepted."""
        return len(self.workers) == 2

    def step(self, step: Step) -> str:
        """Take one step; return the difference, "" for none."""
        self.clock.step += 1
        if isinstance(step, Tick):
            self.clock.now += step.seconds
            self._tick()
        elif isinstance(step, Change):
            self._tick()
            step.apply(self.root)
        elif isinstance(step, Send):
            return self._send(self._pair(step.number, step.source), step.pieces, step.waits)
        else:
            client = self.clients.get(step.number)
            if client is None or not self._is_open(client.pair):
                client = self.clients[step.number] = Http2Client(self._connect(step.source))
            return self._send(client.pair, (client.request(step.fields),), True, client)
        return ""

    def _tick(self) -> bool:
        """End the tick of both workers; return True if there is more to do."""
        for worker in self.workers:
            worker.loop.run(worker.loop.tick)
        return any(worker.loop.ready for worker in self.workers)

    def _connect(self, source: str) -> Pair:
        self.port += 1
        first, second = (worker.connect(source, self.port) for worker in self.workers)
        self.ends += [(worker, *end) for worker, end in zip(self.workers, (first, second), strict=True)]
        return Pair(first, second)

    def _is_open(self, pair: Pair) -> bool:
        return not pair.kept[1].is_closed and not pair.made[1].is_closed

    def _pair(self, number: int, source: str) -> Pair:
        pair = self.pairs.get(number)
        if pair is None or not pair.open:
            pair = self.pairs[number] = self._connect(source)
        return pair

    def _send(
        self, pair: Pair, pieces: Sequence[bytes], waits: bool, client: Http2Client | None = None
    ) -> str:
        for worker in self.workers:
            worker.runtime.logs.clear()
            worker.be_busy()
        for _connection, wire in (pair.kept, pair.made):
            wire.out = b""
        for piece in pieces:
            for worker, (connection, wire) in zip(self.workers, (pair.kept, pair.made), strict=True):
                if not wire.is_closed:
                    worker.loop.run((wire.protocol or connection).data_received, piece)
        if waits:
            for _ in range(MAX_TICKS):
                if not self._tick():
                    break
        for worker in self.workers:
            worker.loop.run(worker.service.write_gathered)
        results = [
            self._result(worker, *end)
            for worker, end in zip(self.workers, (pair.kept, pair.made), strict=True)
        ]
        if client is not None:
            for which, result in enumerate(results):
                result["sent"] = client.events(which, result["sent"])
        wrong = [name for name in results[0] if results[0][name] != results[1][name]]
        return "\n".join(f"{name}\n  kept {results[0][name]}\n  made {results[1][name]}" for name in wrong)

    def _result(self, worker: CachingWorker, connection: Any, wire: Any) -> dict[str, Any]:
        out, lines = masked(wire.out, worker.runtime.logs)
        service, protocol = worker.service, wire.protocol or connection
        return {
            "sent": out,
            "logs": lines,
            "counters": (service.requests, service.sent),
            "row": None if wire.protocol is not None else dict(connection.scoreboard_row()),
            "state": (connection.state, wire.is_closed, protocol.connection.served),
        }

    def beyond_bounds(self) -> str:
        """Return which bound the first worker's cache exceeds."""
        cache = self.workers[0].engine.response_cache
        for index in cache.indexes():
            known = index.specialized._directories
            functions = [function for each in known.values() for function in each.functions.values()]
            if len(known) > directories.MAX_DIRECTORIES:
                return "directories"
            if any(len(each.functions) > directories.MAX_FUNCTIONS for each in known.values()):
                return "functions"
            if any(len(function.answers) > directories.MAX_ANSWERS for function in functions):
                return "answers"
        levels = (
            (cache.by_key, cache_index.MAX_ENTRIES, cache_index.MAX_BYTES),
            (cache.by_bytes, cache_index.MAX_HEADS, cache_index.MAX_HEAD_BYTES),
        )
        if any(len(level) > most or level.bytes > most_bytes for level, most, most_bytes in levels):
            return "entries"
        if cache.learned.entries > budget.MAX_LEARNED or cache.learned.bytes > (
            budget.MAX_LEARNED_BYTES + cache_index.MAX_WEIGHT
        ):
            return "learned"
        stored = self.workers[1].engine.response_cache
        return "the general path stores" if stored.learned.entries + len(stored.by_key) else ""


def random_script(dice: random.Random, maker: SiteMaker) -> list[Step]:
    """Return the steps of one site."""
    requests, steps = Requests(dice, tuple(maker.texts.pools["nm"])), list[Step]()
    now, changes = BEGIN, dice.choice((0.0, 0.03, 0.08))
    share = dice.choice((0.05, 0.05, 0.4))  # of HTTP/2
    sources = [dice.choice(SOURCES) for _ in range(8)]
    for _ in range(STEPS):
        if dice.random() < 0.4:
            passed = dice.choice((0.0, 0.0, 0.0, 0.0, 0.3, 1.0, 70.0))
            now += passed
            steps.append(Tick(passed))
        if dice.random() < changes:
            steps.append(random_change(dice, maker, requests.names, now))
        number = dice.randrange(5)
        if dice.random() < share:
            steps.append(Stream(number % 2, sources[-1 - number % 2], tuple(requests.fields())))
            continue
        data = requests.send()
        pieces = requests.pieces(data)
        is_long = data.count(b"\n\r\n") + data.count(b"\n\n") > 1 or len(pieces) > 1
        steps.append(Send(number, sources[number], pieces, is_long))
    return steps


class Differential:
    """Runs seeds under *root*; *counts* are their figures."""

    def __init__(self, root: Path, clock: Clock) -> None:
        self.root, self.clock, self.loop = root, clock, asyncio.new_event_loop()
        (root / "conf").mkdir(parents=True, exist_ok=True)
        write_tree(root, {})
        self.preambles = {name: loads(root, dialect) for name, dialect in DIALECTS.items()}
        self.preambles["2.4"] += "LoadModule http2_module modules/mod_http2.so\n"
        self.counts: Counter[str] = Counter()

    def seed(self, seed: int, version: str, *, reduces: bool = True) -> Difference | None:
        """Run one seed; return the difference, reduced, None without one."""
        dice = random.Random(f"{version} {seed}")
        maker = SiteMaker(dice)
        site = maker.site()
        steps = random_script(dice, maker)
        found = self.site(version, site, steps)
        if found is None:
            return None
        what, site, steps = found
        if reduces:
            what, site, steps = self._reduced(version, what, site, steps)
        return Difference(seed, version, what, site, tuple(steps))

    def site(self, version: str, site: Site, steps: Sequence[Step]) -> tuple[str, Site, list[Step]] | None:
        """Run *steps* on *site*; return the difference with what led to it, None without one."""
        return self._run(version, site, steps, counted=True)

    def _run(
        self, version: str, site: Site, steps: Sequence[Step], *, counted: bool = False
    ) -> tuple[str, Site, list[Step]] | None:
        preamble = loads_of(self.preambles[version], site.modules)
        run = Run(self.root, DIALECTS[version], preamble, site, self.clock, self.loop)
        if not run.has_started:
            self.counts["refused"] += counted
            return None
        self.counts["sites"] += counted
        site = site._replace(blocks=run.blocks)
        with pytest.MonkeyPatch.context() as patch:
            if counted:
                patch.setattr(SpecializedResponses, "respond", self._counted(SpecializedResponses.respond))
            for number, step in enumerate(steps):
                self.counts["steps"] += counted
                try:
                    what = run.step(step)
                except Exception:
                    what = traceback.format_exc()
                if what:
                    run.close()
                    return what, site, list(steps[: number + 1])
        what = run.beyond_bounds()
        run.close()
        return (what, site, list(steps)) if what else None

    def _counted(self, respond: Callable[..., Any]) -> Callable[..., Any]:
        def count(*arguments: Any) -> Any:
            found = respond(*arguments)
            self.counts["specialized"] += found is not None
            if found is not None:
                kind = "file" if found[1] is not None else str(found[0].request.status)
                self.counts[f"specialized {kind}"] += 1
            return found

        return count

    def _reduced(
        self, version: str, what: str, site: Site, steps: list[Step]
    ) -> tuple[str, Site, list[Step]]:
        best, probes = (what, site, steps), 0
        kind = what.splitlines()[0]

        def fails(site: Site, steps: Sequence[Step]) -> bool:
            nonlocal best, probes
            probes += 1
            found = self._run(version, site, steps) if probes < MAX_PROBES else None
            if found is None or found[0].splitlines()[0] != kind:
                return False
            best = found
            return True

        shorter(steps, lambda less: fails(best[1], less))
        shorter(site.blocks, lambda less: fails(site._replace(blocks=tuple(less)), best[2]))
        shorter(list(site.htaccess), lambda less: fails(_with_files(best[1], less), best[2]))
        shorter(best[2], lambda less: fails(best[1], less))
        return best


def _with_files(site: Site, places: Sequence[str]) -> Site:
    return site._replace(htaccess={place: site.htaccess[place] for place in places})


def shorter(items: Sequence[Item], fails: Callable[[Sequence[Item]], bool]) -> Sequence[Item]:
    """Return fewer of *items* with which *fails* is true."""
    size = max(1, len(items) // 2)
    while True:
        at = 0
        while at < len(items):
            less = [*items[:at], *items[at + size :]]
            if fails(less):
                items = less
            else:
                at += size
        if size == 1:
            return items
        size //= 2


def main() -> int:
    """Run seeds until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 30)
    parser.add_argument("--versions", default="2.4,2.4,2.4,2.2")
    parser.add_argument("--details", type=Path, help="file to which differences are appended")
    options = parser.parse_args()
    end, found = time.monotonic() + options.seconds, 0
    versions = options.versions.split(",")
    with tempfile.TemporaryDirectory(prefix="whimbrel-specialized-") as folder, still_clock() as clock:
        differential = Differential(Path(folder, "root"), clock)
        for seed in range(options.first, options.first + options.count):
            if time.monotonic() > end:
                break
            if seed % 100 == 0:
                print(f"seed {seed}", dict(sorted(differential.counts.items())), flush=True)
            difference = differential.seed(seed, versions[seed % len(versions)])
            if difference is not None:
                found += 1
                print(difference, "\n", flush=True)
                if options.details is not None:
                    with options.details.open("a") as out:
                        out.write(f"{difference}\n\n")
    print(dict(sorted(differential.counts.items())), f"differences: {found}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
