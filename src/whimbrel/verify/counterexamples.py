"""Clients that two access decisions treat differently, those that a plain request can be first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.access.atoms import Atom, EnvironmentSet, IsServerAddress, Opaque, OverTls, address_set
from whimbrel.access.clients import find_client
from whimbrel.access.decision import AccessDecision, AccessVerdict, Counterexample
from whimbrel.access.space import Function, Space
from whimbrel.base.net import InvalidNetwork, parse_network
from whimbrel.verify.side import Side

_MAX_OF_PAIR: Final = 10
"""Clients that are tried for one pair of verdicts."""


def counterexamples(
    old: AccessDecision, new: AccessDecision, sides: tuple[Side, Side], *, over_tls: bool
) -> Iterator[tuple[tuple[AccessVerdict, AccessVerdict], Iterator[Counterexample]]]:
    """Yield for each pair of different verdicts that some client gets the clients to try.

    *over_tls*: clients come over TLS to the host that is compared; else over plain HTTP.
    """
    space = old.space
    connection = connected(space, over_tls=over_tls)
    if old.when == new.when:
        return
    for before in AccessVerdict:
        for after in AccessVerdict:
            function = old.when[before] & new.when[after] if before is not after else space.false
            function = function & connection
            if function != space.false:
                function = function & _possible(space, sides)
                names = old.name or "before", new.name or "after"
                yield (before, after), _clients(space, function, before, after, names)


def connected(space: Space, *, over_tls: bool) -> Function:
    """Return the condition that a client comes over TLS, or over plain HTTP."""
    variable = space.variable(OverTls())
    return variable if over_tls else ~variable


def _clients(
    space: Space, function: Function, before: AccessVerdict, after: AccessVerdict, names: tuple[str, str]
) -> Iterator[Counterexample]:
    """Yield clients of *function*: without the facts that a plain request lacks, then with one, then all.

    A combination of such facts is tried once.
    """
    special: list[Atom] = [
        atom for atom in space.atoms(function) if isinstance(atom, IsServerAddress | EnvironmentSet | Opaque)
    ]
    tried: set[tuple[bool, ...]] = set()
    for wanted in (None, *special, ...):
        values: dict[Atom, bool] = {} if wanted is ... else {atom: atom is wanted for atom in special}
        limited = function
        for atom, holds in values.items():
            variable = space.variable(atom)
            limited = limited & (variable if holds else ~variable)
        for _ in range(1 if values or not special else _MAX_OF_PAIR):
            client = find_client(space, limited)
            if client is None:
                break
            combination = (
                client.is_server_address,
                *(name in client.environment for name in _names(special)),
                *(holds for _, holds in client.opaque_answers),
            )
            if combination not in tried:
                tried.add(combination)
                yield Counterexample(client, before, after, names)
            limited = limited & ~_assignment(
                space, special, client.environment, dict(client.opaque_answers), client.is_server_address
            )


def _names(special: list[Atom]) -> list[str]:
    return [atom.name for atom in special if isinstance(atom, EnvironmentSet)]


def _assignment(
    space: Space, special: list[Atom], environment: tuple[str, ...], opaque: dict[str, bool], is_server: bool
) -> Function:
    """Return the condition that the facts of *special* are as in a client."""
    result = space.true
    for atom in special:
        holds = False
        if isinstance(atom, IsServerAddress):
            holds = is_server
        elif isinstance(atom, EnvironmentSet):
            holds = atom.name in environment
        elif isinstance(atom, Opaque):
            holds = opaque.get(atom.text, False)
        variable = space.variable(atom)
        result = result & (variable if holds else ~variable)
    return result


def _possible(space: Space, sides: tuple[Side, Side]) -> Function:
    """Return the condition that a client with an address of the server's own has one that the server listens
    on; true if it listens on all of its addresses."""
    addresses = {listener.address for side in sides for listener in side.loaded.spec.listeners}
    if "" in addresses or not addresses:
        return space.true
    networks = []
    for address in addresses:
        try:
            networks.append(parse_network(address, None))
        except InvalidNetwork:
            return space.true
    own = space.variable(IsServerAddress())
    return ~own | space.variable(address_set(networks))
