"""Names of charsets, as libxml2 2.9 knows them."""

from __future__ import annotations

import pytest

from whimbrel.modules.filters.charsets import BUILT_IN, built_in, detected, iconv_name
from whimbrel.modules.support.iconv import Iconv


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("utf8", "UTF-8"),
        ("ISO-8859-1", "ISO-8859-1"),
        ("iso latin 1", "ISO-8859-1"),
        ("shift_jis", "SHIFT_JIS"),
        ("latin1", ""),
        ("iso-8859-15", ""),
        ("windows-1252", ""),
        ("us-ascii", ""),
    ],
)
def test_built_in(name: str, own: str) -> None:
    assert built_in(name, {}) == own


def test_aliases() -> None:
    assert built_in("klingon", {"KLINGON": "utf-8"}) == "UTF-8"


@pytest.mark.parametrize("own", sorted(set(BUILT_IN.values())))
def test_iconv_converts_every_built_in_charset(own: str) -> None:
    assert Iconv("UTF-8", iconv_name(own)).convert(b"")[2] == 0


@pytest.mark.parametrize(
    ("start", "name"),
    [
        (b"\xef\xbb\xbf<p>", "UTF-8"),
        (b"\xff\xfe<\0", "UTF-16LE"),
        (b"\xfe\xff\0<", "UTF-16BE"),
        (b"<?xml", "UTF-8"),
    ],
)
def test_signatures(start: bytes, name: str) -> None:
    found = detected(start)
    assert found is not None
    assert found[1] == name


def test_no_signature() -> None:
    assert detected(b"<html>") is None
    assert detected(b"\xff\xfe") is None
