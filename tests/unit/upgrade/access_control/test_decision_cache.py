"""Chains without the lines that later ones replace decide what the whole chains decide, by
`access` itself."""

from __future__ import annotations

import random

import pytest
from tests.support.samples import amount
from tests.unit.access.generated import chain

from whimbrel.access.decide import AccessEnvironment, decide
from whimbrel.access.decision import AccessVerdict, Undecided
from whimbrel.access.environment import BrokenHtaccess
from whimbrel.access.layers import AccessLayer, AccessLine
from whimbrel.base.dialect import DIALECTS
from whimbrel.base.errors import ConfigError
from whimbrel.config.model import SectionKind
from whimbrel.upgrade.access_control.decision_cache import DecisionCache

MODULES = ("authz_host", "auth_basic", "authn_file", "authz_user", "authz_groupfile")
DENIED = (AccessLine("order", "deny,allow"), AccessLine("deny", "from all"))
OPEN = (AccessLine("order", "allow,deny"), AccessLine("allow", "from all"))
USERS = (
    AccessLine("authtype", "Basic"),
    AccessLine("authname", "x"),
    AccessLine("authuserfile", "/u"),
    AccessLine("require", "user bob"),
)


def decisions(old: AccessEnvironment | None = None, new: AccessEnvironment | None = None) -> DecisionCache:
    return DecisionCache(
        old or AccessEnvironment(MODULES),
        new or AccessEnvironment((*MODULES, "authz_core", "authn_core", "access_compat")),
    )


@pytest.mark.parametrize("version", ["2.2", "2.4"])
@pytest.mark.parametrize("seed", range(amount(40, 120)))
def test_what_is_left_out_decides_nothing(version: str, seed: int) -> None:
    given = chain(random.Random(f"{version} {seed}"), version)
    world = AccessEnvironment(given.modules, "/", lambda _path: True, (), ("FROB",))
    made = decisions(world, world)
    layers = [made.layer(layer.kind, layer.in_htaccess, layer.lines) for layer in given.layers()]
    try:
        whole = decide(layers, DIALECTS[version], world, made.space)
    except (ConfigError, BrokenHtaccess, Undecided):
        assert made.decision(version, layers) is None
        return
    found = made.decision(version, layers)
    assert found is not None
    assert found.when == whole.when


def test_sections_that_a_later_one_replaces_are_one_decision() -> None:
    made = decisions()
    root, other, inner = (made.layer(SectionKind.DIRECTORY, False, lines) for lines in (DENIED, OPEN, OPEN))
    assert made.decision("2.2", [root, inner]) is made.decision("2.2", [inner])
    assert made.decision("2.2", [root, other, inner]) is made.decision("2.2", [inner])
    assert made.decision("2.2", [root]) is not made.decision("2.2", [inner])


def test_satisfy_stays_in_2_2_and_goes_in_2_4() -> None:
    made = decisions()
    any_of = made.layer(SectionKind.DIRECTORY, False, (*USERS, AccessLine("satisfy", "Any"), *DENIED))
    inner = made.layer(SectionKind.LOCATION, False, DENIED)
    old, new = made.decision("2.2", [any_of, inner]), made.decision("2.4", [any_of, inner])
    assert old is not None
    assert new is not None
    assert old.when[AccessVerdict.GRANTED] != made.space.false  # a right password is enough
    assert new.when[AccessVerdict.GRANTED] == made.space.false


def test_layers_and_differences_are_worked_out_once() -> None:
    made = decisions()
    denied, free = (
        made.layer(SectionKind.LOCATION, False, DENIED),
        made.layer(SectionKind.LOCATION, False, OPEN),
    )
    assert made.layer(SectionKind.LOCATION, False, tuple(DENIED)) is denied
    one, other = made.decision("2.2", [denied]), made.decision("2.2", [free])
    assert one is not None
    assert other is not None
    example = made.difference(one, other)
    assert example is not None
    assert (example.before, example.after) == (AccessVerdict.FORBIDDEN, AccessVerdict.GRANTED)
    assert made.difference(one, other) is example


def test_a_file_with_an_error_fails_alone() -> None:
    made = decisions()
    assert made.is_unreadable_22(AccessLayer((AccessLine("order", "up,down"),), SectionKind.HTACCESS, True))
    assert not made.is_unreadable_22(AccessLayer(DENIED, SectionKind.HTACCESS, True))
    assert made.error("2.2").when[AccessVerdict.ERROR] == made.space.true
