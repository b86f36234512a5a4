"""Virtual host selection: by the address and port of the connection, then by the name in the request.

`VirtualHostTable` is built as httpd's ap_fini_vhost_config builds its tables, so that order, defaults and
warnings agree; lookups are indexed. Manual: vhosts/details.html.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from whimbrel.base.bounded_dict import BoundedDict
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.numbers import lower
from whimbrel.base.regex import compile_regex
from whimbrel.config.model import ANY, DEFAULT, Address, Server, VirtualHostSource
from whimbrel.config.server_name import name_server

_BUCKETS = 256
# number of names of one address from which on the index is built before the first request
INDEX_THRESHOLD = 100
MAX_FOUND = 1024  # addresses whose servers are remembered: a wildcard may listen on all of 127.0.0.0/8


@dataclass(slots=True, eq=False)
class AddressChain:
    """The servers of one address and port: *server* is the default, *names* are tried in order."""

    address: Address
    server: Server | None
    names: list[tuple[Address, Server]] = field(default_factory=list)


class NameChain:
    """The servers of a connection: *server* is the default; the request's name or path may select."""

    __slots__ = ("_exact", "_paths", "_ranks", "_virtual", "_wild", "server")

    def __init__(self, server: Server, names: list[tuple[Address, Server]], port: int) -> None:
        self.server = server
        self._exact: dict[str, Server] = {}
        self._ranks: dict[str, int] = {}  # ranks of exact names, needed if there are wildcard names
        self._wild: list[tuple[int, Callable[[str], bool], Server]] = []
        self._virtual: dict[str, Server] = {}
        self._paths: list[tuple[str, Server]] = []
        last = None
        ranked = any(candidate.wild_names for _address, candidate in names)
        for rank, (address, candidate) in enumerate(n for n in names if n[0].port in (0, port)):
            if candidate is not last:
                self._add(rank, candidate, ranked)
            last = candidate
            self._virtual.setdefault(_lower(address.written), candidate)

    def _add(self, rank: int, server: Server, ranked: bool) -> None:
        for name in (server.name, *server.names):
            low = _lower(name)
            self._exact.setdefault(low, server)
            if ranked:
                self._ranks.setdefault(low, rank)
        self._wild += [(rank, matcher(name), server) for name in server.wild_names]
        if server.path:
            self._paths.append((server.path, server))

    def by_name(self, host: str) -> Server | None:
        """Return the first server with *host* (no port) as ServerName, ServerAlias or address in
        <VirtualHost>; None if there is none.
        """
        host = lower(host)
        if self._wild:
            rank = self._ranks.get(host, 1 << 60)
            for order, matches, server in self._wild:
                if order >= rank:
                    break
                if matches(host):
                    return server
        return self._exact.get(host) or self._virtual.get(host)

    def by_path(self, path: str) -> Server | None:
        """For a request without a host name: the first server whose ServerPath *path* is or lies under."""
        for prefix, server in self._paths:
            if path.startswith(prefix) and (
                prefix[-1] == "/" or path[len(prefix) : len(prefix) + 1] in ("", "/")
            ):
                return server
        return None

    @property
    def named(self) -> bool:
        """Return True if names matter here at all."""
        return bool(self._exact)


def _lower(name: str) -> str:
    """*name* in lower case; most are, and take no more room."""
    return name if name.islower() else lower(name)


def matcher(pattern: str) -> Callable[[str], bool]:
    """ap_strcasecmp_match on lower-case text: ``*`` and ``?`` match anything."""
    text = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in lower(pattern))
    search = compile_regex(f"^{text}$").search  # bounded, whatever a client sends
    return lambda host: search(host) is not None


