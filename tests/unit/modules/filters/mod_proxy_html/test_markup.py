"""The text that is fed: charsets as libxml2 reads them, marks, and the ends of pieces."""

from __future__ import annotations

import pytest

from whimbrel.modules.filters.mod_proxy_html.markup import MARK, Decoder, Marker, Splitter, unmarked


def marked(*pieces: bytes) -> str:
    """Return the marked text of *pieces*, with ``#`` for marks."""
    marker = Marker()
    out = b"".join(map(marker.mark, pieces)) + marker.end()
    return out.decode().replace(MARK, "#")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (b'<a b="" c=\'\' d = "" e="x">', '<a b="#" c=\'#\' d = "#" e="x">'),
        (b"<!foo> <![CDATA[x]]> <!-- x -->", "<#!foo> <#![CDATA[x]]> <!-- x -->"),
        (b"<!DOCTYPE html><!doctype html>", "<!DOCTYPE html><!doctype html>"),
        (b"<!-->x--> <!--->", "<!--#>x--> <!--#->"),
    ],
)
def test_marks_stand_in_the_same_places_however_the_text_is_cut(text: bytes, wanted: str) -> None:
    assert marked(text) == wanted
    for at in range(len(text)):
        assert marked(text[:at], text[at:]) == wanted
    assert marked(*(bytes([byte]) for byte in text)) == wanted
    assert unmarked(wanted.replace("#", MARK)) == text.decode()


@pytest.mark.parametrize(
    ("encoding", "data", "wanted"),
    [
        ("utf-8", "é".encode(), "é"),
        ("utf-8", "é".encode() + b"\xe9\xc3\xa9", "ééÃ©"),
        ("", b"caf\xe9", "café"),
        ("", b"<meta charset=utf-8>caf\xc3\xa9", "<meta charset=utf-8>café"),
        ("", b"<meta charset=utf-16>\xe9", "<meta charset=utf-16>é"),
        (
            "utf-8",
            b"<meta http-equiv=content-type content='text/html;charset=cp1252'>\x80",
            "<meta http-equiv=content-type content='text/html;charset=cp1252'>€",
        ),
        ("iso8859-1", b"<meta charset=utf-8>\xc3\xa9", "<meta charset=utf-8>Ã©"),
        ("shift_jis", b"<p>\x83e</p>\xff", "<p>テ</p>"),
    ],
)
def test_charsets(encoding: str, data: bytes, wanted: str) -> None:
    decoder = Decoder(encoding)
    assert (decoder.feed(data) + decoder.feed(b"", True)).decode() == wanted


def test_a_character_may_be_cut() -> None:
    decoder = Decoder("utf-8")
    assert decoder.feed(b"\xe2\x82") + decoder.feed(b"\xac") == "€".encode()


def test_invalid_bytes_end_a_document_of_another_charset() -> None:
    decoder = Decoder("shift_jis")
    decoder.feed(b"<p>\xff")
    assert decoder.failed
    assert decoder.feed(b"more") == b""


def test_pieces_end_outside_tags_and_scripts() -> None:
    splitter = Splitter()
    assert splitter.split(b"<p>x<a hr") == b"<p>x"
    assert splitter.split(b"ef=x>y<SCRIPT>a") == b"<a href=x>y"
    assert splitter.split(b"</p>b") == b""
    assert splitter.split(b"</script >c") == b"<SCRIPT>a</p>b</script >c"
    assert splitter.end() == b""


def test_a_script_is_held_up_to_a_bound() -> None:
    splitter = Splitter()
    assert splitter.split(b"<script>") == b""
    assert len(splitter.split(b"x" * 300_000)) == 300_008
