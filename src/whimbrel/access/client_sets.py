"""Sets of clients in words: the addresses and the users for whom a condition holds."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, product
from typing import Final

from whimbrel.access.atoms import (
    AddressSet,
    Atom,
    GroupMember,
    HasCredentials,
    KnownUser,
    MethodIs,
    PasswordValid,
    Range,
    UserIn,
    networks_of,
)
from whimbrel.access.clients import users
from whimbrel.access.space import Function, Space
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.load import DeepRecursion

MAX_BOUNDS: Final = 400
"""Ends of address ranges up to which a set is computed."""
MAX_NETWORKS: Final = 4
"""Networks that are named; a larger set has no words."""
MAX_PEOPLE: Final = 16
"""Kinds of users that are told apart."""
_BITS: Final = {False: 32, True: 128}
_KNOWN: Final = (AddressSet, MethodIs, HasCredentials, KnownUser, PasswordValid, UserIn, GroupMember)
WITHOUT: Final = "without a password"
WRONG: Final = "with a wrong password"
"""Clients that no user is."""
_EVERYBODY: Final = "everybody"
_EVERYWHERE: Final = "from any address"


@dataclass(frozen=True, slots=True)
class _Person:
    """A kind of client, by what it sends: its name in a sentence, and the values of the atoms."""

    name: str
    values: dict[Atom, bool]


def clients_text(space: Space, function: Function) -> str:
    """Return the clients of a GET for whom *function* holds, as one text.

    "" for none, and for sets that addresses, users and groups do not describe in few words.
    """
    with DeepRecursion():
        return _clients_text(space, function)


def _clients_text(space: Space, function: Function) -> str:
    atoms = space.atoms(function)
    methods: dict[Atom, bool] = {atom: atom.name == "GET" for atom in atoms if isinstance(atom, MethodIs)}
    function = space.fixed(function, methods)
    atoms = space.atoms(function)
    sets = [atom for atom in atoms if isinstance(atom, AddressSet)]
    if not all(isinstance(atom, _KNOWN) for atom in atoms) or any(one.holes for one in sets):
        return ""
    people = list(_people([atom for atom in atoms if not isinstance(atom, AddressSet)]))
    if not people:
        return ""
    found: dict[tuple[bool, ...], list[Range]] = {}
    for piece in _pieces(sets):
        values: dict[Atom, bool] = {one: _contains(one, piece) for one in sets}
        rest = space.fixed(function, values)
        holds = tuple(space.fixed(rest, person.values) == space.true for person in people)
        if any(holds):
            found.setdefault(holds, []).append(piece)
    texts = []
    for holds, ranges in found.items():
        addresses = _addresses_text(ranges)
        if not addresses:
            return ""
        of_people = _people_text(people, holds)
        if addresses == _EVERYBODY and of_people:
            texts.append(f"{_EVERYWHERE} {of_people}")
        else:
            texts.append(": ".join(filter(None, (addresses, of_people))))
    return "; ".join(texts)


# addresses ----------------------------------------------------------------------------------------
def _pieces(sets: Sequence[AddressSet]) -> Iterator[Range]:
    """Yield all addresses in ranges that lie in each of *sets* or outside of it; nothing if they are many."""
    ends = [(v6, end) for one in sets for v6, low, high in one.ranges for end in (low, high + 1)]
    if len(ends) > MAX_BOUNDS:
        return
    for v6, bits in _BITS.items():
        bounds = sorted({0, 1 << bits, *(end for kind, end in ends if kind is v6)})
        yield from ((v6, low, high - 1) for low, high in pairwise(bounds))


def _contains(one: AddressSet, piece: Range) -> bool:
    v6, low, high = piece
    return any(kind is v6 and start <= low and high <= end for kind, start, end in one.ranges)


def _addresses_text(ranges: list[Range]) -> str:
    """Return the addresses by the networks in which they are, or by those in which they are not."""
    complement = list(_complement(ranges))
    if not complement:
        return _EVERYBODY
    named = _networks_text(ranges)
    others = _networks_text(complement)
    if named and (not others or named.count(",") <= others.count(",")):
        return named
    return f"{_EVERYBODY} but {others}" if others else ""


def _complement(ranges: list[Range]) -> Iterator[Range]:
    for v6, bits in _BITS.items():
        start = 0
        for _, low, high in sorted(one for one in ranges if one[0] is v6):
            if start < low:
                yield (v6, start, low - 1)
            start = high + 1
        if start < 1 << bits:
            yield (v6, start, (1 << bits) - 1)


def _networks_text(ranges: Iterable[Range]) -> str:
    """Return the networks of *ranges*, "" for more than `MAX_NETWORKS`."""
    words = []
    for v6, low, high in _joined(ranges):
        for network in networks_of((v6, low, high)):
            kind = ipaddress.IPv6Network if v6 else ipaddress.IPv4Network
            length = network.mask.bit_count()
            text = str(kind((network.value, length)))
            words.append(text.removesuffix(f"/{_BITS[v6]}"))
            if len(words) > MAX_NETWORKS:
                return ""
    return ", ".join(words)


def _joined(ranges: Iterable[Range]) -> Iterator[Range]:
    last: Range | None = None
    for v6, low, high in sorted(ranges):
        if last is not None and last[0] is v6 and low == last[2] + 1:
            last = (v6, last[1], high)
            continue
        if last is not None:
            yield last
        last = (v6, low, high)
    if last is not None:
        yield last


# people -------------------------------------------------------------------------------------------
def _people(atoms: Sequence[Atom]) -> Iterator[_Person]:
    """Yield the kinds of clients that *atoms* tell apart; nothing for too many."""
    named = [atom for atom in atoms if isinstance(atom, UserIn)]
    groups = [atom for atom in atoms if isinstance(atom, GroupMember)]
    names = users(named)
    if len(names) << len(groups) > MAX_PEOPLE:
        return
    nobody: dict[Atom, bool] = dict.fromkeys(atoms, False)
    yield _Person(WITHOUT, nobody)
    if not atoms:
        return
    sent = {atom: True for atom in atoms if isinstance(atom, HasCredentials)}
    known = sent | {atom: True for atom in atoms if isinstance(atom, KnownUser)}
    if any(isinstance(atom, PasswordValid) for atom in atoms):
        yield _Person(WRONG, nobody | known)
    valid = known | {atom: True for atom in atoms if isinstance(atom, PasswordValid)}
    for signature, name in names.items():
        for members in product((False, True), repeat=len(groups)):
            values = nobody | valid
            values.update(zip(named, signature, strict=True))
            values.update(zip(groups, members, strict=True))
            word = f"as {name}"
            if not any(signature):
                word = "as another user" if named else "as any user"
            yield _Person(word + _groups_text([one.group for one in groups], members), values)


def _groups_text(groups: Sequence[str], members: Sequence[bool]) -> str:
    """Return which of *groups* a user is in, or that it is outside of all; "" without groups."""
    joined = [group for group, is_member in zip(groups, members, strict=True) if is_member]
    if joined:
        return f" in {' and '.join(joined)}"
    return f" outside of {' and '.join(groups)}" if groups else ""


def _people_text(people: Sequence[_Person], holds: Sequence[bool]) -> str:
    """Return the kinds of clients that are meant, "" for all."""
    if all(holds):
        return ""
    names = [person.name for person, is_meant in zip(people, holds, strict=True) if is_meant]
    if names[:2] == [WITHOUT, WRONG]:
        names[:2] = ["without a valid password"]
    return " or ".join(names)
