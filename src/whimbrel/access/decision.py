"""Decisions as binary decision diagrams over atoms, and their exact comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import IntEnum

from whimbrel.access import clients
from whimbrel.access.atoms import Atom
from whimbrel.access.clients import ExampleClient
from whimbrel.access.space import Function, Space
from whimbrel.base.lazy_dataclasses import dataclass


class AccessVerdict(IntEnum):
    """What access control answers; the value is the HTTP status (200: the request may go on)."""

    GRANTED = 200
    CHALLENGE = 401
    FORBIDDEN = 403
    ERROR = 500


class Undecided(Exception):
    """The configuration rests on something that no atom stands for; the message says what."""


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
        """Return True if no possible client gets another verdict."""
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
