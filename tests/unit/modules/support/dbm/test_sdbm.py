"""SDBM pages, built as the format defines them; damaged ones hold nothing."""

from __future__ import annotations

import pytest
from tests.support.dbm_samples import ALICE, page

from whimbrel.modules.support.dbm.sdbm import pairs


def test_pairs_of_all_pages() -> None:
    data = page((b"alice", ALICE), (b"bob", b"x:staff")) + page((b"carol", b""))
    assert list(pairs(data)) == [(b"alice", ALICE), (b"bob", b"x:staff"), (b"carol", b"")]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 1024,
        b"\xff" * 1024,
        b"\x03\x00" + b"\x01" * 1022,
        page((b"a", b"b"))[:1000],
        b"\x02\x00\xf0\xff\x00\x00" + b"\0" * 1018,
        b"\x02\x00\x00\x00\x00\x00" + b"\0" * 1018,
    ],
)
def test_damaged_pages_hold_nothing(data: bytes) -> None:
    assert list(pairs(data)) == []


def test_a_damaged_page_leaves_the_others() -> None:
    assert list(pairs(b"\xff" * 1024 + page((b"a", b"b")))) == [(b"a", b"b")]
