"""A Berkeley DB file that htdbm made, whole and damaged."""

from __future__ import annotations

import pytest
from tests.unit.modules.dbm_samples import ALICE, berkeley

from whimbrel.modules.berkeley import Damaged, pairs


def test_a_file_of_htdbm() -> None:
    assert list(pairs(berkeley())) == [(b"alice", ALICE)]


@pytest.mark.parametrize("data", [b"", b"alice:x\n", berkeley()[:16], b"\xff" * 8192, berkeley()[:20] + b"\xff" * 4 + berkeley()[24:]])
def test_anything_else_is_damaged(data: bytes) -> None:
    with pytest.raises(Damaged):
        list(pairs(data))


def test_a_file_cut_short_loses_the_page() -> None:
    assert list(pairs(berkeley()[:6000])) == []


def test_offsets_beyond_the_page_are_damage() -> None:
    data = bytearray(berkeley())
    data[0x1000 + 26:0x1000 + 28] = b"\xff\xff"
    with pytest.raises(Damaged):
        list(pairs(bytes(data)))
