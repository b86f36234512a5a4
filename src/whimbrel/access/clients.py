"""Possible clients: the implications between atoms, and a concrete client for a combination of atoms."""

from __future__ import annotations

import ipaddress
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache, reduce
from operator import and_
from typing import Any, Final

from whimbrel.access.atoms import (
    AddressSet,
    Atom,
    EnvironmentSet,
    GroupMember,
    HasCredentials,
    HostIn,
    IsServerAddress,
    KnownUser,
    MethodIs,
    Opaque,
    OverTls,
    PasswordValid,
    UserIn,
)
from whimbrel.access.space import Space
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.net import Network
from whimbrel.config.load import DeepRecursion

Signature = tuple[bool, ...]
_DEFAULT_ADDRESSES: Final = ("192.0.2.1", "127.0.0.2", "127.0.0.1", "10.0.0.1", "2001:db8::1", "::1")
_PARSED_ADDRESSES: Final = tuple(
    (":" in address, int(ipaddress.ip_address(address)), address) for address in _DEFAULT_ADDRESSES
)
_DEFAULT_METHODS: Final = ("GET", "POST", "PUT", "DELETE", "OPTIONS", "PROPFIND", "FROB")


@dataclass(frozen=True)
class ClientCredentials:
    """The credentials of a client: *user*, a member of *groups*.

    *is_password_valid*: the password is that of the user. *is_known_user*: the user exists.
    """

    user: str
    is_password_valid: bool
    groups: tuple[str, ...] = ()
    is_known_user: bool = True

    def __str__(self) -> str:
        groups = f" in {', '.join(self.groups)}" if self.groups else ""
        if self.is_password_valid:
            return f"as {self.user}{groups}"
        doubt = " with a wrong password" if self.is_known_user else ", whom nobody knows"
        return f"as {self.user}{groups}{doubt}"


@dataclass(frozen=True)
class ExampleClient:
    """A concrete client.

    Attributes:
        host: its name; None for an unknown name.
        opaque_answers: pairs of an opaque condition and its value.
        over_tls: its connection is one of TLS; None if no decision asks.
    """

    address: str
    method: str = "GET"
    host: str | None = None
    credentials: ClientCredentials | None = None
    environment: tuple[str, ...] = ()
    is_server_address: bool = False
    opaque_answers: tuple[tuple[str, bool], ...] = ()
    over_tls: bool | None = None

    def __str__(self) -> str:
        who = f"{self.method} from {self.address}"
        who += f" ({self.host})" if self.host else ""
        who += ", an address of the server's own," if self.is_server_address else ""
        who += "" if self.over_tls is None else f" over {'TLS' if self.over_tls else 'plain HTTP'}"
        who += f" {self.credentials or 'without a password'}"
        who += f", with {', '.join(self.environment)} set" if self.environment else ""
        return who + "".join(f", {text}: {'yes' if holds else 'no'}" for text, holds in self.opaque_answers)


def find_client(space: Space, *functions: object) -> ExampleClient | None:
    """Return a possible client for whom all *functions* hold, as simple as possible; None if there
    is none."""
    if space.false in functions:
        return None
    with DeepRecursion():
        return _find_client(space, reduce(and_, functions))


def _find_client(space: Space, function: object) -> ExampleClient | None:
    if function == space.false:
        return None
    atoms = space.atoms(function)
    left = function & possible(space, atoms)
    if left == space.false:
        return None
    values: dict[Atom, bool] = {}
    for atom in atoms:
        wanted = isinstance(atom, MethodIs) and atom.name == "GET"
        narrowed = space.fixed(left, {atom: wanted})
        values[atom] = wanted if narrowed != space.false else not wanted
        left = narrowed if narrowed != space.false else space.fixed(left, {atom: not wanted})
    return _client(values)


# what is possible ---------------------------------------------------------------------------------
def possible(space: Space, atoms: Sequence[Atom]) -> Any:
    """Return the combinations of *atoms* that one client can satisfy."""
    sets = [a for a in atoms if isinstance(a, AddressSet) and not a.holes]
    names = [a for a in atoms if isinstance(a, HostIn)]
    groups = [a for a in atoms if isinstance(a, UserIn)]
    methods = [a for a in atoms if isinstance(a, MethodIs)]
    result = _one_of(space, sets, list(addresses(sets))) & _one_of(space, names, list(hosts(names)))
    return (
        result
        & _one_of(space, groups, list(users(groups)))
        & _at_most_one(space, methods)
        & _credentials(space, atoms)
    )


