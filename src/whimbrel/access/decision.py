"""Access decisions as binary decision diagrams over atoms, and their exact comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum

from whimbrel.access import clients
from whimbrel.access.atoms import Atom
from whimbrel.access.clients import ExampleClient
from whimbrel.access.space import Function, Space
from whimbrel.base.lazy_dataclasses import dataclass


class AccessVerdict(IntEnum):
    """The result of access control; the value is the HTTP status (200: the request continues)."""

    GRANTED = 200
    CHALLENGE = 401
    FORBIDDEN = 403
    ERROR = 500

    @property
    def words(self) -> str:
        """What a version does; a request that is let in has the status of its handler, such as 405."""
        return "lets it in" if self is AccessVerdict.GRANTED else f"answers {self.value}"


class Undecided(Exception):
    """The configuration depends on something without an atom; the message names it."""


@dataclass(frozen=True)
class Counterexample:
    """A client that two decisions treat differently; *names* are the names of the decisions (2.2, 2.4)."""

    client: ExampleClient
    before: AccessVerdict
    after: AccessVerdict
    names: tuple[str, str] = ("before", "after")

    def __str__(self) -> str:
        first, second = self.names
        if first == second:  # two texts, of one version
            answers = f"{self.before.words} with the old text, {self.after.words} with the new"
            return f"{self.client}: {first} {answers}"
        return f"{self.client}: {first} {self.before.words}, {second} {self.after.words}"


def _weight(pair: tuple[AccessVerdict, AccessVerdict]) -> tuple[bool, bool]:
    return pair[1] is not AccessVerdict.GRANTED, pair[0] is not AccessVerdict.GRANTED


class AccessDecision:
    """For each verdict the condition under which it is the result; the conditions are total and disjoint.

    *name* is the name of the decision in messages.
    """

    __slots__ = ("name", "space", "when")

    def __init__(self, space: Space, when: Mapping[AccessVerdict, Function], name: str = "") -> None:
        self.space = space
        self.name = name
        self.when: dict[AccessVerdict, Function] = {
            verdict: when.get(verdict, space.false) for verdict in AccessVerdict
        }

    def is_equivalent(self, other: AccessDecision) -> bool:
        """Return True if every possible client gets the same verdict from both."""
        return self.difference(other) is None

    def difference(self, other: AccessDecision) -> Counterexample | None:
        """Return a possible client that gets another verdict from *other*, None if there is none.

        A client that *other* alone admits is preferred.
        """
        return next(self.differences(other), None)

    def differences(self, other: AccessDecision) -> Iterator[Counterexample]:
        """Yield one possible client for each pair of different verdicts.

        Clients that *other* alone admits come first, then those that it alone refuses.
        """
        if self.when == other.when:
            return
        for mine, its in sorted(
            ((a, b) for a in AccessVerdict for b in AccessVerdict if a is not b), key=_weight
        ):
            client = clients.find_client(self.space, self.when[mine], other.when[its])
            if client is not None:
                yield Counterexample(client, mine, its, (self.name or "before", other.name or "after"))

    def verdict(self, value_of: Callable[[Atom], bool]) -> AccessVerdict:
        """Return the verdict for the client whose atoms have the values of *value_of*; it is called for
        relevant atoms only."""
        for verdict, function in self.when.items():
            if (
                self.space.fixed(function, {atom: value_of(atom) for atom in self.space.atoms(function)})
                == self.space.true
            ):
                return verdict
        raise AssertionError("a decision that isn't total")

    def atoms(self) -> list[Atom]:
        """Return the atoms that the decision depends on."""
        atoms = dict.fromkeys(atom for function in self.when.values() for atom in self.space.atoms(function))
        return list(atoms)

    def __repr__(self) -> str:
        return f"<Decision {self.name} on {len(self.atoms())} atoms>"
