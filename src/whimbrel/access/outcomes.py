"""Outcomes that depend on the client: for each value the condition under which it is the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from whimbrel.access.space import Function, Space


class Outcomes:
    """A partition: *when* maps values (hook statuses, authz_status) to conditions; exactly one of them holds
    for each client."""

    __slots__ = ("space", "when")

    def __init__(self, space: Space, when: Mapping[int, Function]) -> None:
        self.space = space
        self.when = {value: function for value, function in when.items() if function != space.false}

    def get(self, value: int) -> Function:
        """Return the condition under which *value* is the result."""
        return self.when.get(value, self.space.false)

    def replace(self, value: int, other: Outcomes) -> Outcomes:
        """Return the outcomes with *other* in place of *value*."""
        left = self.get(value)
        if left == self.space.false:
            return self
        outcomes = {known: function for known, function in self.when.items() if known != value}
        for known, function in other.when.items():
            outcomes[known] = outcomes.get(known, self.space.false) | (left & function)
        return Outcomes(self.space, outcomes)

    def map_values(self, change: Callable[[int], int]) -> Outcomes:
        """Return the outcomes with every value changed."""
        outcomes: dict[int, Function] = {}
        for value, function in self.when.items():
            outcomes[change(value)] = outcomes.get(change(value), self.space.false) | function
        return Outcomes(self.space, outcomes)


def constant(space: Space, value: int) -> Outcomes:
    """Return one result for every client."""
    return Outcomes(space, {value: space.true})


def if_else(space: Space, test: Function, then: int, other: int) -> Outcomes:
    """Return *then* if *test* holds, else *other*."""
    return Outcomes(space, {then: test, other: ~test}) if then != other else constant(space, then)


def choose_outcomes(space: Space, test: Function, then: Outcomes, other: Outcomes) -> Outcomes:
    """Return the outcomes of *then* if *test* holds, else those of *other*."""
    values = dict.fromkeys([*then.when, *other.when])
    return Outcomes(space, {value: space.choose(test, then.get(value), other.get(value)) for value in values})


def first(space: Space, hooks: Iterable[Outcomes], declined: int) -> Outcomes:
    """Return the result of the first hook that does not decline."""
    result = constant(space, declined)
    for hook in hooks:
        result = result.replace(declined, hook)
    return result
