"""Recorded 2.2 configurations, upgraded in place, and their mutants as sides of verifications."""

from __future__ import annotations

import contextlib
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.case import Case, Request
from tests.conformance.client import request_bytes
from tests.conformance.in_process import MODULE_DIRECTORY, event_loop, is_possible
from tests.conformance.site import Modules, RecordedSite, load_module_lines
from tests.verify.mutations import OPERATORS
from whimbrel.base.dialect import V24
from whimbrel.base.errors import ConfigError, StartError
from whimbrel.base.latin1 import from_system
from whimbrel.config.load import load
from whimbrel.config.options import LoadOptions
from whimbrel.engine.engine import Engine
from whimbrel.engine.request import Connection
from whimbrel.http.http1.chunked import ChunkedBody
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions
from whimbrel.modules import ALL
from whimbrel.testing.client import TestClient
from whimbrel.testing.fake_runtime import FakeRuntime
from whimbrel.upgrade.check.fixpoint import upgrade
from whimbrel.upgrade.model import UpgradeOptions
from whimbrel.upgrade.rules import all_rules
from whimbrel.upgrade.source.reading import read_config_tree
from whimbrel.verify.side import Side
from whimbrel.verify.verification import Verdict
from whimbrel.verify.verify import verify

MAIN = "conf/httpd.conf"
MAX_REQUESTS = 60
"""Recorded requests of a case that a mutant is tried with."""
_MPM = "LoadModule mpm_event_module modules/mod_mpm_event.so\n"


@dataclass(frozen=True)
class Mutant:
    """One mutation: *effect* is the first recorded request that the mutant answers otherwise."""

    case: Case
    operator: str
    text: str
    effect: Request


@contextlib.contextmanager
def upgraded_site(case: Case) -> Iterator[RecordedSite]:
    """The site of a 2.2 *case* with its files upgraded, as the working directory."""
    modules = Modules(MODULE_DIRECTORY, frozenset({"so", "core", "http", "prefork"}))
    with RecordedSite(case, modules) as site, contextlib.chdir(site.root):
        lines = "".join(line + "\n" for line in load_module_lines((), "modules"))
        site.write_text(MAIN, lines + site.preamble + site.conf)
        tree = read_config_tree(options(site, MAIN), UpgradeOptions())
        for path, data in upgrade(tree, all_rules()).files.items():
            Path(path).write_bytes(data)
        text = site.read(MAIN)
        site.write_text(MAIN, text if re.search(r"(?im)^LoadModule\s+mpm_", text) else _MPM + text)
        yield site


def options(site: RecordedSite, file: str) -> LoadOptions:
    """How *file* below the root of *site* is read."""
    return LoadOptions(
        server_root=from_system(site.root),
        file=from_system(site.path(file)),
        defines=site.case.defines,
        environment=site.environment(),
    )


def mutants(site: RecordedSite, choose: random.Random, count: int, first: int = 0) -> Iterator[Mutant]:
    """Up to *count* mutants that answer a recorded request otherwise; operators in turn from *first*."""
    text = site.read(MAIN)
    requests = [*site.case.requests]
    if len(requests) > MAX_REQUESTS:
        requests = choose.sample(requests, MAX_REQUESTS)
    known, again = ([*recorded_answers(site, MAIN, requests)] for _ in range(2))
    # a program that prints its process or the time answers otherwise under any configuration
    pairs = [(request, a) for request, a, b in zip(requests, known, again, strict=True) if a == b]
    requests, known = [request for request, _ in pairs], [a for _, a in pairs]
    for number in range(first, first + count):
        operator = OPERATORS[number % len(OPERATORS)]
        for _ in range(6):
            lines = text.split("\n")
            if not known or not operator(lines, choose):
                break
            site.write_text("conf/mutant.conf", "\n".join(lines))
            seen = recorded_answers(site, "conf/mutant.conf", requests)
            # zip reads the answers one by one: the first that differs ends the requests
            effect = next((r for r, a, b in zip(requests, known, seen, strict=False) if a != b), None)
            if effect is not None:
                yield Mutant(site.case, operator.__name__, "\n".join(lines), effect)
                break


def is_found(site: RecordedSite, mutant: Mutant, *, mirrored: bool = False) -> bool:
    """Return True if verify tells the upgraded configuration and *mutant* apart, or calls it undecided."""
    site.write_text("conf/mutant.conf", mutant.text)
    names = MAIN, "conf/mutant.conf"
    sides = [Side.load(options(site, name), V24, name=name, now=StoppedClock.time) for name in names]
    result = verify(*(reversed(sides) if mirrored else sides))
    return result.verdict is Verdict.DIFFERENT


class StoppedClock(FakeRuntime):
    """A runtime at one moment, *time*: times in responses are equal."""

    time = 1_600_000_000.0

    def now(self) -> float:
        """Return that moment."""
        return self.time


def recorded_answers(site: RecordedSite, file: str, requests: Sequence[Request]) -> Iterator[bytes]:
    """Yield the answers to *requests*; none if the configuration does not load."""
    runtime = StoppedClock()
    try:
        configuration = load(options(site, file), ALL, V24)
        runtime.open_segments(configuration)
    except (ConfigError, StartError):
        return
    engine = Engine(configuration, runtime)
    for request in requests:
        yield _answer(engine, site, request)


def _answer(engine: Engine, site: RecordedSite, request: Request) -> bytes:
    connection = Connection(
        request.source or "127.0.0.1", 50000, request.addr, int(site.expand(request.port))
    )
    data, _ = request_bytes(request, site)
    return _unframed(TestClient(engine, connection, event_loop()).send(data, last=True))


def _unframed(answer: bytes) -> bytes:
    """Return *answer* without what differs by chance: times, nonces, and chunks of a program's output."""
    head, blank, body = answer.partition(b"\r\n\r\n")
    if b"\r\ntransfer-encoding: chunked" in head.lower():
        body = ChunkedBody(HeadLimits(), ParserOptions()).feed(body)
    kept = re.sub(
        rb"(?im)^(date|set-cookie|www-authenticate: digest|content-length|transfer-encoding).*\r\n",
        b"",
        head + b"\r\n",
    )
    return kept + blank + body


def is_usable(case: Case) -> bool:
    """Return True for a case of 2.2 whose server a process is not needed for."""
    return (
        bool(case.answer.get("started"))
        and case.preamble
        and not case.strict
        and is_possible(case)
        and not case.backends
        and 1 < len(case.requests) < 400
    )
