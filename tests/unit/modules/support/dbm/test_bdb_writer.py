"""Berkeley DB hash files: written pairs are found by a look-up as the format prescribes it, and by `bdb`."""

from __future__ import annotations

from struct import unpack_from

import pytest

from whimbrel.modules.support.dbm import bdb, bdb_writer


def test_the_first_page_is_as_the_library_writes_it() -> None:
    page = bdb_writer.data_of({b"ann": b"x", b"bob": b"y"})[:4096]
    assert (
        page[:32].hex() == "00000000010000000000000061150600090000000010000000080000" + "00000000"
    )  # as htdbm 2.4.71 wrote it
    assert page[0x48:0x68].hex() == "0100000001000000000000000000000002000000d18d685e0100000001000000"


def bucket(data: bytes, key: bytes) -> list[bytes]:
    """Return the items of the bucket in which a reader searches *key* (those inside the pages themselves)."""
    code = 0
    for byte in key:
        code = (code * 16777619) % (1 << 32) ^ byte
    most, high, low = unpack_from("<3I", data, 0x48)
    number = code & high if code & high <= most else code & low
    page = (number + unpack_from("<I", data, 0x60 + 4 * number.bit_length())[0]) * bdb_writer.PAGE
    found: list[bytes] = []
    while page:
        count, end = unpack_from("<H", data, page + 20)[0], bdb_writer.PAGE
        for offset in unpack_from(f"<{count}H", data, page + 26):
            found.append(data[page + offset + 1 : page + end])
            end = offset
        page = unpack_from("<I", data, page + 16)[0] * bdb_writer.PAGE
    return found


@pytest.mark.parametrize("count", [1, 100, 5000])
def test_each_is_found(count: int) -> None:
    many = {b"key%d" % n: b"value %d" % (n * n) for n in range(count)}
    data = bdb_writer.data_of(many)
    assert dict(bdb.pairs(data)) == many
    for key, value in many.items():
        items = bucket(data, key)
        assert items[items.index(key) + 1] == value


def test_long_values() -> None:
    pairs = {b"a": b"x" * 1025, b"b": b"y" * 20000, b"c" * 2000: b""}
    assert dict(bdb.pairs(bdb_writer.data_of(pairs))) == pairs


def test_nothing() -> None:
    assert list(bdb.pairs(bdb_writer.data_of({}))) == []
