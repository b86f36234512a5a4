"""A Berkeley DB file that htdbm made, whole and damaged."""

from __future__ import annotations

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
