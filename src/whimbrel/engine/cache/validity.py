"""Conditions under which a cached response answers a request on a connection."""

from __future__ import annotations

from collections.abc import Container
from time import time

from whimbrel.engine.cache.cacheable import served_bounds
from whimbrel.engine.connection import Connection
from whimbrel.engine.deps.files import FileDependency, unchanged
from whimbrel.engine.response import Response


class Validity:
    """For which connections, and how long, a response is valid.

    Attributes:
        client: the only client address that it is valid for; None for all addresses.
        first_client, address_lists: the client that it was built for; it is valid for clients that are in the
            same of these lists.
        min_served, max_served: it is valid on connections with a number of earlier requests between these:
            its head announces a persistent connection; or it does not, because it was the last one.
        dependencies: the files that it depends on; `valid_until`: the time from which on it is another.
        tick: the last one in which the dependencies were checked.
    """

    __slots__ = (
        "address_lists",
        "client",
        "dependencies",
        "first_client",
        "max_served",
        "min_served",
        "tick",
        "valid_until",
    )

    def __init__(self, response: Response) -> None:
        r = response.request
        deps = r.deps
        self.first_client = r.connection.client_ip
        self.client = self.first_client if deps.on_client else None
        self.address_lists: tuple[Container[str], ...] = () if deps.on_client else deps.address_lists
        self.min_served, self.max_served = served_bounds(r, response)
        self.dependencies: tuple[FileDependency, ...] = deps.minimal()
        self.valid_until = deps.valid_until
        self.tick: int | None = None

    def holds(self, connection: Connection, tick: int | None) -> bool:
        """Return True if the response may answer a request on *connection*; its files are checked once in
        each *tick* (None: always).
        """
        client = connection.client_ip
        if not self.min_served <= connection.served < self.max_served or (
            self.client is not None and self.client != client
        ):
            return False
        if self.address_lists and client != self.first_client and not self._is_in_same_lists(client):
            return False
        if tick is None or self.tick != tick:
            if self.valid_until is not None and time() >= self.valid_until:
                return False
            if not unchanged(self.dependencies, tick):
                return False
            self.tick = tick
        return True

    def _is_in_same_lists(self, client: str) -> bool:
        """Return True if *client* is in the same of `address_lists` as the first client."""
        return all(
            (client in addresses) is (self.first_client in addresses) for addresses in self.address_lists
        )

    def with_dependencies(self, dependencies: tuple[FileDependency, ...]) -> Validity:
        """Return a copy, not yet checked, with other dependencies."""
        copy: Validity = object.__new__(Validity)
        copy.first_client = self.first_client
        copy.client = self.client
        copy.address_lists = self.address_lists
        copy.min_served = self.min_served
        copy.max_served = self.max_served
        copy.dependencies = dependencies
        copy.valid_until = self.valid_until
        copy.tick = None
        return copy
