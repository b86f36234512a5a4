"""Setters of the directives of the whole server, and of switches in sections."""

from __future__ import annotations

import re

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import atoi, is_digits, lower, strtol
from whimbrel.base.static_typing import Any
from whimbrel.catalogue.checks.rules import unresolved
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Setter
from whimbrel.http.syntax.target import default_port
from whimbrel.modules.proxy.mod_proxy.backends import added
from whimbrel.modules.proxy.mod_proxy.excluded_hosts import (
    Destination,
    blocked_destination,
    direct_destination,
)
from whimbrel.modules.proxy.mod_proxy.model import BUFFER_SIZE
from whimbrel.modules.proxy.mod_proxy.settings import ProxyDirConfig, ProxyRemote, ProxyServerConfig
from whimbrel.modules.support.substitution import compiled
from whimbrel.registry.settings import UNSET

_NUMERIC = compile(r"[0-9.]+|0[xX][0-9a-fA-F]+", re.ASCII)
_CODES = "ProxyErrorOverride: status codes to intercept must be valid HTTP Status Codes >=400 && <600"


def set_remote(by_regex: bool) -> Setter:
    """Return the setter of ProxyRemote or ProxyRemoteMatch: pattern, proxy's URL and its credentials."""
    name = "ProxyRemoteMatch" if by_regex else "ProxyRemote"
    bad = f"{name}: Bad syntax for a remote proxy server"

    def apply(cmd: Command, conf: ProxyServerConfig, arguments: list[str]) -> None:
        pattern, url = arguments[:2]
        scheme, mark, rest = url.partition("://")
        if not mark or not rest or ":" in scheme:
            raise ConfigError(bad)
        host, colon, port_text = rest.partition(":")
        port = atoi(port_text) if colon else default_port(scheme)
        if colon and (not is_digits(port_text[:1]) or port > 65535):
            raise ConfigError(f"{bad} (bad port number)")
        regex = None
        if by_regex:
            refusal = "Regular expression for ProxyRemoteMatch could not be compiled."
            regex = compiled(cmd, pattern, refusal)
        elif ":" not in pattern:
            pattern = lower(pattern)
        credentials = arguments[2] if len(arguments) > 2 else ""
        remote = ProxyRemote(pattern, scheme, lower(host), port, regex, credentials)
        conf.remotes = added(conf.remotes, remote)

    return apply


def add_blocked(_cmd: Command, conf: ProxyServerConfig, arguments: list[str]) -> None:
    """Set ProxyBlock: a name, or ``*``."""
    if not _is_listed(conf.blocked, arguments[0]):
        conf.blocked = added(conf.blocked, blocked_destination(arguments[0]))


def add_direct(cmd: Command, conf: ProxyServerConfig, arguments: list[str]) -> None:
    """Set NoProxy: a network, domain, host or word."""
    if not _is_listed(conf.direct, arguments[0]):
        conf.direct = added(conf.direct, direct_destination(cmd, arguments[0]))


def _is_listed(destinations: Any, name: str) -> bool:
    listed: list[Destination] = [] if destinations is UNSET else destinations
    return any(lower(entry.name) == lower(name) for entry in listed)


def set_domain(_cmd: Command, conf: ProxyServerConfig, arguments: list[str]) -> None:
    """Set ProxyDomain: a domain that begins with a dot."""
    if not arguments[0].startswith("."):
        raise ConfigError("ProxyDomain: domain name must start with a dot.")
    conf.domain = arguments[0]


def set_io_buffer(cmd: Command, conf: ProxyServerConfig, arguments: list[str]) -> None:
    """Set ProxyIOBufferSize; 2.2 raises small values to its minimum."""
    size = strtol(arguments[0])[0]
    if not cmd.dialect.proxy_22:
        if size < 512 and size:
            raise ConfigError("ProxyIOBufferSize must be >= 512 bytes, or 0 for system default.")
        conf.io_buffer_size = size or BUFFER_SIZE
    else:
        conf.io_buffer_size = max(size, BUFFER_SIZE)


def set_receive_buffer(_cmd: Command, conf: ProxyServerConfig, arguments: list[str]) -> None:
    """Set ProxyReceiveBufferSize; 0 for the system's."""
    size = atoi(arguments[0])
    if size < 512 and size:
        raise ConfigError("ProxyReceiveBufferSize must be >= 512 bytes, or 0 for system default.")
    conf.receive_buffer_size = size


def add_connect_port(_cmd: Command, conf: ProxyServerConfig, arguments: list[str]) -> None:
    """Set a port of AllowCONNECT, which is mod_proxy's in 2.2."""
    if not is_digits(arguments[0][:1]):
        raise ConfigError("AllowCONNECT: port number must be numeric")
    conf.connect_ports = added(conf.connect_ports, atoi(arguments[0]))


def set_source_address(_cmd: Command, conf: ProxyServerConfig, arguments: list[str]) -> None:
    """Set ProxySourceAddress: an address in any of inet_aton's forms, or a host name, which is resolved."""
    import socket  # most configurations have none

    address = arguments[0]
    if _NUMERIC.fullmatch(address):
        try:
            conf.source_address = socket.inet_ntoa(socket.inet_aton(address))
        except OSError:
            raise ConfigError("ProxySourceAddress invalid value") from None
        return
    if not address.startswith("/") and unresolved(address):
        raise ConfigError("ProxySourceAddress invalid value")
    conf.source_address = address


def set_error_override(_cmd: Command, record: ProxyDirConfig, arguments: list[str]) -> None:
    """Set ProxyErrorOverride: On or Off; after On any number of status codes."""
    word = lower(arguments[0])
    if word in ("on", "off"):
        record.error_override = word == "on"
        return
    if record.error_override is UNSET:
        raise ConfigError("ProxyErrorOverride first parameter must be one of: off | on")
    if not is_digits(word[:1]):
        raise ConfigError("ProxyErrorOverride: status codes to intercept must be numeric")
    if not record.error_override:
        raise ConfigError("ProxyErrorOverride: status codes must follow a value of 'on'")
    if not 400 <= atoi(word) < 600:
        raise ConfigError(_CODES)
    codes = () if record.error_override_codes is UNSET else record.error_override_codes
    record.error_override_codes = (*codes, atoi(word))
