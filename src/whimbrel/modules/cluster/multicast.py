"""Multicast addresses and sockets of mod_heartbeat and mod_heartmonitor."""

from __future__ import annotations

from whimbrel.base.errors import ConfigError
from whimbrel.base.numbers import atoi
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.config.addresses import BadAddress, parse_host_port

if TYPE_CHECKING:
    import socket


def parse_address(directive: str, text: str, noun: str, *, is_set: bool) -> tuple[str, int]:
    """Return host and port of *text*; raises ConfigError with httpd's message."""
    if is_set:
        raise ConfigError(f"{directive}: May only be specified once.")
    try:
        parts = parse_host_port(text)
    except BadAddress:
        raise ConfigError(f"{directive}: Unable to parse {noun}.") from None
    if not parts.host:
        raise ConfigError(f"{directive}: No host provided in {noun}")
    if not parts.port:
        raise ConfigError(f"{directive}: No port provided in {noun}")
    import socket  # most configurations have no such address

    try:
        found = socket.getaddrinfo(parts.host, parts.port, socket.AF_INET, socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        where = "" if noun == "address" else f" on {noun}"
        raise ConfigError(
            f"{directive}: apr_sockaddr_info_get failed{where}{'.' if not where else ''}"
        ) from None
    return str(found[0][4][0]), parts.port


def sender() -> socket.socket:
    """Return a socket for reports; this machine receives them too."""
    import socket

    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
    return sock


def listener(address: tuple[str, int]) -> socket.socket:
    """Return a socket that receives what is sent to *address*; raises OSError."""
    import socket

    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        sock.bind(address)
        if atoi(address[0]) in range(224, 240):
            group = socket.inet_aton(address[0]) + socket.inet_aton("0.0.0.0")
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
    except OSError:
        sock.close()
        raise
    return sock
