"""Names of charsets, as libxml2 2.9 knows them."""

from __future__ import annotations

import codecs

import pytest

from whimbrel.modules.filters.charsets import BUILT_IN, built_in, codec_of, convertible, detected


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


def test_every_built_in_charset_has_a_codec() -> None:
    for own in BUILT_IN.values():
        assert codecs.lookup(codec_of(own))


@pytest.mark.parametrize(
    ("start", "codec"),
    [
        (b"\xef\xbb\xbf<p>", "utf-8"),
        (b"\xff\xfe<\0", "utf-16-le"),
        (b"\xfe\xff\0<", "utf-16-be"),
        (b"<?xml", "utf-8"),
    ],
)
def test_signatures(start: bytes, codec: str) -> None:
    found = detected(start)
    assert found is not None
    assert found[1] == codec


def test_no_signature() -> None:
    assert detected(b"<html>") is None
    assert detected(b"\xff\xfe") is None


@pytest.mark.parametrize(
    ("name", "codec"), [("windows-1252", "cp1252"), ("klingon", ""), ("hex", ""), ("a\0", "")]
)
def test_convertible(name: str, codec: str) -> None:
    assert convertible(name) == codec
