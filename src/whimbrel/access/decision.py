"""Decisions as binary decision diagrams over atoms, and their exact comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import IntEnum
from typing import Any

from whimbrel.access import clients
from whimbrel.access.atoms import Atom
from whimbrel.access.bdd import Bdd
from whimbrel.access.clients import ExampleClient
from whimbrel.base.lazy_dataclasses import dataclass

Function = Any
"""A node of a diagram: combines by ``&``, ``|``, ``~``."""


class AccessVerdict(IntEnum):
    """What access control answers; the value is the HTTP status (200: the request may go on)."""

    GRANTED = 200
    CHALLENGE = 401
    FORBIDDEN = 403
    ERROR = 500


class Undecided(Exception):
    """The configuration rests on something that no atom stands for; the message says what."""


class Space:
    """The variables that decisions share: only decisions of one space can be compared.

    Nothing here knows which combinations of atoms a real client can show; that is asked for the few atoms of a difference (`clients.possible`).
    """

    def __init__(self) -> None:
        self.diagram = Bdd()
        self.true: Function = self.diagram.true
        self.false: Function = self.diagram.false
        self._atoms: dict[str, Atom] = {}
        self._variables: dict[Atom, Function] = {}

    def variable(self, atom: Atom) -> Function:
        """The variable of *atom*."""
        function = self._variables.get(atom)
        if function is None:
            name = f"a{len(self._atoms)}"
            self.diagram.declare(name)
            self._atoms[name] = atom
            function = self._variables[atom] = self.diagram.var(name)
        return function

    def choose(self, test: Function, then: Function, other: Function) -> Function:
        """*then* where *test* holds, else *other*."""
        return self.diagram.ite(test, then, other)

    def atoms(self, function: Function) -> list[Atom]:
        """The atoms that *function* depends on, those that were asked for first in front."""
        return [
            self._atoms[name]
            for name in sorted(self.diagram.support(function), key=lambda name: int(name[1:]))
        ]

    def fixed(self, function: Function, values: Mapping[Atom, bool]) -> Function:
        """*function* with these atoms set."""
        names = {
            self._variables[atom].var: value for atom, value in values.items() if atom in self._variables
        }
        return self.diagram.let(names, function) if names else function

    def any_of(self, functions: Iterable[Function]) -> Function:
        """Whether one of *functions* holds."""
        result = self.false
        for function in sorted(functions, key=lambda one: one.level, reverse=True):
            result = function | result  # diagrams grow at their root
        return result


@dataclass(frozen=True)
class Counterexample:
    """A client that two decisions treat differently; *names* are those of the decisions (2.2, 2.4)."""

    client: ExampleClient
    before: AccessVerdict
    after: AccessVerdict
    names: tuple[str, str] = ("before", "after")

    def __str__(self) -> str:
        return f"{self.client}: {self.names[0]} answers {self.before.value}, {self.names[1]} answers {self.after.value}"


def _weight(pair: tuple[AccessVerdict, AccessVerdict]) -> tuple[bool, bool]:
    return pair[1] is not AccessVerdict.GRANTED, pair[0] is not AccessVerdict.GRANTED


class AccessDecision:
    """For each verdict the function that says when it is given: total and disjoint.  *name* is what messages call it."""

    __slots__ = ("name", "space", "when")

    def __init__(self, space: Space, when: Mapping[AccessVerdict, Function], name: str = "") -> None:
        self.space, self.name = space, name
        self.when: dict[AccessVerdict, Function] = {
            verdict: when.get(verdict, space.false) for verdict in AccessVerdict
        }

    def is_equivalent(self, other: AccessDecision) -> bool:
        """Whether no possible client gets another verdict."""
        return self.difference(other) is None

    def difference(self, other: AccessDecision) -> Counterexample | None:
        """A possible client that gets another verdict from *other*, None where there is none; one that only *other* lets in is looked for first."""
        return next(self.differences(other), None)

    def differences(self, other: AccessDecision) -> Iterator[Counterexample]:
        """One possible client for each pair of verdicts that some client gets; those whom only *other* lets in first, then those it keeps out."""
        if self.when == other.when:
            return
        for mine, its in sorted(
            ((a, b) for a in AccessVerdict for b in AccessVerdict if a is not b), key=_weight
        ):
            client = clients.find_client(self.space, self.when[mine], other.when[its])
            if client is not None:
                yield Counterexample(client, mine, its, (self.name or "before", other.name or "after"))

    def verdict(self, value_of: Callable[[Atom], bool]) -> AccessVerdict:
        """The verdict on the client for whom *holds* answers; only atoms that matter are asked for."""
        for verdict, function in self.when.items():
            if (
                self.space.fixed(function, {atom: value_of(atom) for atom in self.space.atoms(function)})
                == self.space.true
            ):
                return verdict
        raise AssertionError("a decision that isn't total")

    def atoms(self) -> list[Atom]:
        """The atoms that the decision depends on."""
        found = dict.fromkeys(atom for function in self.when.values() for atom in self.space.atoms(function))
        return list(found)

    def __repr__(self) -> str:
        return f"<Decision {self.name} on {len(self.atoms())} atoms>"
