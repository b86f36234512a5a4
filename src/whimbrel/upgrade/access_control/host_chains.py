"""The chains of all hosts of a configuration tree; equivalent hosts share those of the first one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from whimbrel.access.chains import Bounds, find_chains
from whimbrel.upgrade.access_control.fragment_context import unmapped
from whimbrel.upgrade.access_control.sections import AccessSection, Chain, Inventory
from whimbrel.upgrade.access_control.vhost_equivalence import EquivalentHost
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement

Hosts = Mapping[Statement, EquivalentHost]


def chain_of(equivalent: EquivalentHost, chain: Chain) -> Chain:
    """Return a chain of the first host as a chain of the equivalent host."""
    sections = tuple(equivalent.sections.get(section, section) for section in chain.sections)
    path = equivalent.path(chain.path)
    return Chain(sections, chain.url, path, chain.is_certain, chain.overrides, aliases=chain.aliases)


class HostChains:
    """The chains of one configuration tree, found when they are first asked for.

    Attributes:
        bounds: the work that the search may cost.
        twins: the hosts that get the plans of the first host.
        carried: upgraded hosts that are equivalent to an earlier one: all their sections keep their text, so
            that they get no plans.
    """

    def __init__(
        self, tree: ConfigTree, inventory: Inventory, bounds: Bounds, twins: Hosts, carried: Hosts
    ) -> None:
        self.bounds = bounds
        self.twins = twins
        self.carried = carried
        self._tree = tree
        self._inventory = inventory

    @cached_property
    def without_twins(self) -> list[Chain]:
        """The chains of all sections but those of `twins`."""
        return self._find(self.twins)

    @cached_property
    def of_first(self) -> list[Chain]:
        """The chains of all sections but those of `twins` and `carried`."""
        return self._find({**self.twins, **self.carried}) if self.carried else self.without_twins

    def _find(self, hosts: Hosts) -> list[Chain]:
        chains = find_chains(
            self._tree.text_root, self._inventory, self.bounds, hosts, self._tree.report_progress
        )
        # the main server may reach the .htaccess files of equivalent hosts, as it does those of the first
        own = {section for host in hosts.values() for section in host.sections.values()}
        chains = [chain for chain in chains if own.isdisjoint(chain.sections)]
        return unmapped(self._tree, self._inventory, chains, self.bounds)

    def every(self) -> Iterator[Chain]:
        """Yield the chains of all hosts, also of those that share the chains of an equivalent host."""
        yield from self.without_twins
        for chain, hosts in _with_hosts(self.without_twins, self.twins):
            yield from (chain_of(host, chain) for host in hosts)

    def shared(self) -> Iterator[tuple[Chain, Sequence[EquivalentHost]]]:
        """Yield each chain of `of_first`, with the equivalent hosts that share it."""
        yield from _with_hosts(self.of_first, {**self.twins, **self.carried})


def _with_hosts(chains: Sequence[Chain], hosts: Hosts) -> Iterator[tuple[Chain, Sequence[EquivalentHost]]]:
    of_first: dict[AccessSection, list[EquivalentHost]] = {}
    for host in hosts.values():
        for section in host.sections:
            of_first.setdefault(section, []).append(host)
    for chain in chains:
        yield chain, next((of_first[unit] for unit in chain.sections if unit in of_first), ())
