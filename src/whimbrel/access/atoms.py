"""The yes-or-no questions about a client that decisions are made of.  Equal atoms are one variable, whichever dialect asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.net import Network, Networks

_FULL: Final = {False: (1 << 32) - 1, True: (1 << 128) - 1}
Range = tuple[bool, int, int]
"""Is IPv6, first address, last address (included)."""


@dataclass(frozen=True)
class AddressSet:
    """The client's address lies in one of *ranges* (sorted, apart from each other), or in a network of *holes*, whose masks have gaps."""

    ranges: tuple[Range, ...]
    holes: tuple[Network, ...] = ()

    @cached_property
    def networks(self) -> Networks:
        """The set as something to ask."""
        return Networks([network for found in self.ranges for network in _networks(found)] + list(self.holes))

    def holds(self, address: str) -> bool:
        """Return True if *address* is in the set."""
        return address in self.networks


@dataclass(frozen=True)
class IsServerAddress:
    """The client comes from the address that it came to."""


@dataclass(frozen=True)
class HostIn:
    """The client's name, confirmed in both directions, is one of *domains* (lower case) or lies below one."""

    domains: frozenset[str]

    def holds(self, name: str | None) -> bool:
        """Return True if a client of that name is meant; None: its name is not known.
        `client_names.in_domain` for many domains at once."""
        if name is None:
            return False
        starts = (
            at for at in range(len(name) + 1) if at == 0 or name[at - 1] == "." or name[at : at + 1] == "."
        )
        return any(name[at:] in self.domains for at in starts)


@dataclass(frozen=True)
class MethodIs:
    """The request's method is *name*; HEAD is GET."""

    name: str


@dataclass(frozen=True)
class HasCredentials:
    """The request carries credentials for *scheme*: basic or digest."""

    scheme: str


@dataclass(frozen=True)
class KnownUser:
    """The user named in the credentials is one of *area*: a provider and what it was told, as normal text."""

    scheme: str
    area: str


@dataclass(frozen=True)
class PasswordValid:
    """The credentials are those of a user of *area*."""

    scheme: str
    area: str


@dataclass(frozen=True)
class UserIn:
    """The user in the credentials is one of *names*."""

    names: frozenset[str]


@dataclass(frozen=True)
class GroupMember:
    """The user in the credentials is in *group* (lower case where case is of no regard) according to *source*: the kind and path of a file."""

    source: str
    group: str


@dataclass(frozen=True)
class EnvironmentSet:
    """The request's environment has the variable *name* (lower case: names have no regard to case)."""

    name: str


@dataclass(frozen=True)
class Opaque:
    """What cannot be taken apart: an expression, a third-party provider, as normal text.

    *user*: the answer once a user is known, which may be another than before.
    """

    text: str
    user: bool = False


Atom = (
    AddressSet
    | IsServerAddress
    | HostIn
    | MethodIs
    | HasCredentials
    | KnownUser
    | PasswordValid
    | UserIn
    | GroupMember
    | EnvironmentSet
    | Opaque
)


def address_set(networks: Iterable[Network]) -> AddressSet:
    """The union of *networks*; equal sets are equal atoms however they are written."""
    ranges: list[Range] = []
    holes: set[Network] = set()
    for network in networks:
        rest = _FULL[network.v6] & ~network.mask
        if rest & (rest + 1):
            holes.add(network)
        else:
            ranges.append((network.v6, network.value, network.value | rest))
    return AddressSet(tuple(_joined(ranges)), tuple(sorted(holes)))


def _joined(ranges: list[Range]) -> Iterator[Range]:
    last: Range | None = None
    for found in sorted(ranges):
        if last is not None and found[0] == last[0] and found[1] <= last[2] + 1:
            last = (last[0], last[1], max(last[2], found[2]))
            continue
        if last is not None:
            yield last
        last = found
    if last is not None:
        yield last


def _networks(address_range: Range) -> Iterator[Network]:
    """The range as networks: each the largest that begins where the last one ended."""
    v6, low, high = address_range
    while low <= high:
        size = low & -low if low else 1 << (128 if v6 else 32)
        while low + size - 1 > high:
            size >>= 1
        yield Network(v6, low, _FULL[v6] & ~(size - 1))
        low += size
