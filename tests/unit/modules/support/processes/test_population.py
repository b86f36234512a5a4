"""Spawn control: limits and messages of mod_fcgid 2.3.9 (fcgid_spawn_ctl.c)."""

from __future__ import annotations

from whimbrel.modules.support.processes.population import Populations
from whimbrel.modules.support.processes.program import KeeperLimits, ProgramClass, unpacked


def program(name: str = "/a", most: int = 2, least: int = 1) -> ProgramClass:
    """Return a class of processes."""
    return ProgramClass(name, name, (name,), (("A", "b"),), "/", most=most, least=least)


def test_limits_of_a_class_and_of_all() -> None:
    populations = Populations(KeeperLimits(most=3))
    for _ in range(2):
        assert populations.refusal(program()) == ""
        populations.started(program())
    assert populations.refusal(program()) == (
        "too many /a processes (current:2, max:2), skip the spawn request"
    )
    populations.started(program("/b"))
    assert populations.refusal(program("/c")) == "/c total process count 3 >= 3, skip the spawn request"


def test_many_starts_in_a_moment_are_refused() -> None:
    populations = Populations(KeeperLimits(score_limit=3, time_score=0))
    for _ in range(4):
        populations.started(program(most=100))
    text = "/a spawn score 3 >= 3, skip the spawn request"
    assert populations.refusal(program(most=100)) == text


def test_few_idle_processes_stay() -> None:
    populations = Populations(KeeperLimits())
    key = program().key
    populations.started(program())
    assert not populations.may_stop(key, 0)
    populations.started(program())
    assert populations.may_stop(key, 0) and not populations.may_stop(key, 1)
    populations.ended(key)
    assert not populations.may_stop(key, 0)


def test_a_class_is_a_message() -> None:
    assert unpacked(program().packed()) == program()
    assert program("/a").key != program("/b").key
