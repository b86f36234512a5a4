"""Results that depend on the client: for each value the function that says when it is the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from whimbrel.access.decision import Function, Space


class Cases:
    """A partition: *when* maps values (answers of hooks, authz_status) to functions of which exactly one holds for any client."""

    __slots__ = ("space", "when")

    def __init__(self, space: Space, when: Mapping[int, Function]) -> None:
        self.space = space
        self.when = {value: function for value, function in when.items() if function != space.false}

    def get(self, value: int) -> Function:
        """When *value* is the result."""
        return self.when.get(value, self.space.false)

    def replaced(self, value: int, other: Cases) -> Cases:
        """*other* where the result would be *value*."""
        left = self.get(value)
        if left == self.space.false:
            return self
        found = {known: function for known, function in self.when.items() if known != value}
        for known, function in other.when.items():
            found[known] = found.get(known, self.space.false) | (left & function)
        return Cases(self.space, found)

    def mapped(self, change: Callable[[int], int]) -> Cases:
        """Every value changed."""
        found: dict[int, Function] = {}
        for value, function in self.when.items():
            found[change(value)] = found.get(change(value), self.space.false) | function
        return Cases(self.space, found)


def always(space: Space, value: int) -> Cases:
    """One result for everybody."""
    return Cases(space, {value: space.true})


def either(space: Space, test: Function, then: int, other: int) -> Cases:
    """*then* where *test* holds, else *other*."""
    return Cases(space, {then: test, other: ~test}) if then != other else always(space, then)


def chosen(space: Space, test: Function, then: Cases, other: Cases) -> Cases:
    """The cases of *then* where *test* holds, else those of *other*."""
    values = dict.fromkeys([*then.when, *other.when])
    return Cases(space, {value: space.choose(test, then.get(value), other.get(value)) for value in values})


def first(space: Space, hooks: Iterable[Cases], declined: int) -> Cases:
    """The result of the first hook that does not decline."""
    result = always(space, declined)
    for hook in hooks:
        result = result.replaced(declined, hook)
    return result