def _one_of(space: Space, atoms: Sequence[Atom], signatures: list[Signature]) -> Any:
    if not atoms:
        return space.true
    ordered = [space.variable(atom) for atom in atoms]

    def build(index: int, left: frozenset[Signature]) -> Any:
        if not left:
            return space.false
        if index == len(ordered):
            return space.true
        yes = frozenset(s for s in left if s[index])
        return space.choose(ordered[index], build(index + 1, yes), build(index + 1, left - yes))

    return build(0, frozenset(signatures))


def _at_most_one(space: Space, atoms: Sequence[Atom]) -> Any:
    one = space.true
    none = space.true
    for atom in reversed(atoms):
        variable = space.variable(atom)
        one, none = space.choose(variable, none, one), ~variable & none
    return one


def _credentials(space: Space, atoms: Sequence[Atom]) -> Any:
    """Return the implications: a valid password is that of a known user, and a known user has sent
    credentials."""
    result = space.true
    for atom in atoms:
        if isinstance(atom, PasswordValid):
            known = KnownUser(atom.scheme, atom.area)
            result = result & (~space.variable(atom) | space.variable(known)) if known in atoms else result
        if isinstance(atom, PasswordValid | KnownUser) and HasCredentials(atom.scheme) in atoms:
            result = result & (~space.variable(atom) | space.variable(HasCredentials(atom.scheme)))
        if isinstance(atom, UserIn | GroupMember):
            schemes = [space.variable(a) for a in atoms if isinstance(a, HasCredentials)]
            result = result & (~space.variable(atom) | space.any_of(schemes)) if schemes else result
    return result


def addresses(sets: Sequence[AddressSet]) -> Mapping[Signature, str]:
    """Return an address for each combination of *sets* that addresses can be in.

    For masks with holes some combinations may be missing.
    """
    return _addresses(tuple(sets))


@lru_cache(maxsize=256)
def _addresses(sets: tuple[AddressSet, ...]) -> dict[Signature, str]:
    address_of: dict[Signature, str] = {}
    for v6, number, address in _PARSED_ADDRESSES:
        address_of.setdefault(_signature(sets, v6, number), address)
    for v6 in (False, True):
        bounds = {0} | {
            bound for s in sets for kind, low, high in s.ranges if kind is v6 for bound in (low, high + 1)
        }
        bounds |= {
            boundary
            for s in sets
            for network in s.holes
            if network.v6 is v6
            for boundary in _boundary_addresses(network)
        }
        for number in sorted(bounds):
            if number >> (128 if v6 else 32) or (v6 and number >> 32 == 0xFFFF):
                continue
            signature = _signature(sets, v6, number)
            if signature not in address_of:
                address_of[signature] = _host_text(sets, v6, number)
    return address_of


def _host_text(sets: Sequence[AddressSet], v6: bool, number: int) -> str:
    """Return the address *number*, or the next one if it is in the same *sets*: no host has the first
    address of a network.
    """
    kind = ipaddress.IPv6Address if v6 else ipaddress.IPv4Address
    following = number + 1
    is_host = not following >> (128 if v6 else 32) and not (v6 and following >> 32 == 0xFFFF)
    if is_host and _signature(sets, v6, following) == _signature(sets, v6, number):
        return str(kind(following))
    return str(kind(number))


def _boundary_addresses(network: Network) -> set[int]:
    """Return some addresses in the network, and some that differ from it in one bit."""
    last = network.value | ~network.mask & 0xFFFFFFFF
    return {network.value, last} | {
        number ^ 1 << bit for bit in range(32) if network.mask >> bit & 1 for number in (network.value, last)
    }


def _signature(sets: Sequence[AddressSet], v6: bool, number: int) -> Signature:
    return tuple(_inside(s, v6, number) for s in sets)


