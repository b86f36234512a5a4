"""Random configurations and requests: a server with its caches of responses and prepared requests responds
and logs like one without.

WHIMBREL_KEPT_SEEDS: the number of configurations of each version; WHIMBREL_KEPT_FIRST: the first of them.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.differential.cache_engines import BEGIN, Clock, lay_out, loads
from tests.differential.cache_play import FORGETFUL, Play, make_clock
from tests.support.samples import amount
from whimbrel.base.dialect import DIALECTS, V24, Dialect

SEEDS = int(os.environ.get("WHIMBREL_KEPT_SEEDS", amount(5, 14)))
FIRST = int(os.environ.get("WHIMBREL_KEPT_FIRST", "0"))
REQUESTS = 200


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
    game = Play(root, dialect, preamble, seed, clock)
    if not game.servers:
        return 0, 0
    engine, made = game.servers[0].engine, 0
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
    first = 150 if what == "values" else 0
    for seed in range(first, first + 60):
        try:
            play(root, V24, preamble, seed, clock)
        except AssertionError as problem:
            assert "another answer" in str(problem)
            return
    pytest.fail(f"nobody misses the notes about {what}")
