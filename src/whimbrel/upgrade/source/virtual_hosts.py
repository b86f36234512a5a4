"""The virtual host that answers under each version, for every address, port and name in the text.

Both tables are built by `config.hosts` from the <VirtualHost>, NameVirtualHost, ServerName, ServerAlias and
ServerPath lines alone.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, Final

from whimbrel.base.dialect import V22, V24, Dialect
from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.config.addresses import virtual_addresses
from whimbrel.config.model import ANY, Address, Server
from whimbrel.config.vhosts import VirtualHostTable
from whimbrel.syntax.words import getword
from whimbrel.upgrade.source.config_tree import ConfigTree, Statement
from whimbrel.upgrade.source.queries import is_branch

DEFINE_NAME: Final = "NamedHosts"
"""The -D name that enables the virtual hosts that 2.2 never selected."""
_MAX_HOSTS: Final = 60
"""The maximum number of hosts whose addresses are tried one by one."""
_UNUSED_ADDRESS: Final = "198.51.100.1"


@dataclass(slots=True, eq=False)
class VirtualHost:
    """One <VirtualHost>: *words* are its addresses as written, *names* are the arguments of ServerName and
    ServerAlias."""

    statement: Statement
    words: list[str]
    names: list[str] = field(default_factory=list)
    path: str = ""


AnswerTable = dict[tuple[str, int, str], VirtualHost | None]
"""The host by address, port and name, or by path if the request has no name; None is the main server."""


@dataclass(slots=True, eq=False)
class VirtualHostPlan:
    """The virtual hosts of a configuration, its NameVirtualHost arguments and its ports."""

    hosts: list[VirtualHost]
    name_virtual: list[str]
    ports: list[int]
    placeholders: dict[str, str] = field(default_factory=dict)

    # tables --------------------------------------------------------------------------------------
    def table(self, dialect: Dialect, words: dict[VirtualHost, list[str]]) -> AnswerTable:
        """Return the host at each point; None is the main server.

        *words* are the addresses of each host; a missing host has none.
        """
        servers = {host: self._server(host, words[host], dialect) for host in self.hosts if words.get(host)}
        stub: Any = SimpleNamespace(
            main=Server(name="main.invalid"),
            dialect=dialect,
            virtual_hosts=list(servers.values()),
            warn=_silent,
            main_logs=_never,
            name_virtual_hosts=[
                address for word in self.name_virtual for address in self._addresses(word, dialect)
            ],
        )
        tables = VirtualHostTable(stub)
        if dialect.name_virtual_host:
            tables.drop_unused()
        host_of_server = {id(server): host for host, server in servers.items()}
        out = {}
        for address, port in self._points(words):
            candidates = tables.find(address, port)
            for name in self._names():
                chosen = (
                    candidates.by_path(name) if name.startswith("/") else candidates.by_name(name)
                ) or candidates.server
                out[address, port, name] = host_of_server.get(id(chosen))
        return out

    def _server(self, host: VirtualHost, words: list[str], dialect: Dialect) -> Server:
        names = [name.lower() for name in host.names]
        server = Server(is_virtual=True, name=names[0] if names else "nameless.invalid", path=host.path)
        server.addresses = [address for word in words for address in self._addresses(word, dialect)]
        server.names = [name for name in names[1:] if not set("*?") & set(name)]
        server.wild_names = [name for name in names[1:] if set("*?") & set(name)]
        return server

    def _addresses(self, word: str, dialect: Dialect) -> list[Address]:
        """Return the addresses of an argument; host names get placeholder addresses, without a DNS lookup."""
        try:
            return virtual_addresses(self._numeric(word), 0, old=dialect.name_virtual_host)
        except (ConfigError, OSError):
            return []

    def _numeric(self, word: str) -> str:
        host, colon, port = (
            word.rpartition(":")
            if word.rpartition(":")[2].isdigit() or word.endswith(":*")
            else (word, "", "")
        )
        bare = host.strip("[]")
        if bare in ("*", "") or bare.lower() == "_default_" or _is_address(bare):
            return word
        return (
            self.placeholders.setdefault(
                bare.lower(), f"240.0.{len(self.placeholders) // 250}.{len(self.placeholders) % 250 + 1}"
            )
            + colon
            + port
        )

    def _points(self, words: dict[VirtualHost, list[str]]) -> Iterator[tuple[str, int]]:
        hosts_named = {
            address.host: None
            for host in self.hosts
            for word in host.words
            for address in self._addresses(word, V24)
            if address.host != ANY
        }
        ports = (
            self.ports
            or sorted(
                {
                    address.port
                    for host in self.hosts
                    for word in host.words
                    for address in self._addresses(word, V24)
                }
            )
            or [80]
        )
        for address in [*hosts_named, _UNUSED_ADDRESS]:
            for port in ports:
                yield address, port or 80

    def _names(self) -> list[str]:
        """Return one name for each pattern of the hosts, a name of no host, and paths for requests without a
        name."""
        given = [
            name.lower().replace("*", "x1").replace("?", "y") for host in self.hosts for name in host.names
        ]
        return list(
            dict.fromkeys([*given, "nobody.invalid", "/", *(host.path for host in self.hosts if host.path)])
        )

    # what to do ----------------------------------------------------------------------------------
    def declared_addresses(self) -> dict[VirtualHost, list[str]]:
        return {host: host.words for host in self.hosts}

    def effective_addresses(self) -> tuple[dict[VirtualHost, list[str]], bool]:
        """Return the addresses that 2.2 really used of each host, and True if 2.4 answers as 2.2 with these
        alone."""
        if self._is_trivially_equal():
            return self.declared_addresses(), True
        table_22 = self.table(V22, self.declared_addresses())
        if table_22 == self.table(V24, self.declared_addresses()):
            return self.declared_addresses(), True
        reachable = set(table_22.values())
        words = {host: host.words if host in reachable else [] for host in self.hosts}
        if self.table(V24, words) != table_22 and len(self.hosts) <= _MAX_HOSTS:
            words = self._without_unused(table_22)
        return words, self.table(V24, words) == table_22

    def _is_trivially_equal(self) -> bool:
        """Return True if both versions obviously select alike.

        Either every address has name-based hosts (which no NameVirtualHost does for `_default_`), or every
        address has one host.
        """
        words = [word.lower() for host in self.hosts for word in host.words]
        named = {word.lower() for word in self.name_virtual}
        exact = all(word.rpartition(":")[2].isdigit() and word[0] not in "*_" for word in named)
        if (
            named >= set(words)
            and (exact or len(named) == 1)
            and not any(word.startswith("_default_") for word in named)
        ):
            return True
        endpoints = [word.rpartition(":") for word in words]
        return (
            not named
            and len(set(words)) == len(words)
            and all(port.isdigit() and _is_address(host.strip("[]")) for host, _, port in endpoints)
        )

    def _without_unused(self, table_22: AnswerTable) -> dict[VirtualHost, list[str]]:
        """Remove every address, one after the other, at which its host never answered."""
        words = self.declared_addresses()
        for host in self.hosts:
            for word in host.words:
                fewer = {**words, host: [other for other in words[host] if other != word]}
                if not self._is_needed(word, host, table_22) and self.table(V22, fewer) == table_22:
                    words = fewer
        return words

    def _is_needed(self, word: str, host: VirtualHost, table_22: AnswerTable) -> bool:
        """Return True if the host answers at the address, so that it must stay."""
        for address in self._addresses(word, V24):
            for (where, port, _name), chosen in table_22.items():
                if chosen is host and address.host in (ANY, where) and address.port in (0, port):
                    return True
        return False


def _silent(*_words: object, **_more: object) -> None:
    return None


def _never(_level: str) -> bool:
    return False


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def main_server_answers(tree: ConfigTree) -> bool:
    """Return False if each request, by any address, port and name of the text, gets a virtual host."""
    plan = virtual_host_plan(tree)
    if tree.has_unread_files or not plan.hosts:
        return True
    declared = plan.declared_addresses()
    return any(None in plan.table(dialect, declared).values() for dialect in (V22, V24))


def virtual_host_plan(tree: ConfigTree) -> VirtualHostPlan:
    """Return the virtual hosts of *tree* that 2.2 reads."""
    hosts = []
    for statement in tree.named("<virtualhost"):
        if any(section.args.strip() == DEFINE_NAME for section in statement.enclosing("<ifdefine")):
            continue
        host = VirtualHost(statement, statement.words())
        _fill(host, statement.children)
        hosts.append(host)
    listens = [getword(line.args)[0].rpartition(":")[2] for line in tree.named("listen")]
    named = [word for line in tree.named("namevirtualhost") for word in line.words()[:1]]
    return VirtualHostPlan(hosts, named, sorted({int(port) for port in listens if port.isdigit()}))


def _fill(host: VirtualHost, lines: list[Statement]) -> None:
    for line in lines:
        if line.in_22 is False:
            continue
        if is_branch(line) or line.children:
            _fill(host, line.children)
        elif line.name == "servername" and line.args.strip():
            name = line.words()[0].rpartition("://")[2].partition(":")[0]
            host.names = [name, *host.names[1:]] if host.names else [name]
        elif line.name == "serveralias":
            host.names = [*(host.names or ["nameless.invalid"]), *line.words()]
        elif line.name == "serverpath":
            host.path = "".join(line.words()[:1])
