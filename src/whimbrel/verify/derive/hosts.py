"""The ways to reach each server: address, port, host name, TLS."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from whimbrel.access.samples import wildcard_samples
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.model import Server
from whimbrel.verify.config_lines import key_of
from whimbrel.verify.probe import Probe, TlsFacts
from whimbrel.verify.side import Side

_MAX_NAMES: Final = 4
_MAX_PORTS: Final = 3
_ADDRESS: Final = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Entrance:
    """One way to a server; *server* is the location of the virtual host that it should lead to."""

    host: str
    address: str = _ADDRESS
    port: int = 80
    is_tls: bool = False
    server: tuple[str, int] = ("", 0)

    def probe(self, target: str) -> Probe:
        """Return a request that enters here."""
        tls = TlsFacts(server_name=self.host) if self.is_tls else None
        return Probe(target, host=self.host, address=self.address, port=self.port, tls=tls)


def entrances(side: Side) -> dict[tuple[str, int], list[Entrance]]:
    """Return the ways to each server by its location; the main server's first."""
    ports = [listener.port for listener in side.loaded.spec.listeners] or [80]
    found: dict[tuple[str, int], list[Entrance]] = {}
    for server in side.loaded.servers():
        key = key_of(server)
        tls = _speaks_tls(server)
        routes = found[key] = []
        for address, port in _addresses(server, ports):
            routes += [Entrance(name, address, port, tls, key) for name in _names(server)]
    named = {address.host for server in side.loaded.servers() for address in server.addresses}
    for port in dict.fromkeys(ports):
        found[("", 0)].append(Entrance("unknown.invalid", _ADDRESS, port, False, ("", 0)))
        found[("", 0)] += [
            Entrance(name, address, port, False, ("", 0))
            for address in _others(side, port, named)
            for name in (side.loaded.main.name or "localhost", *_some_names(side))
        ]
    return found


def _others(side: Side, port: int, named: set[str]) -> list[str]:
    """Return an address that the server listens on and no virtual host names, and those it listens on."""
    own = [each.address for each in side.loaded.spec.listeners if each.port == port]
    if named & {"*", "_default_"} or not named:
        return []
    if any(address in ("", "0.0.0.0", "::") for address in own):
        return [next(other for number in range(2, 255) if (other := f"127.0.0.{number}") not in named)]
    return [address for address in own if address not in named]


def _some_names(side: Side) -> list[str]:
    return [server.name for server in side.loaded.virtual_hosts[:_MAX_NAMES] if server.name]


def _addresses(server: Server, ports: list[int]) -> list[tuple[str, int]]:
    pairs = [
        (_ADDRESS if address.host in ("*", "_default_") else address.host, port)
        for address in server.addresses
        for port in ([address.port] if address.port else ports[:_MAX_PORTS])
    ]
    return list(dict.fromkeys(pairs)) or [(_ADDRESS, port) for port in dict.fromkeys(ports)]


def _names(server: Server) -> list[str]:
    return list(dict.fromkeys(_all_names(server)))[:_MAX_NAMES]


def _all_names(server: Server) -> Iterator[str]:
    yield server.name or "localhost"
    yield from list(server.names)[: _MAX_NAMES - 2]
    for pattern in server.wild_names:
        yield from wildcard_samples(pattern, by_segment=False)[:1]


def _speaks_tls(server: Server) -> bool:
    """Return True if the server terminates TLS."""
    kind = next((kind for kind in server.records if kind.__name__ == "SslServerConfig"), None)
    return kind is not None and str(server.value(kind, "engine")) in ("on", "optional")
