"""Reader of GDBM files, as htdbm -TGDBM writes them on 64-bit machines.

The header locates the directory: a list of offsets of buckets, several entries for one bucket.  A bucket has
its free blocks, the number of its entries and a table.  A row holds hash value, start of the key, offset,
sizes of key and value; hash value -1 is an empty row.  Key and value are adjacent.  Numbers have the byte
order of the machine that wrote the file.  Source: the manual of GDBM, "Database format".
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import calcsize, iter_unpack, unpack_from
from struct import error as too_short
from typing import Final

from whimbrel.modules.support.dbm.bdb import Damaged, bounded

_MAGIC: Final = (0x13579ACF, 0x13579AD1)  # 64-bit offsets, without and with a count of synchronizations
_TABLE: Final = 112  # bytes of a bucket before its entries
_ENTRY: Final = "i4sqii"
_EMPTY: Final = -1


def pairs(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of a file; raises Damaged for wrong offsets and sizes."""
    return bounded(_pairs(data), len(data))


def _pairs(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    try:
        order = next((o for o in "<>" if unpack_from(o + "I", data)[0] in _MAGIC), "")
        if not order:
            raise Damaged
        _, _, directory, size, _, _, room = unpack_from(order + "iiqiiii", data)
        if not 0 < directory <= len(data) or not 0 < size <= len(data) - directory or size % 8 or room <= 0:
            raise Damaged
        buckets = dict.fromkeys(unpack_from(f"{order}{size // 8}q", data, directory))
        if len(buckets) * room * calcsize(order + _ENTRY) > len(data):  # buckets do not overlap
            raise Damaged
        for bucket in buckets:
            yield from _bucket(data, bucket, room, order)
    except too_short:
        raise Damaged from None


def _bucket(data: bytes, start: int, room: int, order: str) -> Iterator[tuple[bytes, bytes]]:
    begin = start + _TABLE
    length = room * calcsize(order + _ENTRY)
    if start <= 0 or begin + length > len(data):
        raise Damaged
    for known, _, place, key, value in iter_unpack(order + _ENTRY, data[begin : begin + length]):
        if known == _EMPTY:
            continue
        if place <= 0 or key < 0 or value < 0 or place + key + value > len(data):
            raise Damaged
        yield data[place : place + key], data[place + key : place + key + value]
