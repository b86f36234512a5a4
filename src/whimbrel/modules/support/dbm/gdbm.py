"""Reading GDBM files, as htdbm -TGDBM writes them on machines of 64 bits.

The header names the directory: a list of offsets of buckets, several entries for one.  A bucket has its free places, the number of its entries and a
table of hash value, start of the key, offset, size of key and of value; -1 as hash value is an empty place.  Key and value lie together.  Numbers are
in the order of the machine that wrote them.  Source: the manual of GDBM, "Database format".
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import calcsize, iter_unpack, unpack_from
from struct import error as too_short
from typing import Final

from whimbrel.modules.support.dbm.bdb import Damaged

_MAGIC: Final = (0x13579ACF, 0x13579AD1)  # offsets of 64 bits, without and with a count of synchronizations
_TABLE: Final = 112  # bytes of a bucket before its entries
_ENTRY: Final = "i4sqii"
_EMPTY: Final = -1


def pairs(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Keys and values of a file's bytes; raises Damaged for anything that does not lie in the file or makes no sense."""
    try:
        order = next((o for o in "<>" if unpack_from(o + "I", data)[0] in _MAGIC), "")
        if not order:
            raise Damaged
        _, _, directory, size, _, _, room = unpack_from(order + "iiqiiii", data)
        if not 0 < directory <= len(data) or not 0 < size <= len(data) - directory or size % 8 or room <= 0:
            raise Damaged
        for bucket in dict.fromkeys(unpack_from(f"{order}{size // 8}q", data, directory)):
            yield from _bucket(data, bucket, room, order)
    except too_short:
        raise Damaged from None


def _bucket(data: bytes, start: int, room: int, order: str) -> Iterator[tuple[bytes, bytes]]:
    begin, length = start + _TABLE, room * calcsize(order + _ENTRY)
    if start <= 0 or begin + length > len(data):
        raise Damaged
    for known, _, place, key, value in iter_unpack(order + _ENTRY, data[begin : begin + length]):
        if known == _EMPTY:
            continue
        if place <= 0 or key < 0 or value < 0 or place + key + value > len(data):
            raise Damaged
        yield data[place : place + key], data[place + key : place + key + value]
