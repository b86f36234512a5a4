"""Writer of SDBM files, as htdbm and httxt2dbm write them; `sdbm` describes the layout of a page.

A page is selected by the low bits of a key's hash.  The .dir file is a bitmap of the tree of divided pages,
from which a reader derives how many bits count.  A full page is divided by one bit more.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import pack
from typing import Final

from whimbrel.modules.support.dbm.sdbm import PAGE

MAX_PAIR: Final = 1008  # bytes of a key and its value
_DIVISIONS: Final = 10  # more divisions do not help: the keys have the same hash
_BLOCK: Final = 4096
_ENTRY: Final = 4  # bytes of a pair's two offsets


class Full(Exception):
    """A pair is too long or empty, or too many keys share a hash."""


class _Tree:
    """Pages by number, each a list of pairs with their size; the divided nodes."""

    def __init__(self) -> None:
        self.pages: dict[int, dict[bytes, bytes]] = {}
        self.divided: set[int] = set()

    def put(self, key: bytes, value: bytes) -> None:
        if not key or len(key) + len(value) > MAX_PAIR:
            raise Full
        code = _hash(key)
        node = 0
        depth = 0
        while node in self.divided:
            node, depth = 2 * node + 1 + (code >> depth & 1), depth + 1
        page = self.pages.setdefault(code & (1 << depth) - 1, {})
        page.pop(key, None)
        for _ in range(_DIVISIONS + 1):
            if _size(page) + len(key) + len(value) + _ENTRY <= PAGE:
                page[key] = value
                return
            page = self._divide(page, node, depth, code)
            node, depth = 2 * node + 1 + (code >> depth & 1), depth + 1
        raise Full

    def _divide(self, page: dict[bytes, bytes], node: int, depth: int, code: int) -> dict[bytes, bytes]:
        """Divide a node's page by the bit *depth*; return the page of *code*."""
        self.divided.add(node)
        low = code & (1 << depth) - 1
        halves: tuple[dict[bytes, bytes], dict[bytes, bytes]] = ({}, {})
        for key, value in page.items():
            halves[_hash(key) >> depth & 1][key] = value
        self.pages[low], self.pages[low | 1 << depth] = halves
        return halves[code >> depth & 1]


def files(pairs: Iterable[tuple[bytes, bytes]]) -> tuple[bytes, bytes]:
    """Return the bytes of the .pag and .dir files that hold *pairs*; raises Full."""
    tree = _Tree()
    for key, value in pairs:
        tree.put(key, value)
    count = max(tree.pages) + 1 if any(tree.pages.values()) else 0
    bits = bytearray()
    if tree.divided:
        bits = bytearray((max(tree.divided) // 8 // _BLOCK + 1) * _BLOCK)
        for node in tree.divided:
            bits[node // 8] |= 1 << node % 8
    return b"".join(_page(tree.pages.get(number, {})) for number in range(count)), bytes(bits)


def _page(pairs: dict[bytes, bytes]) -> bytes:
    offsets = [2 * len(pairs)]
    data = b""
    end = PAGE
    for key, value in pairs.items():
        offsets += (end - len(key), end - len(key) - len(value))
        end, data = offsets[-1], value + key + data
    head = pack(f"={len(offsets)}h", *offsets)
    return head + bytes(PAGE - len(head) - len(data)) + data


def _size(page: dict[bytes, bytes]) -> int:
    return 2 + sum(len(key) + len(value) + _ENTRY for key, value in page.items())


def _hash(key: bytes) -> int:
    code = 0
    for byte in key:
        code = byte + (code << 6) + (code << 16) - code & 0xFFFFFFFF
    return code
