"""Writer of Berkeley DB hash files (version 9, little-endian), the default type of htdbm and httxt2dbm.

The first page describes the table; then each bucket has a page, with overflow pages chained to it.  Items of
a page are sorted by key; an item of more than a quarter of a page has overflow pages of its own.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from struct import pack
from typing import Final

PAGE: Final = 4096
_HEAD: Final = 26
_ROOM: Final = PAGE - _HEAD
_MAGIC: Final = 0x061561
_KIND_META = 8
_KIND_HASH = 13
_KIND_OVERFLOW = 7
_CHECK: Final = b"%$sniglet^&\0"  # readers check the file's hash function with the hash of this
_SPARES: Final = 32


class _Pages:
    """Pages by number, from the first after the buckets on."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.pages: list[bytes] = []

    def take(self) -> int:
        """Allocate a page; return its number."""
        self.pages.append(b"")
        return self.first + len(self.pages) - 1

    def fill(self, number: int, data: bytes) -> None:
        self.pages[number - self.first] = data


def data_of(pairs: Mapping[bytes, bytes]) -> bytes:
    """Return the bytes of the file that holds *pairs*."""
    buckets = 2
    while buckets * PAGE * 3 // 4 < sum(len(key) + len(value) + 6 for key, value in pairs.items()):
        buckets *= 2
    shares: list[list[bytes]] = [[] for _ in range(buckets)]
    for key in pairs:
        shares[_hash(key) & buckets - 1].append(key)
    more = _Pages(buckets + 1)
    first = [
        _bucket(number, [(key, pairs[key]) for key in sorted(share)], more)
        for number, share in enumerate(shares, 1)
    ]
    return b"".join((_meta(buckets, len(pairs), buckets + len(more.pages)), *first, *more.pages))


def _meta(buckets: int, count: int, last: int) -> bytes:
    levels = buckets.bit_length()
    head = pack("<IIIIIIBBBBIIIIII", 0, 1, 0, _MAGIC, 9, PAGE, 0, _KIND_META, 0, 0, 0, last, 0, 0, 0, 0)
    table = pack("<IIIIII", buckets - 1, buckets - 1, buckets // 2 - 1, 0, count, _hash(_CHECK))
    spares = pack(f"<{_SPARES}I", *(int(level < levels) for level in range(_SPARES)))
    return (head[:52] + secrets.token_bytes(20) + table + spares).ljust(PAGE, b"\0")


def _bucket(number: int, pairs: list[tuple[bytes, bytes]], more: _Pages) -> bytes:
    """Return the first page of a bucket; further ones are added to *more*."""
    filled: list[list[bytes]] = [[]]
    for pair in pairs:
        items = [_item(part, more) for part in pair]
        if sum(len(item) + 2 for item in filled[-1] + items) > _ROOM:
            filled.append([])
        filled[-1] += items
    numbers = [number, *(more.take() for _ in filled[1:])]
    pages = [
        _hash_page(
            numbers[at], numbers[at - 1] if at else 0, numbers[at + 1] if at + 1 < len(numbers) else 0, items
        )
        for at, items in enumerate(filled)
    ]
    for at, page in zip(numbers[1:], pages[1:], strict=True):
        more.fill(at, page)
    return pages[0]


def _item(part: bytes, more: _Pages) -> bytes:
    if len(part) <= PAGE // 4:
        return b"\1" + part
    pieces = [part[at : at + _ROOM] for at in range(0, len(part), _ROOM)]
    numbers = [more.take() for _ in pieces]
    for at, piece in enumerate(pieces):
        before = numbers[at - 1] if at else 0
        after = numbers[at + 1] if at + 1 < len(pieces) else 0
        head = pack("<IIIIIHHBB", 0, 1, numbers[at], before, after, 1, len(piece), 0, _KIND_OVERFLOW)
        more.fill(numbers[at], (head + piece).ljust(PAGE, b"\0"))
    return pack("<B3xII", 3, numbers[0], len(part))


def _hash_page(number: int, before: int, after: int, items: list[bytes]) -> bytes:
    offsets = []
    end = PAGE
    for item in items:
        end -= len(item)
        offsets.append(end)
    head = pack("<IIIIIHHBB", 0, 1, number, before, after, len(items), end, 0, _KIND_HASH) + pack(
        f"<{len(items)}H", *offsets
    )
    return head + bytes(end - len(head)) + b"".join(reversed(items))


def _hash(key: bytes) -> int:
    code = 0
    for byte in key:
        code = code * 16777619 & 0xFFFFFFFF ^ byte
    return code
