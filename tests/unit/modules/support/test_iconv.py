"""iconv of the C library."""

from __future__ import annotations

from errno import EILSEQ, EINVAL

import pytest

from whimbrel.modules.support.iconv import Iconv, byte_table


def test_conversion() -> None:
    assert Iconv("utf-8", "iso-8859-1").convert(b"\xe4") == (b"\xc3\xa4", 1, 0)
    assert Iconv("utf-16le", "utf-8").convert(b"ab" * 10_000)[0] == b"a\0b\0" * 10_000


def test_the_reason_to_stop() -> None:
    iconv = Iconv("iso-8859-1", "utf-8")
    assert iconv.convert(b"ab\xc3") == (b"ab", 2, EINVAL)
    assert iconv.convert(b"ab\xff") == (b"ab", 2, EILSEQ)
    assert iconv.convert("ab\u20ac".encode()) == (b"ab", 2, EILSEQ)


def test_tables_of_one_byte() -> None:
    table = byte_table("iso-8859-1", "IBM1047")
    assert table is not None
    assert b"\xc1\xc2".translate(table) == b"AB"
    assert byte_table("utf-8", "iso-8859-1") is None
    assert byte_table("cp1251", "koi8-r") is None


def test_unknown_names() -> None:
    with pytest.raises(LookupError):
        byte_table("utf-8", "nonsense")
