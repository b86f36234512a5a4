"""Chains without the lines that later ones replace decide what the whole chains decide, by `access` itself."""

from __future__ import annotations

import random

import pytest
from tests.unit.access.generated import chain

from whimbrel.access.decide import World, decide
from whimbrel.access.decision import Undecided, Verdict
from whimbrel.access.layers import Layer, Line
from whimbrel.access.merged import Broken
from whimbrel.config.model import SectionKind
from whimbrel.dialect import DIALECTS
from whimbrel.errors import ConfigError
from whimbrel.upgrade.access_control.decided import Decisions

MODULES = ("authz_host", "auth_basic", "authn_file", "authz_user", "authz_groupfile")
DENIED = (Line("order", "deny,allow"), Line("deny", "from all"))
OPEN = (Line("order", "allow,deny"), Line("allow", "from all"))
USERS = (Line("authtype", "Basic"), Line("authname", "x"), Line("authuserfile", "/u"), Line("require", "user bob"))


def decisions(old: World | None = None, new: World | None = None) -> Decisions:
    return Decisions(old or World(MODULES), new or World((*MODULES, "authz_core", "authn_core", "access_compat")))


@pytest.mark.parametrize("version", ["2.2", "2.4"])
@pytest.mark.parametrize("seed", range(120))
def test_what_is_left_out_decides_nothing(version: str, seed: int) -> None:
    given = chain(random.Random(f"{version} {seed}"), version)
    world = World(given.modules, "/", lambda _path: True, (), ("FROB",))
    made = decisions(world, world)
    layers = [made.layer(layer.kind, layer.htaccess, layer.lines) for layer in given.layers()]
    try:
        whole = decide(layers, DIALECTS[version], world, made.space)
    except (ConfigError, Broken, Undecided):
        assert made.decided(version, layers) is None
        return
    found = made.decided(version, layers)
    assert found is not None
    assert found.when == whole.when


def test_sections_that_a_later_one_replaces_are_one_decision() -> None:
    made = decisions()
    root, other, inner = (made.layer(SectionKind.DIRECTORY, False, lines) for lines in (DENIED, OPEN, OPEN))
    assert made.decided("2.2", [root, inner]) is made.decided("2.2", [inner])
    assert made.decided("2.2", [root, other, inner]) is made.decided("2.2", [inner])
    assert made.decided("2.2", [root]) is not made.decided("2.2", [inner])


def test_satisfy_stays_in_2_2_and_goes_in_2_4() -> None:
    made = decisions()
    any_of = made.layer(SectionKind.DIRECTORY, False, (*USERS, Line("satisfy", "Any"), *DENIED))
    inner = made.layer(SectionKind.LOCATION, False, DENIED)
    old, new = made.decided("2.2", [any_of, inner]), made.decided("2.4", [any_of, inner])
    assert old is not None
    assert new is not None
    assert old.when[Verdict.GRANTED] != made.space.false  # a right password is enough
    assert new.when[Verdict.GRANTED] == made.space.false


def test_layers_and_differences_are_worked_out_once() -> None:
    made = decisions()
    denied, free = made.layer(SectionKind.LOCATION, False, DENIED), made.layer(SectionKind.LOCATION, False, OPEN)
    assert made.layer(SectionKind.LOCATION, False, tuple(DENIED)) is denied
    one, other = made.decided("2.2", [denied]), made.decided("2.2", [free])
    assert one is not None
    assert other is not None
    example = made.difference(one, other)
    assert example is not None
    assert (example.before, example.after) == (Verdict.FORBIDDEN, Verdict.GRANTED)
    assert made.difference(one, other) is example


def test_a_file_with_an_error_fails_alone() -> None:
    made = decisions()
    assert made.fails_alone(Layer((Line("order", "up,down"),), SectionKind.HTACCESS, True))
    assert not made.fails_alone(Layer(DENIED, SectionKind.HTACCESS, True))
    assert made.error("2.2").when[Verdict.ERROR] == made.space.true
