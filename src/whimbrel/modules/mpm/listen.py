"""Listen, which is in the table of every MPM. Manual: mod/mpm_common.html#listen."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import is_digits
from whimbrel.config.addresses import BadAddress, parse_host_port, resolved, resolver_text
from whimbrel.config.execute import CommandContext, state_of
from whimbrel.config.model import Listener
from whimbrel.directives.command import Command


def set_listen(command: Command, _none: None, words: list[str]) -> None:
    """Execute Listen [host:]port [protocol]; host may be ``*`` or a name."""
    state = state_of(command)
    if not 1 <= len(words) <= 2:
        raise ConfigError("Listen requires 1 or 2 arguments.")
    try:
        parts = parse_host_port(words[0])
    except BadAddress:
        raise ConfigError("Invalid address or port") from None
    if parts.scope and command.dialect.listen_22:
        raise ConfigError("Scope id is not supported")
    if not parts.port:
        raise ConfigError("Port must be specified")
    if len(words) > 1:
        protocol = words[1].lower()
    elif parts.port == 443:
        protocol = "https"
    else:
        protocol = "http"
    for address in _addresses(state, "" if parts.host == "*" else parts.host, parts.port, parts.scope):
        _add(state, Listener(address, parts.port, protocol))


def _addresses(state: CommandContext, host: str, port: int, scope: str) -> list[str]:
    """Return the addresses of *host*, [""] for any."""
    old = state.dialect.listen_22
    if not host:
        return [""]
    try:
        addresses = resolved(host)
    except (OSError, UnicodeError) as problem:
        state.configuration.warn(
            f"alloc_listener: failed to set up sockaddr for {host}",
            code="AH00077",
            level="crit",
            cause=resolver_text(problem),
        )
        raise ConfigError("Listen setup failed") from None
    if scope:
        _check_scope(state, host, port, scope)
    return addresses[:1] if old else addresses


def _check_scope(state: CommandContext, host: str, port: int, scope: str) -> None:
    """Check a scope: 2.4 sets that of link-local addresses only."""
    import ipaddress

    cause = ""
    if not ipaddress.ip_address(host).is_link_local:
        cause = "(20016)The specified IP address is invalid."
    elif not _interface_exists(scope):
        cause = "(20014)Internal error (specific information not available)"
    if cause:
        state.configuration.warn(
            f"alloc_listener: failed to set scope for [{host}]:{port} to {scope}",
            code="AH10102",
            level="crit",
            cause=cause,
        )
        raise ConfigError("Listen step failed")


def _interface_exists(name: str) -> bool:
    import socket

    if is_digits(name):
        return True
    try:
        socket.if_nametoindex(name)
    except OSError:
        return False
    return True


def _add(state: CommandContext, listener: Listener) -> None:
    """Add the listener; 2.4 refuses a duplicate address and port at once, 2.2 when it binds."""
    listeners = state.configuration.spec.listeners
    if not state.dialect.listen_22 and any(
        known.address == listener.address and known.port == listener.port for known in listeners
    ):
        raise ConfigError("Cannot define multiple Listeners on the same IP:port")
    listeners.append(listener)
