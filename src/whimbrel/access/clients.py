"""Which clients there can be: what atoms imply about each other, and a concrete client for a combination of them."""

from __future__ import annotations

import ipaddress
from bisect import bisect_right
from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Final

from whimbrel.access.atoms import (
    AddressSet,
    Atom,
    EnvironmentSet,
    HostIn,
    KnownUser,
    Member,
    MethodIs,
    Opaque,
    OwnAddress,
    RightPassword,
    Sends,
    UserIn,
)
from whimbrel.config.load import deep_recursion
from whimbrel.modules.networks import Network
from whimbrel.records import dataclass

if TYPE_CHECKING:
    from whimbrel.access.decision import Space

Signature = tuple[bool, ...]
_USUAL_ADDRESSES: Final = ("192.0.2.1", "127.0.0.2", "127.0.0.1", "10.0.0.1", "2001:db8::1", "::1")
_USUAL_METHODS: Final = ("GET", "POST", "PUT", "DELETE", "OPTIONS", "PROPFIND", "FROB")


@dataclass(frozen=True)
class Credentials:
    """What the client says it is: *user* in *groups*; *right*: the password is that user's; *known*: there is such a user."""

    user: str
    right: bool
    groups: tuple[str, ...] = ()
    known: bool = True

    def __str__(self) -> str:
        groups = f" in {', '.join(self.groups)}" if self.groups else ""
        return f"as {self.user}{groups}" + ("" if self.right else " with a wrong password" if self.known else ", whom nobody knows")


@dataclass(frozen=True)
class Client:
    """A client in concrete terms; *host* None: its name is not known; *also* are opaque questions, answered (text, holds)."""

    address: str
    method: str = "GET"
    host: str | None = None
    credentials: Credentials | None = None
    environment: tuple[str, ...] = ()
    own: bool = False
    also: tuple[tuple[str, bool], ...] = ()

    def __str__(self) -> str:
        who = f"{self.method} from {self.address}"
        who += f" ({self.host})" if self.host else ""
        who += ", an address of the server's own," if self.own else ""
        who += f" {self.credentials or 'without a password'}"
        who += f", with {', '.join(self.environment)} set" if self.environment else ""
        return who + "".join(f", {text}: {'yes' if holds else 'no'}" for text, holds in self.also)


def find(space: Space, *functions: Any) -> Client | None:
    """A client for whom all *functions* hold, as plain as can be; None where no possible client is among those that they describe."""
    if space.false in functions:
        return None
    with deep_recursion():
        return _found(space, reduce(and_, functions))


def _found(space: Space, function: Any) -> Client | None:
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
    """The combinations of *atoms* that one client can show."""
    sets = [a for a in atoms if isinstance(a, AddressSet) and not a.holes]
    names = [a for a in atoms if isinstance(a, HostIn)]
    groups = [a for a in atoms if isinstance(a, UserIn)]
    methods = [a for a in atoms if isinstance(a, MethodIs)]
    result = _one_of(space, sets, list(addresses(sets))) & _one_of(space, names, list(hosts(names)))
    return result & _one_of(space, groups, list(users(groups))) & _at_most_one(space, methods) & _credentials(space, atoms)


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
    one, none = space.true, space.true
    for atom in reversed(atoms):
        variable = space.variable(atom)
        one, none = space.choose(variable, none, one), ~variable & none
    return one


def _credentials(space: Space, atoms: Sequence[Atom]) -> Any:
    """A right password is a known user's, and whoever is asked about as a user has sent credentials."""
    result = space.true
    for atom in atoms:
        if isinstance(atom, RightPassword):
            known = KnownUser(atom.scheme, atom.area)
            result = result & (~space.variable(atom) | space.variable(known)) if known in atoms else result
        if isinstance(atom, RightPassword | KnownUser) and Sends(atom.scheme) in atoms:
            result = result & (~space.variable(atom) | space.variable(Sends(atom.scheme)))
        if isinstance(atom, UserIn | Member):
            schemes = [space.variable(a) for a in atoms if isinstance(a, Sends)]
            result = result & (~space.variable(atom) | space.any_of(schemes)) if schemes else result
    return result


def addresses(sets: Sequence[AddressSet]) -> dict[Signature, str]:
    """For each combination of *sets* that an address can lie in, such an address; with holes in masks not all combinations are found."""
    found: dict[Signature, str] = {}
    for address in _USUAL_ADDRESSES:
        parsed = ipaddress.ip_address(address)
        found.setdefault(_signature(sets, parsed.version == 6, int(parsed)), address)
    for v6 in (False, True):
        bounds = {0} | {bound for s in sets for kind, low, high in s.ranges if kind is v6 for bound in (low, high + 1)}
        bounds |= {near for s in sets for network in s.holes if network.v6 is v6 for near in _near(network)}
        for number in sorted(bounds):
            if not number >> (128 if v6 else 32) and not (v6 and number >> 32 == 0xFFFF):
                found.setdefault(_signature(sets, v6, number), str(ipaddress.IPv6Address(number) if v6 else ipaddress.IPv4Address(number)))
    return found


