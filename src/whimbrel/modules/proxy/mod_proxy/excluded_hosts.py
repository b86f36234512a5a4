"""Destinations of NoProxy and ProxyBlock: networks, domains, hosts, words (httpd's dirconn_entry)."""

from __future__ import annotations

import re

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import atoi, is_digits, lower, strtol
from whimbrel.base.static_typing import Final
from whimbrel.catalogue.checks.rules import unresolved
from whimbrel.directives.command import Command

_NAME = compile(r"[A-Za-z0-9.-]*")
_DOTTED = compile(r"([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})\.([0-9]{1,3})", re.ASCII)
BITS: Final = 32
ALL_ONES: Final = 2**32 - 1


@dataclass(frozen=True, slots=True)
class Destination:
    """One argument of NoProxy or ProxyBlock.

    Attributes:
        name: as written, hosts and domains of NoProxy in lower case.
        kind: "network", "domain", "host" or "word".
        network: address and mask as numbers, for a network.
        addresses: of ProxyBlock: the addresses that the name has, () if unknown.
    """

    name: str
    kind: str = "word"
    network: tuple[int, int] = (0, 0)
    addresses: tuple[str, ...] = ()


def direct_destination(cmd: Command, written: str) -> Destination:
    """Return the argument *written* of NoProxy: the first of network, domain, host and word that fits."""
    network = _network(cmd, written)
    if network is not None:
        return Destination(written, "network", network)
    if _NAME.fullmatch(written):
        if written.startswith("."):
            return Destination(lower(written).rstrip("."), "domain")
        if not unresolved(written):
            return Destination(lower(written).rstrip("."), "host")
    return Destination(written)


def blocked_destination(written: str) -> Destination:
    """Return the argument *written* of ProxyBlock, with the addresses that it has now."""
    import socket  # most configurations block nothing

    try:
        entries = socket.getaddrinfo(written, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        entries = []
    return Destination(written, addresses=tuple(dict.fromkeys(str(entry[4][0]) for entry in entries)))


def _number(text: str) -> tuple[int, str]:
    """Return the number at the beginning of *text* as strtol reads it with base 0, and the rest."""
    if lower(text[:2]) == "0x":
        base = 16
    elif text[:1] == "0":
        base = 8
    else:
        base = 10
    value, rest = strtol(text[2:] if base == 16 else text, base)
    return value, rest


def _network(cmd: Command, written: str) -> tuple[int, int] | None:
    """Return address and mask of ``a.b.c.d[/bits]`` or a shorter form; None for another text.

    A mask that is guessed or cuts bits off causes a warning (ap_proxy_is_ipaddr).
    """
    quads: list[int] = []
    rest = written
    while rest and len(quads) < 4 and not (rest[0] == "/" and quads):
        if not is_digits(rest[0]):
            return None
        quad, rest = _number(rest)
        if quad > 255:
            return None
        quads.append(quad)
        if rest[:1] == "." and len(quads) < 4:
            rest = rest[1:]
    address = sum(quad << (24 - 8 * at) for at, quad in enumerate(quads))
    if rest[:1] == "/" and is_digits(rest[1:2]):
        bits, rest = _number(rest[1:])
        if bits > BITS:
            return None
    else:
        while quads and not quads[-1]:
            quads.pop()
        bits = 8 * len(quads)
        if not bits:
            return None
        if bits != BITS:
            text = f"Warning: NetMask not supplied with IP-Addr; guessing: {_dotted(address)}/{bits}"
            _warn(cmd, text, "AH00900")
    if rest:
        return None
    mask = ALL_ONES << (BITS - bits) & ALL_ONES
    if address & ~mask:
        _warn(cmd, f"Warning: NetMask and IP-Addr disagree in {_dotted(address)}/{bits}", "AH00901")
        address &= mask
        _warn(cmd, f"         Set to {_dotted(address)}/{bits}", "AH00902")
    return address, mask


def _warn(cmd: Command, text: str, code: str) -> None:
    cmd.warn(text, code=code, level="startup")


def _dotted(address: int) -> str:
    return ".".join(str(address >> shift & 255) for shift in (24, 16, 8, 0))


def is_direct(destination: Destination, host: str) -> bool:
    """Return True if *host*, a name or an IPv4 address, belongs to *destination* of NoProxy."""
    if destination.kind == "word":
        return destination.name in host
    if destination.kind == "network":
        return in_network(destination, host)
    bare = lower(host).rstrip(".")
    if destination.kind == "host":
        return bare == destination.name
    return len(bare) > len(destination.name) and bare.endswith(destination.name)


def in_network(destination: Destination, address: str) -> bool:
    """Return True if the IPv4 address *address* lies in the network of *destination*."""
    match = _DOTTED.match(address)
    if match is None:
        return False
    number = 0
    for quad in match.groups():
        number = number << 8 | atoi(quad)
    return number & destination.network[1] == destination.network[0]


def blocking(destination: Destination, host: str, addresses: tuple[str, ...]) -> str | None:
    """Return why a connection to *host* with these *addresses* is refused, None if it is not (ProxyBlock)."""
    if destination.name in host or destination.name.startswith("*"):
        return f"name {destination.name} matched"
    shared = next((address for address in destination.addresses if address in addresses), None)
    return None if shared is None else f"IP {shared} matched"
