"""A GDBM file that htdbm made, whole and damaged; several buckets as the format defines them."""

from __future__ import annotations

from struct import pack

import pytest
from tests.support.dbm_samples import ALICE, BOB, gdbm

from whimbrel.modules.support.dbm.bdb import Damaged
from whimbrel.modules.support.dbm.gdbm import pairs


def test_a_file_of_htdbm() -> None:
    assert dict(pairs(gdbm())) == {b"alice": ALICE, b"bob": BOB}


@pytest.mark.parametrize("order", ["<", ">"])
def test_each_bucket_is_read_once(order: str) -> None:
    """Four entries of the directory for two buckets with room for one pair each."""
    header = pack(order + "IiqiiiiQ", 0x13579ACF, 512, 48, 32, 2, 136, 1, 0).ljust(48, b"\0")
    directory = pack(order + "4q", 80, 80, 216, 216)
    first = bytes(112) + pack(order + "i4sqii", 7, b"k1", 352, 2, 3)
    second = bytes(112) + pack(order + "i4sqii", 9, b"k2", 357, 2, 0)
    data = header + directory + first + second + b"k1abc" + b"k2"
    assert list(pairs(data)) == [(b"k1", b"abc"), (b"k2", b"")]
    for cut in range(len(data)):
        with pytest.raises(Damaged):
            list(pairs(data[:cut]))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"alice:x\n",
        gdbm()[:40],
        gdbm()[:5000],
        b"\xff" * 9000,
        b"\0" * 9000,
        b"\xce\x9aW\x13" + gdbm()[4:],
    ],
)
def test_anything_else_is_damaged(data: bytes) -> None:
    with pytest.raises(Damaged):
        list(pairs(data))


@pytest.mark.parametrize("at", [8, 16, 28, 0x1000])
def test_numbers_that_make_no_sense_are_damage(at: int) -> None:
    data = bytearray(gdbm())
    data[at : at + 4] = b"\xff\xff\xff\x7f"
    with pytest.raises(Damaged):
        list(pairs(bytes(data)))


def test_pairs_have_no_more_bytes_than_the_file() -> None:
    """Entries that share their bytes would otherwise take the square of the size of a file."""
    header = pack("<IiqiiiiQ", 0x13579ACF, 512, 48, 8, 2, 136, 20, 0).ljust(48, b"\0")
    bucket = bytes(112) + b"".join(pack("<i4sqii", 7, b"k", 56, 2, 500) for _ in range(20))
    with pytest.raises(Damaged):
        list(pairs(header + pack("<q", 56) + bucket))


def test_buckets_do_not_overlap() -> None:
    count = 50
    header = pack("<IiqiiiiQ", 0x13579ACF, 512, 48, 8 * count, 2, 136, 40, 0).ljust(48, b"\0")
    directory = pack(f"<{count}q", *range(1, count + 1))
    with pytest.raises(Damaged):
        list(pairs(header + directory + b"\xff" * 2000))
