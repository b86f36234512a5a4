"""Atoms of access decisions: propositions about a client. Equal atoms are one variable in both dialects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.net import Network, Networks

_FULL: Final = {False: (1 << 32) - 1, True: (1 << 128) - 1}
Range = tuple[bool, int, int]
"""IPv6 or not, first address, last address (inclusive)."""


@dataclass(frozen=True)
class AddressSet:
    """The client's address is in one of *ranges* (sorted, disjoint) or in a network of *holes*, whose masks
    have gaps."""

    ranges: tuple[Range, ...]
    holes: tuple[Network, ...] = ()

    @cached_property
    def networks(self) -> Networks:
        """The set as `Networks`, for membership tests."""
        return Networks(
            [network for address_range in self.ranges for network in networks_of(address_range)]
            + list(self.holes)
        )

    def holds(self, address: str) -> bool:
        """Return True if *address* is in the set."""
        return address in self.networks


@dataclass(frozen=True)
class IsServerAddress:
    """The client comes from the address that it came to."""


@dataclass(frozen=True)
class HostIn:
    """The client's host name, confirmed in both directions, equals one of *domains* (lower case) or is a
    subdomain of one."""

    domains: frozenset[str]

    def holds(self, name: str | None) -> bool:
        """Return True if a client of this name matches; *name* is None for an unknown name.

        The result equals that of `client_names.in_domain` for each domain.
        """
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
class OverTls:
    """The request came over a TLS connection."""


@dataclass(frozen=True)
class HasCredentials:
    """The request carries credentials for *scheme*: basic or digest."""

    scheme: str


@dataclass(frozen=True)
class KnownUser:
    """The user named in the credentials exists in *area*: a provider and its directives, as
    normalized text."""

    scheme: str
    area: str


@dataclass(frozen=True)
class PasswordValid:
    """The credentials are valid for a user of *area*."""

    scheme: str
    area: str


@dataclass(frozen=True)
class UserIn:
    """The user in the credentials is one of *names*."""

    names: frozenset[str]


@dataclass(frozen=True)
class GroupMember:
    """The user in the credentials is a member of *group* according to *source*, the kind and path of a file.

    *group* is in lower case where the source ignores case.
    """

    source: str
    group: str


@dataclass(frozen=True)
class EnvironmentSet:
    """The request's environment has the variable *name* (lower case: httpd ignores the case of names)."""

    name: str


@dataclass(frozen=True)
class Opaque:
    """A condition that is not modelled: an expression or a third-party provider, as normalized text.

    *user*: the value of the condition once a user is known; it may differ from the value before.
    """

    text: str
    user: bool = False


Atom = (
    AddressSet
    | IsServerAddress
    | HostIn
    | MethodIs
    | OverTls
    | HasCredentials
    | KnownUser
    | PasswordValid
    | UserIn
    | GroupMember
    | EnvironmentSet
    | Opaque
)


def address_set(networks: Iterable[Network]) -> AddressSet:
    """Return the union of *networks*; equal sets give equal atoms."""
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
    for address_range in sorted(ranges):
        if last is not None and address_range[0] == last[0] and address_range[1] <= last[2] + 1:
            last = (last[0], last[1], max(last[2], address_range[2]))
            continue
        if last is not None:
            yield last
        last = address_range
    if last is not None:
        yield last


def networks_of(address_range: Range) -> Iterator[Network]:
    """Yield the range as networks; each is the largest one that begins after the previous one."""
    v6, low, high = address_range
    while low <= high:
        size = low & -low if low else 1 << (128 if v6 else 32)
        while low + size - 1 > high:
            size >>= 1
        yield Network(v6, low, _FULL[v6] & ~(size - 1))
        low += size