def _near(network: Network) -> set[int]:
    """Some addresses in the network, and some that miss it by one bit."""
    last = network.value | ~network.mask & 0xFFFFFFFF
    return {network.value, last} | {number ^ 1 << bit for bit in range(32) if network.mask >> bit & 1 for number in (network.value, last)}


def _signature(sets: Sequence[AddressSet], v6: bool, number: int) -> Signature:
    return tuple(_inside(s, v6, number) for s in sets)


def _inside(found: AddressSet, v6: bool, number: int) -> bool:
    at = bisect_right(found.ranges, (v6, number, 1 << 129)) - 1
    if at >= 0 and found.ranges[at][0] is v6 and number <= found.ranges[at][2]:
        return True
    return any(network.v6 is v6 and number & network.mask == network.value for network in found.holes)


def hosts(names: Sequence[HostIn]) -> dict[Signature, str | None]:
    """For each combination of *names* that a client's name can match, such a name."""
    found: dict[Signature, str | None] = {(False,) * len(names): None}
    domains = sorted({domain for name in names for domain in name.domains})
    label = _fresh("client", {label for domain in domains for label in domain.split(".")})
    for domain in domains:
        bare = domain.removeprefix(".")
        for candidate in (bare, f"{label}.{bare}"):
            found.setdefault(tuple(other.holds(candidate) for other in names), candidate)
    return found


def users(sets: Sequence[UserIn]) -> dict[Signature, str]:
    """For each combination of *sets* that a user can be in, such a user."""
    names = sorted({name for found in sets for name in found.names})
    found: dict[Signature, str] = {}
    for name in (_fresh("somebody", set(names)), *names):
        found.setdefault(tuple(name in one.names for one in sets), name)
    return found


def _fresh(word: str, taken: set[str]) -> str:
    """*word*, with a number where it is taken."""
    return next(name for n in range(len(taken) + 1) if (name := f"{word}{n or ''}") not in taken)


# a concrete client --------------------------------------------------------------------------------
def _client(values: dict[Atom, bool]) -> Client:
    true = [atom for atom, holds in values.items() if holds]
    names = [a for a in values if isinstance(a, HostIn)]
    address, open_sets = _address(values)
    return Client(
        address=address,
        method=_method(values),
        host=hosts(names)[tuple(values[a] for a in names)],
        credentials=_given(true, values),
        environment=tuple(a.name for a in true if isinstance(a, EnvironmentSet)),
        own=any(isinstance(a, OwnAddress) for a in true),
        also=tuple((a.text, holds) for a, holds in values.items() if isinstance(a, Opaque)) + open_sets,
    )


def _address(values: dict[Atom, bool]) -> tuple[str, tuple[tuple[str, bool], ...]]:
    """An address as *values* want it, and what stays a question where masks with gaps let none be found."""
    sets = [a for a in values if isinstance(a, AddressSet)]
    found = addresses(sets).get(tuple(values[a] for a in sets))
    if found is not None:
        return found, ()
    plain = [a for a in sets if not a.holes]
    questions = tuple((f"in {len(a.holes)} networks with gaps in their masks", values[a]) for a in sets if a.holes)
    return addresses(plain)[tuple(values[a] for a in plain)], questions


def _method(values: dict[Atom, bool]) -> str:
    asked = {a.name: holds for a, holds in values.items() if isinstance(a, MethodIs)}
    chosen = next((name for name, holds in asked.items() if holds), None)
    return chosen or next(name for name in _USUAL_METHODS if name not in asked)


def _given(true: list[Atom], values: dict[Atom, bool]) -> Credentials | None:
    concerned = (Sends, KnownUser, RightPassword, UserIn, Member)
    if not any(isinstance(a, concerned) for a in true):
        return None
    sets = [a for a in values if isinstance(a, UserIn)]
    return Credentials(
        user=users(sets)[tuple(values[a] for a in sets)],
        right=_any_or_unasked(values, RightPassword) and _any_or_unasked(values, KnownUser),
        groups=tuple(a.group for a in true if isinstance(a, Member)),
        known=_any_or_unasked(values, KnownUser),
    )


def _any_or_unasked(values: dict[Atom, bool], kind: type[Any]) -> bool:
    """Whether an atom of *kind* holds, or none is asked for."""
    asked = [holds for atom, holds in values.items() if isinstance(atom, kind)]
    return any(asked) or not asked
