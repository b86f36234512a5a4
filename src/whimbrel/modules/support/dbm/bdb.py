"""Reader of Berkeley DB files: hash (htdbm -TDB, Debian's default DBM type) and B-tree, which httpd reads
too.

The first page holds the page size.  A page has 26 bytes of header (entries at 20, type at 25) and 16-bit
offsets of its items.  The items, keys and values in turn, are stored from its end downwards; large items are
in chains of overflow pages.  An item of a hash page begins with its kind and ends where the previous one
begins.  An item of a B-tree leaf begins with its size and its kind.  Numbers have the byte order of the
machine that wrote the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import error as too_short
from struct import unpack_from
from typing import Final

_HASH_MAGIC: Final = 0x061561
_TREE_MAGIC: Final = 0x053162
_HASH_PAGES: Final = (2, 13)
_LEAF: Final = 5
_HEADER: Final = 26
_INLINE: Final = 1
_OFF_PAGE: Final = 3


class Damaged(Exception):
    """The bytes are not a DBM file of the kind, or the file is truncated."""


def bounded(pairs: Iterable[tuple[bytes, bytes]], size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield *pairs*; raises Damaged once they have more bytes than the file, which holds each byte once."""
    left = size
    for key, value in pairs:
        left -= len(key) + len(value)
        if left < 0:
            raise Damaged
        yield key, value


def pairs(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of a file's bytes; raises Damaged."""
    return bounded(_pairs(data), len(data))


def _pairs(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    try:
        order = next((o for o in "<>" if unpack_from(o + "I", data, 12)[0] in (_HASH_MAGIC, _TREE_MAGIC)), "")
        size = unpack_from(order + "I", data, 20)[0] if order else 0
        if size < 512 or size > 65536 or size & (size - 1) or len(data) % size:
            raise Damaged
        for start in range(size, len(data) - size + 1, size):
            if data[start + 25] in _HASH_PAGES:
                yield from _page(data, start, size, order)
            elif data[start + 25] == _LEAF:
                yield from _leaf(data, start, size, order)
    except too_short:
        raise Damaged from None


def _offsets(data: bytes, start: int, size: int, order: str) -> tuple[int, ...]:
    """Return the offsets of the items of a page."""
    count: int = unpack_from(order + "H", data, start + 20)[0]
    if count > (size - _HEADER) // 2:
        raise Damaged
    return unpack_from(f"{order}{count}H", data, start + _HEADER)


def _page(data: bytes, start: int, size: int, order: str) -> Iterator[tuple[bytes, bytes]]:
    offsets = _offsets(data, start, size, order)
    ends = (size, *offsets)
    items = (
        _item(data, start + offset, start + end, size, order)
        for offset, end in zip(offsets, ends, strict=False)
    )
    yield from _paired(items)


def _paired(items: Iterator[bytes | None]) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values, which take turns; pairs with another kind of item are left out."""
    for key, value in zip(items, items, strict=False):
        if key is not None and value is not None:
            yield key, value


def _item(data: bytes, start: int, end: int, size: int, order: str) -> bytes | None:
    """Return one item's bytes; None for duplicates and other kinds that password files do not have."""
    if not start < end <= len(data):
        raise Damaged
    if data[start] == _INLINE:
        return data[start + 1 : end]
    if data[start] != _OFF_PAGE:
        return None
    page, length = unpack_from(order + "II", data, start + 4)
    return _overflow(data, page, length, size, order)


def _leaf(data: bytes, start: int, size: int, order: str) -> Iterator[tuple[bytes, bytes]]:
    offsets = _offsets(data, start, size, order)
    yield from _paired(_leaf_item(data, start, offset, size, order) for offset in offsets)


def _leaf_item(data: bytes, start: int, offset: int, size: int, order: str) -> bytes | None:
    """Return one item's bytes; None for deleted items and duplicates."""
    length, kind = unpack_from(order + "HB", data, start + offset)
    if kind == _INLINE:
        if offset + 3 + length > size:
            raise Damaged
        return data[start + offset + 3 : start + offset + 3 + length]
    if kind != _OFF_PAGE:
        return None
    page, total = unpack_from(order + "II", data, start + offset + 4)
    return _overflow(data, page, total, size, order)


def _overflow(data: bytes, page: int, length: int, size: int, order: str) -> bytes:
    pieces = list[bytes]()
    left = length
    while page and left > 0:
        start = page * size
        page = unpack_from(order + "I", data, start + 16)[0]
        used = unpack_from(order + "H", data, start + 22)[0]
        if not 0 < used <= size - _HEADER or len(pieces) * size > len(data):  # a chain may be a ring
            raise Damaged
        pieces.append(data[start + _HEADER : start + _HEADER + used])
        left -= used
    return b"".join(pieces)