def _inside(address_set: AddressSet, v6: bool, number: int) -> bool:
    at = bisect_right(address_set.ranges, (v6, number, 1 << 129)) - 1
    if at >= 0 and address_set.ranges[at][0] is v6 and number <= address_set.ranges[at][2]:
        return True
    return any(network.v6 is v6 and number & network.mask == network.value for network in address_set.holes)


def hosts(names: Sequence[HostIn]) -> dict[Signature, str | None]:
    """Return a host name for each combination of *names* that one host name can match."""
    host_of: dict[Signature, str | None] = {(False,) * len(names): None}
    domains = sorted({domain for name in names for domain in name.domains})
    label = _unused_name("client", {label for domain in domains for label in domain.split(".")})
    for domain in domains:
        bare = domain.removeprefix(".")
        for candidate in (bare, f"{label}.{bare}"):
            host_of.setdefault(tuple(other.holds(candidate) for other in names), candidate)
    return host_of


def users(sets: Sequence[UserIn]) -> dict[Signature, str]:
    """Return a user for each combination of *sets* that one user can be in."""
    names = sorted({name for user_of in sets for name in user_of.names})
    user_of: dict[Signature, str] = {}
    for name in (_unused_name("somebody", set(names)), *names):
        user_of.setdefault(tuple(name in user_set.names for user_set in sets), name)
    return user_of


def _unused_name(word: str, taken: set[str]) -> str:
    """Return *word*, with a number if it is taken."""
    return next(name for n in range(len(taken) + 1) if (name := f"{word}{n or ''}") not in taken)


# a concrete client --------------------------------------------------------------------------------
def _client(values: dict[Atom, bool]) -> ExampleClient:
    true = [atom for atom, holds in values.items() if holds]
    names = [a for a in values if isinstance(a, HostIn)]
    address, open_sets = _address(values)
    return ExampleClient(
        address=address,
        method=_method(values),
        host=hosts(names)[tuple(values[a] for a in names)],
        credentials=_credentials_of(true, values),
        environment=tuple(a.name for a in true if isinstance(a, EnvironmentSet)),
        is_server_address=any(isinstance(a, IsServerAddress) for a in true),
        opaque_answers=tuple((a.text, holds) for a, holds in values.items() if isinstance(a, Opaque))
        + open_sets,
        over_tls=next((holds for atom, holds in values.items() if isinstance(atom, OverTls)), None),
    )


def _address(values: dict[Atom, bool]) -> tuple[str, tuple[tuple[str, bool], ...]]:
    """Return an address for *values*, and the conditions about masks with holes if no address was found."""
    sets = [a for a in values if isinstance(a, AddressSet)]
    address = addresses(sets).get(tuple(values[a] for a in sets))
    if address is not None:
        return address, ()
    plain = [a for a in sets if not a.holes]
    questions = tuple(
        (f"in {len(a.holes)} networks with gaps in their masks", values[a]) for a in sets if a.holes
    )
    return addresses(plain)[tuple(values[a] for a in plain)], questions


def _method(values: dict[Atom, bool]) -> str:
    method_values = {a.name: holds for a, holds in values.items() if isinstance(a, MethodIs)}
    chosen = next((name for name, holds in method_values.items() if holds), None)
    return chosen or next(name for name in _DEFAULT_METHODS if name not in method_values)


def _credentials_of(true: list[Atom], values: dict[Atom, bool]) -> ClientCredentials | None:
    concerned = (HasCredentials, KnownUser, PasswordValid, UserIn, GroupMember)
    if not any(isinstance(a, concerned) for a in true):
        return None
    sets = [a for a in values if isinstance(a, UserIn)]
    return ClientCredentials(
        user=users(sets)[tuple(values[a] for a in sets)],
        is_password_valid=_holds_or_absent(values, PasswordValid) and _holds_or_absent(values, KnownUser),
        groups=tuple(a.group for a in true if isinstance(a, GroupMember)),
        is_known_user=_holds_or_absent(values, KnownUser),
    )


def _holds_or_absent(values: dict[Atom, bool], kind: type[Any]) -> bool:
    """Return True if an atom of *kind* holds, or if there is no such atom."""
    truth_values = [holds for atom, holds in values.items() if isinstance(atom, kind)]
    return any(truth_values) or not truth_values
