"""SDBM files: written pairs are found by a look-up as the format prescribes it."""

from __future__ import annotations

from struct import unpack_from

import pytest

from whimbrel.modules.support.dbm import sdbm, sdbm_writer


def test_one_pair_lies_as_htdbm_writes_it() -> None:
    pages, tree = sdbm_writer.files([(b"ann", b"{SHA}EfatjsUqKYSrqv18O1FlA3hcIHI=:co:m")])
    assert pages[:6].hex() == "0200fd03d703"  # the first bytes of the page that httpd's htdbm 2.4.71 wrote
    assert (
        pages[0x3D7:] == b"{SHA}EfatjsUqKYSrqv18O1FlA3hcIHI=:co:mann" and len(pages) == 1024 and tree == b""
    )


def lookup(pages: bytes, tree: bytes, key: bytes) -> dict[bytes, bytes]:
    """Return the pairs of the page in which a reader searches *key*: one bit of the hash for each divided
    node.
    """
    code = 0
    for byte in key:
        code = (byte + code * 65599) % (1 << 32)
    node = depth = 0
    while node // 8 < len(tree) and tree[node // 8] >> node % 8 & 1:
        node, depth = 2 * node + 1 + (code >> depth & 1), depth + 1
    start = code % (1 << depth) * sdbm.PAGE
    return dict(sdbm.pairs(pages[start : start + sdbm.PAGE]))


def test_each_of_many_is_found() -> None:
    many = {b"key%d" % n: b"value %d" % (n * n) for n in range(3000)}
    pages, tree = sdbm_writer.files(many.items())
    assert dict(sdbm.pairs(pages)) == many
    assert all(lookup(pages, tree, key).get(key) == value for key, value in many.items())


def test_a_later_value_wins() -> None:
    assert list(sdbm.pairs(sdbm_writer.files([(b"a", b"1"), (b"b", b"2"), (b"a", b"3")])[0])) == [
        (b"b", b"2"),
        (b"a", b"3"),
    ]


def test_the_longest_pair() -> None:
    pages, _ = sdbm_writer.files([(b"k", b"v" * 1007)])
    assert unpack_from("=3h", pages) == (2, 1023, 16)
    with pytest.raises(sdbm_writer.Full):
        sdbm_writer.files([(b"k", b"v" * 1008)])
    with pytest.raises(sdbm_writer.Full):
        sdbm_writer.files([(b"", b"v")])


def test_nothing() -> None:
    assert sdbm_writer.files([]) == (b"", b"")
