"""Addresses as they are written in Listen, <VirtualHost> and NameVirtualHost: APR's apr_parse_addr_port and
what httpd makes of it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.config.model import Address

ANY = "*"
DEFAULT = "_default_"
_IPV4 = compile(r"(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])(?:\.(?!\Z)|\Z)){4}")


class BadAddress(ValueError):
    """The text is no ``host:port``."""


@dataclass(frozen=True, slots=True)
class HostPort:
    """The parts of ``[host%scope]:port``; *host* "" and *port* 0 where they were not given."""

    host: str
    port: int
    scope: str = ""


@lru_cache(maxsize=64)
def parse_host_port(text: str) -> HostPort:
    """Take ``80``, ``host``, ``host:80``, ``[::1]:80`` or ``[fe80::1%eth0]:80`` apart; raises BadAddress."""
    if re.fullmatch("[0-9]+", text):
        return HostPort("", _port(text))
    match = re.fullmatch(r"(.+):([0-9]+)", text, re.DOTALL)
    if text[:1] == ":" and re.fullmatch(":[0-9]+", text):
        raise BadAddress(text)
    host, port = (match[1], _port(match[2])) if match else (text, 0)
    if host[:1] != "[":
        return HostPort(host, port)
    if host.find("]") != len(host) - 1:
        raise BadAddress(text)
    host, percent, scope = host[1:-1].partition("%")
    if (percent and not scope) or not is_ipv6(host):
        raise BadAddress(text)
    return HostPort(host, port, scope)


def _port(digits: str) -> int:
    number = int(digits)
    if not 1 <= number <= 65535:
        raise BadAddress(digits)
    return number


def is_ipv6(host: str) -> bool:
    """Return True if *host* is an IPv6 address, without a scope."""
    import socket  # imported late: it is slow, and numeric addresses do without

    try:
        socket.inet_pton(socket.AF_INET6, host)
    except (OSError, ValueError):
        return False
    return True


def resolved(host: str) -> list[str]:
    """Return the addresses of *host* in canonical form, each once; raise OSError if it has none."""
    if _IPV4.fullmatch(host):
        return [host]
    import ipaddress
    import socket

    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        pass
    addresses = socket.getaddrinfo(host.encode("latin-1"), None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in addresses))


class Unresolved(Exception):
    """A host name without address; *reason* is the resolver's text with its number, as APR prints it."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(host)
        self.host = host
        self.reason = reason


@lru_cache(maxsize=64)
def _anywhere(port: int) -> Address:
    """``*``: one and the same for the thousands of hosts that have it."""
    return Address(ANY, port, ANY)


def virtual_addresses(text: str, default_port: int, *, old: bool) -> list[Address]:
    """Return the addresses of one argument of <VirtualHost> or NameVirtualHost; port 0 means any.

    Raise ConfigError with httpd's message; Unresolved for a name without address, which httpd ignores.
    """
    body = text
    wild_port = False
    if text == ANY:
        return [_anywhere(0)]
    if text.endswith(":*"):
        body = text[:-2]
        wild_port = True
    try:
        parts = parse_host_port(body)
    except BadAddress:
        raise ConfigError("The address or port is invalid") from None
    if not parts.host:
        raise ConfigError("Missing address for VirtualHost")
    if parts.scope and old:
        raise ConfigError("Scope ids are not supported")
    port = parts.port or (0 if wild_port else default_port)
    if parts.host == ANY:
        return [_anywhere(port)]
    if parts.host.lower() == DEFAULT or (old and parts.host == "255.255.255.255"):
        return [Address(DEFAULT if old else ANY, port, parts.host)]
    try:
        return [
            Address(ANY if host in ("0.0.0.0", "::") else host, port, parts.host)
            for host in resolved(parts.host)
        ]
    except (OSError, UnicodeError) as problem:
        raise Unresolved(parts.host, resolver_text(problem)) from None


def resolver_text(problem: Exception) -> str:
    """APR's wording: ``(EAI 2)Name or service not known``."""
    import socket

    if isinstance(problem, socket.gaierror) and problem.errno is not None:
        return f"(EAI {abs(problem.errno)}){problem.strerror}"
    return f"(EAI 2){'Name or service not known'}"
