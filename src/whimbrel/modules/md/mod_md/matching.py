"""Managed domains and virtual hosts: which belong together, with httpd's messages."""

from __future__ import annotations

from collections.abc import Callable

from whimbrel.base.numbers import lower
from whimbrel.config.configuration import Configuration
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.config.model import Server
from whimbrel.config.vhosts import matcher
from whimbrel.modules.md.mod_md.challenges import ACME_TLS, TLS_ALPN_01
from whimbrel.modules.md.mod_md.domains import NO_ADMIN, ManagedDomain, is_below, uri
from whimbrel.modules.md.mod_md.manager import Manager
from whimbrel.modules.md.mod_md.settings import RENEW_ALWAYS, REQUIRE_OFF, MdGlobalConfig, MdServerConfig

Log = Callable[..., None]


class Conflict(Exception):
    """The configuration of domains contradicts itself; the message is logged."""


def has_name(server: Server, name: str, *, aliases: bool = True) -> bool:
    """Return True if *server* answers to *name* by ServerName or ServerAlias (ap_matches_request_vhost)."""
    if lower(server.name) == name:
        return True
    return aliases and (
        any(lower(alias) == name for alias in server.names)
        or any(matcher(pattern)(name) for pattern in server.wild_names)
    )


def check_overlaps(domains: list[ManagedDomain], log: Log, *, has_wildcards: bool) -> None:
    """Check what only all lines together show; raises Conflict.

    With *has_wildcards* those of earlier domains cover names of later ones.
    """
    for index, domain in enumerate(domains):
        for earlier in range(index):
            known = domains[earlier]
            common = [
                name
                for name in domain.names
                if name in known.names or (has_wildcards and known.matches(name))
            ]
            if common:
                text = f"two Managed Domains have an overlap in domain '{common[0]}', first definition in"
                log("error", "AH10038", f"{text} unknown(line 0), second in unknown(line 0)")
                raise Conflict
        if len(domain.certificate_files) > 0 and len(domain.certificate_files) != len(domain.key_files):
            text = f"The Managed Domain '{domain.name}' needs one MDCertificateKeyFile for each"
            log("error", "AH10170", f"{text} MDCertificateFile.")
            raise Conflict
        if domain.key_files and not domain.certificate_files:
            text = f"The Managed Domain '{domain.name}' has MDCertificateKeyFile(s) but no MDCertificateFile."
            log("error", "AH10171", text)
            raise Conflict


def link(manager: Manager, configuration: Configuration) -> None:
    """Assign domains to the servers that they match."""
    conf = manager.conf
    # httpd puts each virtual host before the earlier ones: the last one gives the contact
    hosts = [server for server in configuration.servers() if server is not configuration.main][::-1]
    for domain in manager.domains:
        for server in (configuration.main, *hosts):
            if server is configuration.main and not conf.manages_main:
                continue
            matched = next((name for name in domain.names if _matches(server, name, conf)), None)
            if matched is None:
                continue
            assigned = manager.by_server.setdefault(id(server), [])
            if assigned and conf.match_servernames:
                if is_below(lower(server.name), matched):
                    continue
                assigned.pop().servers.remove(server)  # a name is closer than a wildcard
            domain.servers.append(server)
            assigned.append(domain)
            text = f"Server {server.name}:{server.port} matches md {domain.name} (config {server.name}"
            mode = f"match-mode={int(conf.match_servernames)}) for domain {matched}, has now"
            manager.log("debug", "AH10041", f"{text}[default, default], {mode} {len(assigned)} MDs")
            _add_contact(domain, server)


def _matches(server: Server, name: str, conf: MdGlobalConfig) -> bool:
    return has_name(server, name, aliases=not conf.match_servernames) or is_below(lower(server.name), name)


def _add_contact(domain: ManagedDomain, server: Server) -> None:
    if domain.contacts:
        return
    contact = server.config(MdServerConfig).contact or ("" if server.admin == NO_ADMIN else server.admin)
    if contact:
        domain.contacts.append(uri(contact))


def add_names(domain: ManagedDomain, manager: Manager) -> None:
    """Add the names of virtual hosts with TLS to their domain, or warn of those that it leaves out."""
    for server in domain.tls_servers:
        if len(manager.of_server(server)) != 1:
            continue
        for name in (server.name, *server.names):
            low = lower(name)
            if domain.matches(low) or not low:
                continue
            if not domain.settings.members_auto:
                text = f"Virtual Host {server.name}:{server.port} matches Managed Domain '{domain.name}', but"
                more = f"the name/alias {name} itself is not managed. A requested MD certificate will not"
                manager.log("warn", "AH10040", f"{text} {more} match ServerName.")
                continue
            domain.names.append(low)


def check_conflicts(manager: Manager, configuration: Configuration) -> None:
    """Refuse a server with TLS that several domains match; raises Conflict."""
    for server in configuration.servers():
        assigned = manager.of_server(server)
        if len(assigned) > 1 and server in assigned[0].tls_servers:
            text = f"conflict: {len(assigned)} MDs match to SSL VirtualHost {server.name}, there can at most"
            manager.log("error", "AH10042", f"{text} be one.")
            raise Conflict


def find_acme_tls(domain: ManagedDomain, manager: Manager, configuration: Configuration) -> None:
    """Find the names whose virtual hosts can answer tls-alpn-01."""
    conf = manager.conf
    checks_port = TLS_ALPN_01 not in domain.settings.challenges
    domain.acme_tls_names = []
    for name in domain.names:
        found = [
            server
            for server in domain.tls_servers
            if (
                not checks_port or (manager.reach.https and _uses_port(server, configuration, conf.local_443))
            )
            and has_name(server, name)
        ]
        if not found and conf.manages_main:
            found = [configuration.main]
        if not found:
            manager.log("debug", "AH10168", f"{domain.name}: no https server_rec found for {name}")
        elif any(ACME_TLS in server.config(CoreServerConfig).protocols for server in found):
            domain.acme_tls_names.append(name)
        else:
            text = f"{domain.name}: https server_rec for {name} does not have protocol {ACME_TLS} enabled"
            manager.log("debug", "AH10169", text)


def _uses_port(server: Server, configuration: Configuration, port: int) -> bool:
    if server is configuration.main:
        return True
    return bool(server.addresses) and all(address.port == port for address in server.addresses)


def check_usage(domain: ManagedDomain, manager: Manager) -> bool:
    """Warn about a domain that no virtual host uses; return False then."""
    if not domain.tls_servers and domain.settings.require_https != REQUIRE_OFF:
        text = f"MD {domain.name} does not match any VirtualHost with 'SSLEngine on', but is configured to"
        manager.log("warn", "AH10105", f"{text} require https. This cannot work.")
    if domain.servers or domain.settings.renew_mode == RENEW_ALWAYS:
        return True
    manager.log("warn", "AH10045", f"No VirtualHost matches Managed Domain {domain.name}")
    return False
