"""The text of -S (-t -D DUMP_VHOSTS): the virtual hosts by address."""

from __future__ import annotations

from whimbrel.config.configuration import Configuration
from whimbrel.config.model import Address, Server
from whimbrel.config.vhosts import AddressChain, VirtualHostTable


def dump_vhosts(configuration: Configuration) -> str:
    """httpd's text about the virtual hosts of a complete configuration; ends in a line end."""
    hosts = configuration.hosts or VirtualHostTable(configuration)
    lines = ["VirtualHost configuration:"]
    for chain in hosts.chains():
        lines += _chain(hosts, chain)
    if hosts.old and hosts.defaults:
        lines.append("wildcard NameVirtualHosts and _default_ servers:")
    for chain in hosts.defaults:
        lines += _chain(hosts, chain)
    return "\n".join(lines) + "\n"


def _chain(hosts: VirtualHostTable, chain: AddressChain) -> list[str]:
    server = chain.server
    if server is None:
        return []
    head = f"{_address(chain.address, hosts.old):<22} "
    if not chain.names or (not hosts.old and len(chain.names) == 1):
        return [head + _defined(server)]
    lines = [head + "is a NameVirtualHost", f"{'':>8} default server {_defined(server)}"]
    for address, named in chain.names:
        lines.append(f"{'':>8} port {address.port or '*'} namevhost {_defined(named)}")
        if not hosts.old:
            lines += [f"{'':>16} alias {name}" for name in named.names]
            lines += [f"{'':>16} wild alias {name}" for name in named.wild_names]
    return lines


def _address(address: Address, old: bool) -> str:
    """``host:port``; 2.2 shows the any-address of IPv6 as what it is."""
    host = "::" if old and address.written == "::" else address.host
    return f"{f'[{host}]' if ':' in host else host}:{address.port or '*'}"


def _defined(server: Server) -> str:
    place = server.place
    return f"{server.name} ({place.path}:{place.line})" if place else server.name
