"""The algebra of results."""

from __future__ import annotations

from whimbrel.access.atoms import EnvironmentSet
from whimbrel.access.outcomes import choose_outcomes, constant, first, if_else
from whimbrel.access.space import Space


def test_hooks_are_asked_until_one_decides() -> None:
    space = Space()
    a, b = space.variable(EnvironmentSet("a")), space.variable(EnvironmentSet("b"))
    result = first(space, [if_else(space, a, 1, -1), if_else(space, b, 2, -1)], -1)
    assert result.get(1) == a and result.get(2) == ~a & b and result.get(-1) == ~a & ~b


def test_mapped_joins_what_becomes_equal() -> None:
    space = Space()
    a = space.variable(EnvironmentSet("a"))
    assert if_else(space, a, 1, 2).map_values(lambda _: 3).when == {3: space.true}
    assert choose_outcomes(space, a, constant(space, 1), constant(space, 2)).when == {1: a, 2: ~a}
    assert if_else(space, a, 1, 1).when == {1: space.true}
