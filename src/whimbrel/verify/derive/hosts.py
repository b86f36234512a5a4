"""The ways to reach each server: address, port, host name, TLS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.access.samples import wildcard_samples
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.model import Server
from whimbrel.http.syntax.url import escape_uri
from whimbrel.verify.config_lines import key_of
from whimbrel.verify.derive.mass_hosts import mass_hosts
from whimbrel.verify.probe import Probe, TlsFacts
from whimbrel.verify.side import Side
from whimbrel.verify.tls_ports import takes_tls

UNKNOWN: Final = "unknown.invalid"
"""A name that no server has."""
_MAX_NAMES: Final = 4
_MAX_PORTS: Final = 3
_ADDRESS: Final = "127.0.0.1"
_ANY: Final = frozenset(("*", "_default_"))


@dataclass(frozen=True, slots=True)
class Entrance:
    """One way to a server; *server* is the location of the virtual host that it should lead to.

    *targets* exist for this host alone.
    """

    host: str
    address: str = _ADDRESS
    port: int = 80
    is_tls: bool = False
    server: tuple[str, int] = ("", 0)
    targets: tuple[str, ...] = ()

    @property
    def nameless_tls(self) -> TlsFacts | None:
        """The session of a client that indicates no name; None without TLS."""
        return TlsFacts() if self.is_tls else None

    def probe(self, target: str) -> Probe:
        """Return a request that enters here; its Host field has the port as that of a browser does."""
        tls = TlsFacts(server_name=self.host) if self.is_tls else None
        has_port = self.host and self.port != (443 if self.is_tls else 80)
        host = f"{self.host}:{self.port}" if has_port else self.host
        return Probe(target, host=host, address=self.address, port=self.port, tls=tls)


def entrances(side: Side) -> dict[tuple[str, int], list[Entrance]]:
    """Return the ways to each server by its location; the main server's first."""
    ports = [listener.port for listener in side.loaded.spec.listeners] or [80]
    found: dict[tuple[str, int], list[Entrance]] = {}
    named = {address.host for server in side.loaded.servers() for address in server.addresses}
    others = {port: _others(side, port, named) for port in dict.fromkeys(ports)}
    for server in side.loaded.servers():
        key = key_of(server)
        found_hosts = mass_hosts(server, side.loaded.disk)
        routes: list[Entrance] = []
        found[key] = routes
        for address, port in _addresses(server, ports, others):
            tls = takes_tls(side.loaded, address, port)
            routes += [Entrance(name, address, port, tls, key) for name in _names(server)]
            routes += [
                Entrance(host.name, address, port, tls, key, tuple("/" + escape_uri(f) for f in host.files))
                for host in found_hosts
            ]
    takes_all = not named.isdisjoint(_ANY)
    for port in others:
        tls = takes_tls(side.loaded, _ADDRESS, port)
        found[("", 0)].append(Entrance(UNKNOWN, _ADDRESS, port, tls, ("", 0)))
        found[("", 0)] += [
            Entrance(name, address, port, takes_tls(side.loaded, address, port), ("", 0))
            for address in ([] if takes_all else others[port])
            for name in (side.loaded.main.name or "localhost", *_some_names(side))
        ]
    return found


def _others(side: Side, port: int, named: set[str]) -> list[str]:
    """Return an address that the server listens on and no virtual host names, or all such addresses that it
    listens on alone; [] if no virtual host names one.
    """
    own = [each.address for each in side.loaded.spec.listeners if each.port == port]
    if not named.difference(_ANY):
        return []
    if any(address in ("", "0.0.0.0", "::") for address in own):
        return [next(other for number in range(2, 255) if (other := f"127.0.0.{number}") not in named)]
    return [address for address in own if address not in named]


def _some_names(side: Side) -> list[str]:
    return [server.name for server in side.loaded.virtual_hosts[:_MAX_NAMES] if server.name]


def _addresses(server: Server, ports: list[int], others: dict[int, list[str]]) -> list[tuple[str, int]]:
    """Return the pairs of address and port that lead to *server*."""
    pairs = [
        (host, port)
        for address in server.addresses
        for port in ([address.port] if address.port else ports[:_MAX_PORTS])
        for host in ([_ADDRESS, *others.get(port, ())[:1]] if address.host in _ANY else [address.host])
    ]
    return list(dict.fromkeys(pairs)) or [(_ADDRESS, port) for port in dict.fromkeys(ports)]


def _names(server: Server) -> list[str]:
    return list(dict.fromkeys(_all_names(server)))[:_MAX_NAMES]


def _all_names(server: Server) -> Iterator[str]:
    yield server.name or "localhost"
    yield from list(server.names)[: _MAX_NAMES - 2]
    for pattern in server.wild_names:
        yield from wildcard_samples(pattern, by_segment=False)[:1]
