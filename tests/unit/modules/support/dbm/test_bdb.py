"""A Berkeley DB file that htdbm made, whole and damaged."""

from __future__ import annotations

from struct import pack

import pytest
from tests.support.dbm_samples import ALICE, berkeley, tree

from whimbrel.modules.support.dbm.bdb import Damaged, pairs


def test_a_file_of_htdbm() -> None:
    assert list(pairs(berkeley())) == [(b"alice", ALICE)]


@pytest.mark.parametrize(
    "data",
    [b"", b"alice:x\n", berkeley()[:16], b"\xff" * 8192, berkeley()[:20] + b"\xff" * 4 + berkeley()[24:]],
)
def test_anything_else_is_damaged(data: bytes) -> None:
    with pytest.raises(Damaged):
        list(pairs(data))


def test_a_file_cut_within_a_page_is_damaged() -> None:
    with pytest.raises(Damaged):
        list(pairs(berkeley()[:6000]))


def test_a_file_cut_between_pages_has_what_is_left() -> None:
    assert list(pairs(berkeley()[:8192])) == [(b"alice", ALICE)]


def test_a_tree() -> None:
    assert list(pairs(tree())) == [(b"alice", ALICE)]


def test_a_tree_whose_items_leave_the_page_is_damaged() -> None:
    data = bytearray(tree())
    data[0x1FD4:0x1FD6] = b"\xff\xff"
    with pytest.raises(Damaged):
        list(pairs(bytes(data)))


def test_offsets_beyond_the_page_are_damage() -> None:
    data = bytearray(berkeley())
    data[0x1000 + 26 : 0x1000 + 28] = b"\xff\xff"
    with pytest.raises(Damaged):
        list(pairs(bytes(data)))


def page(number: int, kind: int, offsets: list[int], items: bytes) -> bytes:
    """Return a page of 512 bytes with *items* at its end."""
    head = pack("<8xIIIHHBB", number, 0, 0, len(offsets), 0, 0, kind) + pack(f"<{len(offsets)}H", *offsets)
    return head + bytes(512 - len(head) - len(items)) + items


def overflow(number: int, following: int, content: bytes) -> bytes:
    """Return a page of a large item."""
    return (pack("<8xIIIHHBB", number, 0, following, 1, len(content), 0, 7) + content).ljust(512, b"\0")


META = pack("<12xIII", 0x061561, 9, 512).ljust(512, b"\0")
LARGE = pack("<B3xII", 3, 2, 1 << 31)  # of two gigabytes, as it says


def test_a_ring_of_pages_is_damage() -> None:
    data = META + page(1, 13, [508, 496], LARGE + b"\1key") + overflow(2, 2, b"x" * 400)
    with pytest.raises(Damaged):
        list(pairs(data))


def test_pairs_have_no_more_bytes_than_the_file() -> None:
    """Items that share their pages would otherwise take the square of the size of a file."""
    items = pack("<B3xII", 3, 2, 400) * 30
    shared = page(1, 13, [512 - 12 * number for number in range(1, 31)], items)
    with pytest.raises(Damaged):
        list(pairs(META + shared + overflow(2, 0, b"x" * 400)))


def test_no_more_items_than_a_page_has_room_for() -> None:
    crowded = bytearray(META + page(1, 13, [511, 510], b"\1\1") + bytes(4096))
    crowded[512 + 20 : 512 + 22] = pack("<H", 1000)
    with pytest.raises(Damaged):
        list(pairs(bytes(crowded)))
