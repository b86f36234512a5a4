"""Random configurations and requests: a server with its caches of responses and prepared requests responds
and logs like one without.

WHIMBREL_KEPT_SEEDS: the number of configurations of each version; WHIMBREL_KEPT_FIRST: the first of them.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.differential.cache_engines import BEGIN, CachingWorker, Clock, configured, lay_out, loads
from tests.differential.cache_play import FORGETFUL, Play, make_clock
from tests.support.fakes import TaskLoop
from tests.support.samples import amount
from whimbrel.base.dialect import DIALECTS, V24, Dialect

SEEDS = int(os.environ.get("WHIMBREL_KEPT_SEEDS", amount(3, 14)))
FIRST = int(os.environ.get("WHIMBREL_KEPT_FIRST", "0"))
REQUESTS = 200
FOUND = {"query": 1, "lists": 2, "values": 154, "fields": 1, "count": 5}
"""Seeds whose requests show what is not noted: searches begin there, else at 0."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of both servers."""
    return make_clock(monkeypatch)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("kept")
    lay_out(found)
    return found


def play(root: Path, dialect: Dialect, preamble: str, seed: int, clock: Clock) -> tuple[int, int]:
    """Return the number of responses of one configuration, and how many were built by the server with the
    cache; fail at a difference.
    """
    clock.now = BEGIN
    made = 0
    with closing(Play(root, dialect, preamble, seed, clock)) as game:
        if not game.servers:
            return 0, 0
        engine = game.servers[0].engine
        respond = engine.respond

        def counted(*arguments: object) -> object:
            nonlocal made
            made += 1
            return respond(*arguments)  # type: ignore[arg-type]

        engine.respond = counted  # type: ignore[method-assign, assignment]
        for number in range(REQUESTS):
            problem = game.step()
            assert not problem, f"{dialect.name} seed {seed}, request {number}: {problem}"
        return game.answered, made


@pytest.mark.parametrize("version", ["2.4", "2.2"])
def test_cached_responses_equal_those_of_the_general_path(root: Path, version: str, clock: Clock) -> None:
    dialect = DIALECTS[version]
    preamble, answered, made = loads(root, dialect), 0, 0
    for seed in range(FIRST, FIRST + SEEDS):
        found = play(root, dialect, preamble, seed, clock)
        answered, made = answered + found[0], made + found[1]
    print(f"{version}: {answered} answers, {made} of them made")
    assert answered > SEEDS * REQUESTS * 0.8
    assert made < answered * 0.8


@pytest.mark.parametrize("what", FORGETFUL)
def test_what_is_not_noted_is_found(
    root: Path, what: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read that is not recorded gives a client the response of another: the comparison above must detect
    it.
    """
    monkeypatch.setattr(*FORGETFUL[what])
    preamble = loads(root, V24)
    first = FOUND.get(what, 0)
    for seed in range(first, first + 60):
        try:
            play(root, V24, preamble, seed, clock)
        except AssertionError as problem:
            assert "another answer" in str(problem)
            print(f"found at seed {seed}")
            return
    pytest.fail(f"nobody misses the notes about {what}")


def served(
    root: Path, version: str, block: str, clock: Clock, loop: asyncio.AbstractEventLoop
) -> Callable[[], bytes]:
    """Return a function that returns what a new server with *block* sends for /b.txt."""
    made = configured(root, DIALECTS[version], loads(root, DIALECTS[version]), [block])
    assert made is not None and made[1] == [block]
    server = CachingWorker(made[0], clock, TaskLoop(loop))

    def ask() -> bytes:
        connection = server.connect("127.0.0.1", 4000)
        return server.ask(connection, b"GET /b.txt HTTP/1.0\r\nHost: localhost\r\n\r\n")[0]

    return ask


@pytest.mark.parametrize("version", ["2.4", "2.2"])
def test_programs_filter_responses(root: Path, version: str, clock: Clock) -> None:
    """The filter UP of the configurations runs a program, which takes tasks of an event loop."""
    block = "<Location />\nSetOutputFilter UP\n</Location>"
    with closing(asyncio.new_event_loop()) as loop:
        out = served(root, version, block, clock, loop)()
    assert out.startswith(b"HTTP/1.1 200 ") and out.endswith(b"\r\n\r\nPLAIN B\n")


def test_both_servers_give_a_request_the_same_id(root: Path, clock: Clock) -> None:
    """A compressed body may contain it, so a difference could not be masked."""
    block = 'Header set X-I "%{UNIQUE_ID}e"'
    with closing(asyncio.new_event_loop()) as loop:
        one, other = (served(root, "2.4", block, clock, loop) for _ in range(2))
        first = one()
        assert b"X-I: Uid-" in first and other() == first
        clock.step += 1
        assert one() != first