class VirtualHostTable:
    """The tables of one configuration.

    *buckets* has the chains of addresses in the order of httpd's hash table, which -S shows; *defaults* are
    the chains of ``*`` and ``_default_``, first match first.
    """

    def __init__(self, configuration: VirtualHostSource) -> None:
        self.configuration = configuration
        self.main = configuration.main
        self.old = configuration.dialect.name_virtual_host
        self.buckets: dict[int, list[AddressChain]] = {}
        self.defaults: list[AddressChain] = []
        self._heads: dict[int, int] = {}
        self._by_address: dict[str, list[AddressChain]] = {}
        self._found: BoundedDict[tuple[str, int], NameChain] = BoundedDict(MAX_FOUND)
        self._of_chain: dict[tuple[int, int], NameChain] = {}
        self._omits_warnings = self.old and not configuration.main_logs("warn")
        if self.old:
            self._add_name_virtual_hosts()
        for server in reversed(configuration.virtual_hosts):
            self._add_server(server)
            name_server(configuration, server)
        for chain in (*self.defaults, *self.chains()):
            chain.names.reverse()

    def chains(self) -> Iterator[AddressChain]:
        """Return the chains of addresses, in the order of -S."""
        for bucket in sorted(self.buckets):
            yield from self.buckets[bucket]

    # look-up ----------------------------------------------------------------------------------
    def find(self, address: str, port: int) -> NameChain:
        """Return the servers for connections to *address* (text without brackets) and *port*."""
        key = (address, port)
        chain = self._found.get(key)
        if chain is None:
            plain = (
                address[7:] if address.startswith("::ffff:") and "." in address else address.partition("%")[0]
            )
            chain = self._candidates(self._of_address(plain, port) or self._default(port), port)
            self._found[key] = chain
        return chain

    def _candidates(self, chain: AddressChain | None, port: int) -> NameChain:
        """Return the servers of a chain for connections to *port*, built once for all addresses."""
        key = (id(chain), port)
        chain_of_port = self._of_chain.get(key)
        if chain_of_port is None:
            chain_of_port = (
                NameChain(self.main, [], port)
                if chain is None or chain.server is None
                else NameChain(chain.server, chain.names, port)
            )
            self._of_chain[key] = chain_of_port
        return chain_of_port

    def prepare(self, port: int) -> None:
        """Build the indexes of large chains for *port*, so that all processes share them after the fork."""
        for chain in (*self.defaults, *self.chains()):
            if len(chain.names) >= INDEX_THRESHOLD and chain.address.port in (0, port):
                self._candidates(chain, port)

    def _of_address(self, address: str, port: int) -> AddressChain | None:
        return self._best(self._by_address.get(address, []), port, either_direction=True)

    def _default(self, port: int) -> AddressChain | None:
        return self._best(self.defaults, port, either_direction=False)

    def _best(self, chains: list[AddressChain], port: int, *, either_direction: bool) -> AddressChain | None:
        """2.4 prefers the chain of the exact port to one of any port; 2.2 takes the first that fits."""
        wild = None
        for chain in chains:
            chain_port = chain.address.port
            if chain_port == port:
                return chain
            if wild is None and (chain_port == 0 or (either_direction and port == 0)):
                if self.old:
                    return chain
                wild = chain
        return wild

    # building ---------------------------------------------------------------------------------
    def _add_name_virtual_hosts(self) -> None:
        for address in self.configuration.name_virtual_hosts:
            chain = AddressChain(address, None)
            if address.host == ANY:
                self.defaults.insert(0, chain)
            else:
                bucket = bucket_of(address.host)
                self.buckets.setdefault(bucket, []).append(chain)
                self._by_address.setdefault(address.host, []).append(chain)
                self._heads[bucket] = len(self.buckets[bucket])

    def _add_server(self, server: Server) -> None:
        before: Address | None = None
        for address in server.addresses:
            if address.host in (ANY, DEFAULT):
                if self.old:
                    self._add_default_22(server, address)
                elif before is None or before.port != address.port:
                    self._add_default(server, address)
                before = address
            elif self.old:
                self._add_address_22(server, address)
            else:
                self._add_address(server, address)

    def _add_default(self, server: Server, address: Address) -> None:
        chain = self._default(address.port)
        if chain is None or chain.address.port != address.port:
            chain = AddressChain(address, server)
            self.defaults.insert(0, chain)
        self._add_name(chain, server, address)

    def _add_address(self, server: Server, address: Address) -> None:
        chain = self._of_address(address.host, address.port)
        if chain is None or chain.address.port != address.port:
            chain = self._new_chain(server, address)
        self._add_name(chain, server, address)

    def _new_chain(self, server: Server, address: Address) -> AddressChain:
        """Put a chain where httpd does: in front of its bucket, behind the NameVirtualHost addresses."""
        chain = AddressChain(address, server)
        bucket = bucket_of(address.host)
        head = self._heads.get(bucket, 0)
        chains = self.buckets.setdefault(bucket, [])
        chains.insert(head, chain)
        self._by_address[address.host] = [c for c in chains if c.address.host == address.host]
        return chain

    def _add_name(self, chain: AddressChain, server: Server, address: Address) -> None:
        chain.names.append((address, server))
        chain.server = server

    # 2.2 --------------------------------------------------------------------------------------
    def _warn(self, text: str) -> None:
        """A warning to the main server's log, which has its LogLevel by now."""
        if not self._omits_warnings:
            self.configuration.warn(text)

    def _add_default_22(self, server: Server, address: Address) -> None:
        chain = self._default(address.port)
        if chain is not None and self._add_name_22(chain, server, address):
            return
        if chain is not None and chain.address.port != 0:
            self._warn(f"_default_ VirtualHost overlap on port {address.port}, the first has precedence")
        self.defaults.insert(0, AddressChain(address, server))

    def _add_address_22(self, server: Server, address: Address) -> None:
        chain = self._of_address(address.host, address.port)
        if chain is None:
            self._new_chain(server, address)
        elif not self._add_name_22(chain, server, address):
            old = chain.address
            self._warn(
                f"VirtualHost {address.written}:{address.port} overlaps with VirtualHost "
                f"{old.written}:{old.port}, "
                "the first has precedence, perhaps you need a NameVirtualHost directive"
            )
            chain.address = address
            chain.server = server

    def _add_name_22(self, chain: AddressChain, server: Server, address: Address) -> bool:
        """Add a name to a chain of NameVirtualHost; return False if the chain is a plain address."""
        if not chain.names and chain.server is not None:
            return False
        self._add_name(chain, server, address)
        if address.port != chain.address.port:
            self.configuration.warn(
                f"VirtualHost {address.written}:{address.port} -- mixing * ports and non-* ports with a "
                f"NameVirtualHost address is not supported, "
                "proceeding with undefined results",
                level="error",
            )
        return True

    def drop_unused(self) -> None:
        """2.2: forget the NameVirtualHost addresses that no server uses, with a warning."""
        for bucket in sorted(self.buckets):
            self._drop_unused(self.buckets[bucket])
        self._drop_unused(self.defaults)
        self._by_address = {
            host: [c for c in chains if c.server is not None] for host, chains in self._by_address.items()
        }

    def _drop_unused(self, chains: list[AddressChain]) -> None:
        for chain in list(chains):
            if chain.server is None:
                address = chain.address
                self._warn(f"NameVirtualHost {address.written}:{address.port} has no VirtualHosts")
                chains.remove(chain)


def speaks_tls(server: Server) -> bool:
    """Return True if the server terminates TLS."""
    kind = next((kind for kind in server.records if kind.__name__ == "SslServerConfig"), None)
    return kind is not None and str(server.value(kind, "engine")) in ("on", "optional")


def bucket_of(address: str) -> int:
    """Return the bucket of an address in httpd's table: four bytes (IPv6: the last) folded into one."""
    import socket  # imported late: it is slow, and most configurations have no such addresses

    if address == DEFAULT:
        address = "255.255.255.255"
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    key = int.from_bytes(socket.inet_pton(family, address)[-4:], "little")
    key ^= key >> 16
    return ((key >> 8) ^ key) % _BUCKETS
