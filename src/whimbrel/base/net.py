"""Addresses and networks as httpd reads them (apr_ipsubnet_create), and lists of them that cost the same
however long they are.

Manual: mod/mod_authz_host.html ("Require ip").
"""

from __future__ import annotations

import re
import socket
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from struct import unpack
from types import MappingProxyType
from typing import Final, NamedTuple

from whimbrel.base.lazy_re import compile

_DIGITS_AND_DOTS = compile(r"[0-9.]+")
_BITS = compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", re.ASCII)
_ZONE = compile(r"[\w.:@-]{1,64}", re.ASCII)  # a name or number of an interface
_V4_IN_V6: Final = 0xFFFF
_LINK_LOCAL: Final = 0xFE80 >> 6  # the first ten bits
_FULL: Final = {False: (1 << 32) - 1, True: (1 << 128) - 1}
INVALID_ADDRESS: Final = "The specified IP address is invalid."
INVALID_MASK: Final = "The specified network mask is invalid."


class Network(NamedTuple):
    """The addresses whose bits under *mask*, which may have holes, are *value*; *v6*: of IPv6."""

    v6: bool
    value: int
    mask: int


class InvalidNetwork(Exception):
    """The text is no network. *reason* is APR's message, "" where it does not look like an address."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason)
        self.reason = reason


def parse_network(address: str, mask: str | None = None) -> Network:
    """Return the network *address* with its *mask* (bits or dotted), without one a single address or leading
    octets (``10.1``); raises BadAddress.
    """
    if ":" not in address and _DIGITS_AND_DOTS.fullmatch(address) is None:
        raise InvalidNetwork
    exact = _numeric(address)
    if mask is None:
        return Network(*exact, _FULL[exact[0]]) if exact else _leading_octets(address)
    if exact is None:
        raise InvalidNetwork(INVALID_ADDRESS)
    v6, value = exact
    bits = _mask(mask, v6)
    return Network(v6, value & bits, bits)


def parse_written(text: str) -> Network:
    """Return a network written as one argument, ``ADDRESS`` or ``ADDRESS/MASK``; raise BadAddress."""
    address, slash, mask = text.partition("/")
    return parse_network(address, mask if slash else None)


def _numeric(text: str) -> tuple[bool, int] | None:
    """Return a complete address; IPv4-mapped IPv6 is refused, because clients never have such addresses."""
    v6 = ":" in text
    value = _pton(socket.AF_INET6 if v6 else socket.AF_INET, text)
    if value is None:
        return None
    if v6 and value >> 32 == _V4_IN_V6:
        raise InvalidNetwork(INVALID_ADDRESS)
    return v6, value


def _pton(family: int, text: str) -> int | None:
    try:
        return int.from_bytes(socket.inet_pton(family, text), "big")
    except (OSError, ValueError):
        return None


def _mask(text: str, v6: bool) -> int:
    width = 128 if v6 else 32
    match = _BITS.fullmatch(text)
    bits = int(match[1]) if match else 0
    if 0 < bits <= width:
        return (_FULL[v6] << (width - bits)) & _FULL[v6]
    dotted = None if v6 else _pton(socket.AF_INET, text)
    if dotted is None:
        raise InvalidNetwork(INVALID_MASK)
    return dotted


def _leading_octets(text: str) -> Network:
    """``10``, ``10.1``, ``10.1.``: the first octets of an IPv4 address."""
    if len(text) > 15 or ":" in text:
        raise InvalidNetwork(INVALID_ADDRESS)
    parts = text.removesuffix(".").split(".") if text else []
    if len(parts) > 4 or any(not p or int(p) > 255 for p in parts):
        raise InvalidNetwork(INVALID_ADDRESS)
    value = 0
    mask = 0
    for index, part in enumerate(parts):
        value |= int(part) << (24 - 8 * index)
        mask |= 255 << (24 - 8 * index)
    return Network(False, value, mask)


@lru_cache(maxsize=4096)
def numeric_address(text: str) -> tuple[bool, int]:
    """Return a client's address as (is IPv6, number), IPv4 for IPv4-mapped IPv6; (False, -1), which is in no
    list, for other text. Link-local addresses alone have a zone (RFC 4007, section 11).
    """
    text, percent, zone = text.partition("%")
    value = None if percent else _pton(socket.AF_INET, text)
    if value is not None:
        return False, value
    value = _pton(socket.AF_INET6, text)
    if value is None:
        return False, -1
    if percent and (_ZONE.fullmatch(zone) is None or value >> 118 != _LINK_LOCAL):
        return False, -1
    return (False, value & _FULL[False]) if value >> 32 == _V4_IN_V6 else (True, value)


Table = tuple[list[int], list[int]]
_WIDTH: Final = {False: 4, True: 16}
_NONE: Final[Table] = ([], [])
_NO_HOLES: Final[Mapping[tuple[bool, int], frozenset[int]]] = MappingProxyType({})


class Networks:
    """A set of networks: sorted ranges, searched by bisection; masks with holes are stored by mask.

    Configurations have tens of thousands of sets with one network each, which are joined before a lookup.
    Ranges are therefore stored as bytes (first and last address of each, in order), and the lists for lookups
    are built at the first one.
    """

    __slots__ = ("_holes", "_tables", "_v4", "_v6")

    def __init__(self, networks: Iterable[Network]) -> None:
        ranges: dict[bool, list[tuple[int, int]]] = {False: [], True: []}
        holes: dict[tuple[bool, int], set[int]] = {}
        for v6, value, mask in networks:
            rest = _FULL[v6] & ~mask
            if rest & (rest + 1):
                holes.setdefault((v6, mask), set()).add(value)
            else:
                ranges[v6].append((value, value | rest))
        self._v4 = _packed(ranges[False], False)
        self._v6 = _packed(ranges[True], True)
        self._keep_holes(holes)

    def _keep_holes(self, holes: dict[tuple[bool, int], set[int]]) -> None:
        self._holes = {key: frozenset(values) for key, values in holes.items()} if holes else _NO_HOLES
        self._tables: tuple[Table, Table] | None = None

    @classmethod
    def union(cls, network_sets: Iterable[Networks]) -> Networks:
        """Return the union of *many*, ready for lookups."""
        sets = list(network_sets)
        holes: dict[tuple[bool, int], set[int]] = {}
        for networks in sets:
            for key, values in networks._holes.items():
                holes.setdefault(key, set()).update(values)
        union_set = cls.__new__(cls)
        union_set._v4 = _packed(_unpacked(b"".join([networks._v4 for networks in sets]), False), False)
        union_set._v6 = _packed(_unpacked(b"".join([networks._v6 for networks in sets]), True), True)
        union_set._keep_holes(holes)
        union_set._tables = union_set._ready()
        return union_set

    def _ready(self) -> tuple[Table, Table]:
        return _table(self._v4, False), _table(self._v6, True)

    def __contains__(self, address: object) -> bool:
        """Return True if *address*, as a client's connection names it, is in one of the networks."""
        v6, value = numeric_address(address) if isinstance(address, str) else (False, -1)
        tables = self._tables
        if tables is None:
            tables = self._ready()
            self._tables = tables
        starts, ends = tables[v6]
        at = bisect_right(starts, value) - 1
        if at >= 0 and value <= ends[at]:
            return True
        return (
            bool(self._holes)
            and value >= 0
            and any(v6 == kind and value & mask in values for (kind, mask), values in self._holes.items())
        )


def _packed(ranges: list[tuple[int, int]], v6: bool) -> bytes:
    """Ranges in order, neighbours joined, as the bytes of their first and last addresses."""
    width = _WIDTH[v6]
    if len(ranges) < 2:
        return b"".join([number.to_bytes(width, "big") for pair in ranges for number in pair])
    out: list[int] = []
    last = -2
    for low, high in sorted(ranges):
        if low <= last + 1:
            if high > last:
                last = high
                out[-1] = high
        else:
            out += (low, high)
            last = high
    return b"".join([number.to_bytes(width, "big") for number in out])


def _numbers(data: bytes, v6: bool) -> Sequence[int]:
    if v6:
        return [int.from_bytes(data[at : at + 16], "big") for at in range(0, len(data), 16)]
    return unpack(f">{len(data) // 4}I", data)


def _unpacked(data: bytes, v6: bool) -> list[tuple[int, int]]:
    numbers = _numbers(data, v6)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _table(data: bytes, v6: bool) -> Table:
    """Return the starts and the ends of ranges that were packed."""
    if not data:
        return _NONE
    numbers = _numbers(data, v6)
    return list(numbers[::2]), list(numbers[1::2])
