"""Random configurations and requests: a handler sees the same of a prepared request as of one whose phases
have run.

WHIMBREL_PREPARED_SEEDS: the number of configurations of each version; WHIMBREL_PREPARED_FIRST: the first.
"""

from __future__ import annotations

import os
import random
from contextlib import closing
from pathlib import Path

import pytest

from tests.differential import cache_engines
from tests.differential.cache_engines import BEGIN, Clock, lay_out, loads
from tests.differential.cache_play import FORGETFUL, Play, make_clock
from tests.differential.request_echo import ECHOING
from tests.hostile import stale
from tests.hostile.measure import Budget
from tests.support.samples import amount
from whimbrel.base.dialect import DIALECTS, V24, Dialect
from whimbrel.engine.prepared import prepared_cache
from whimbrel.engine.prepared.prepared_cache import PreparedCache
from whimbrel.engine.request import Request

SEEDS = int(os.environ.get("WHIMBREL_PREPARED_SEEDS", amount(2, 8)))
FIRST = int(os.environ.get("WHIMBREL_PREPARED_FIRST", "0"))
REQUESTS = 250
FOUND = {"query": 1, "lists": 2, "values": 12, "fields": 1}
"""Seeds whose requests show what is not noted: searches begin there, else at 0."""
CHANGES = amount(5, 20)  # kinds of changes on disk


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time of both servers."""
    return make_clock(monkeypatch)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("prepared")
    lay_out(found)
    return found


@pytest.fixture(autouse=True)
def echoing(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Add the echo to all servers; return the results of the look-ups of prepared requests."""
    monkeypatch.setattr(cache_engines, "ALL", ECHOING)
    monkeypatch.setattr(stale, "ALL", ECHOING)
    results: list[bool] = []
    apply = PreparedCache.apply

    def counted(cache: PreparedCache, r: Request) -> bool:
        results.append(apply(cache, r))
        return results[-1]

    monkeypatch.setattr(PreparedCache, "apply", counted)
    return results


def with_body(data: bytes, dice: random.Random) -> bytes:
    """Return a head with a body, announced or in chunks."""
    if b"Content-Length" in data:
        return data
    head = data[:-2]
    if dice.random() < 0.5:
        return head + b"Content-Length: 4\r\n\r\nbody"
    return head + b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"


def play(root: Path, dialect: Dialect, preamble: str, seed: int, clock: Clock) -> None:
    """Send random requests; fail at a difference."""
    clock.now = BEGIN
    with closing(Play(root, dialect, preamble, seed, clock)) as game:
        if not game.servers:
            return
        head, dice = game.clients.head, random.Random(seed)

        def sent() -> bytes:
            data = head()
            return with_body(data, dice) if dice.random() < 0.1 else data

        game.clients.head = sent  # type: ignore[method-assign]
        for number in range(REQUESTS):
            problem = game.step()
            assert not problem, f"{dialect.name} seed {seed}, request {number}: {problem}"


@pytest.mark.parametrize("version", ["2.4", "2.2"])
def test_handlers_see_the_same(root: Path, version: str, clock: Clock, echoing: list[bool]) -> None:
    dialect = DIALECTS[version]
    preamble = loads(root, dialect)
    for seed in range(FIRST, FIRST + SEEDS):
        play(root, dialect, preamble, seed, clock)
    print(f"{version}: {len(echoing)} look-ups, {sum(echoing)} prepared")
    assert sum(echoing) > len(echoing) * 0.15


@pytest.mark.parametrize("what", ["query", "client", "lists", "values", "fields", "files"])
def test_what_is_not_noted_is_found(
    root: Path, what: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read that is not recorded shows a handler the state of another request."""
    if what == "files":
        monkeypatch.setattr(prepared_cache, "unchanged", lambda _notes, _tick: True)
    else:
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


def test_changes_on_disk(echoing: list[bool]) -> None:
    """After a change of files, directories, links or .htaccess files no prepared request is outdated."""
    result = stale.run(Budget(CHANGES * len(stale.REQUESTS), 120.0))
    assert not result.failures
    assert sum(echoing) > 25 * CHANGES
