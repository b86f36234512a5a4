"""Conversions of mod_xml2enc: outputs, failures and log lines; expected values are apache2's."""

from __future__ import annotations

from typing import Any

import pytest

from whimbrel.engine.output.filter import FilterError
from whimbrel.modules.filters.charset_conversion import MAX_LOGGED, Encoding, Utf8Conversion
from whimbrel.modules.support.iconv import Iconv


class Lines:
    """A request that keeps its log lines."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def log(self, level: str, text: str, *, code: str, module: str, cause: str) -> None:
        assert module == "xml2enc"
        self.lines.append(f"{level} {code} {cause[:6]} {text.removeprefix('xml2enc: ')}")


def converted(charset: str, *pieces: bytes, size: int = 0, meta: int = 0) -> tuple[bytes, list[str], bool]:
    """Return the output that is passed on, the log lines, and False if the conversion fails."""
    r: Any = Lines()
    conversion = Utf8Conversion(r, Iconv("UTF-8", charset), size or len(b"".join(pieces)), meta)
    out = b""
    try:
        for piece in pieces[:-1]:
            out += conversion.feed(piece)
        out += conversion.end(pieces[-1])
    except FilterError as failure:
        return out + failure.passed, r.lines, False
    return out, r.lines, True


def test_httpd_has_room_for_the_bytes_of_the_document() -> None:
    assert converted("iso-8859-1", b"caf\xe9")[1] == [
        "debug AH01439  consuming 4 bytes from bucket",
        "debug AH01441  converted 3/3 bytes",
        "debug AH01441  converted 1/2 bytes",
    ]


def test_lines_of_a_skipped_byte() -> None:
    assert converted("cp1252", b"x\x81y") == (
        b"xy",
        [
            "debug AH01439  consuming 3 bytes from bucket",
            "debug AH01441 (22)In converted 1/1 bytes",
            "error AH01444  Skipping invalid byte(s) in input stream!",
            "debug AH01441  converted 2/1 bytes",
        ],
        True,
    )


def test_lines_of_adjacent_invalid_bytes() -> None:
    assert converted("cp1252", b"x\x81\x81y") == (
        b"",
        [
            "debug AH01439  consuming 4 bytes from bucket",
            "debug AH01441 (22)In converted 1/1 bytes",
            "error AH01444  Skipping invalid byte(s) in input stream!",
            "debug AH01441 (22)In converted 1/0 bytes",
            "error AH01444  Skipping invalid byte(s) in input stream!",
            "debug AH01440  reinserting 1 unconsumed bytes from bucket",
        ],
        False,
    )


def test_lines_of_an_incomplete_character() -> None:
    assert converted("gb2312", b"x\xa4") == (
        b"",
        [
            "debug AH01439  consuming 2 bytes from bucket",
            "debug AH01441 (70008 converted 1/1 bytes",
            "debug AH01443  Incomplete byte sequence: 1 bytes unconverted",
            "debug AH01441 (70008 converted 0/0 bytes",
            "debug AH01443  Incomplete byte sequence: 1 bytes unconverted",
            "debug AH01440  reinserting 1 unconsumed bytes from bucket",
        ],
        False,
    )


@pytest.mark.parametrize(
    ("charset", "pieces", "out"),
    [
        ("gb2312", (b"a\xc4", b"\xe3b"), "a\u4f60b".encode()),
        ("cp1252", (b"a\x81", b"b"), b"ab"),
        ("cp1252", (b"\x80",), "\u20ac".encode()),
        ("utf-7", (b"a+", b"AOk", b"-"), "a\xe9".encode()),
        ("utf-16", (b"\xff\xfe", b"a\0"), b"a"),
    ],
)
def test_pieces(charset: str, pieces: tuple[bytes, ...], out: bytes) -> None:
    assert converted(charset, *pieces)[::2] == (out, True)


@pytest.mark.parametrize("pieces", [(b"a\x81", b"\x81b"), (b"a\x81", b""), (b"\x81", b"a")])
def test_pieces_that_fail(pieces: tuple[bytes, ...]) -> None:
    assert converted("cp1252", *pieces)[2] is False


def test_what_httpd_has_passed_on_before_a_failure_is_sent() -> None:
    assert converted("cp1252", b"a" * 9000 + b"\x81")[::2] == (b"a" * 9000, False)


def test_a_meta_element_that_was_cut_ends_a_bucket() -> None:
    out, lines, is_good = converted("cp1252", b"ab\x80", size=74, meta=1)
    assert (out, is_good) == ("ab\u20ac".encode(), True)
    assert [line for line in lines if "AH01439" in line] == [
        "debug AH01439  consuming 1 bytes from bucket",
        "debug AH01439  consuming 2 bytes from bucket",
    ]
    assert converted("cp1252", b"a\x81b", size=74, meta=2)[2] is False


def test_lines_are_bounded() -> None:
    assert len(converted("cp1252", b"x\x81" * 3000 + b"x")[1]) == MAX_LOGGED


def encoded(charset: str, *pieces: str) -> tuple[bytes, bool]:
    """Return the encoded output, and False if it fails at its end."""
    r: Any = Lines()
    encoding = Encoding(r, Iconv(charset, "UTF-8"))
    out = b"".join(encoding.feed(piece.encode()) for piece in pieces)
    try:
        encoding.end()
    except FilterError:
        return out, False
    return out, True


def test_output() -> None:
    assert encoded("iso-8859-1", "caf\xe9", "\xe9") == (b"caf\xe9\xe9", True)
    assert encoded("iso-8859-1", "\xe9" * 20_000) == (b"\xe9" * 20_000, True)


def test_a_character_that_the_charset_lacks_drops_the_rest_of_its_brigade() -> None:
    assert encoded("us-ascii", "ab\xe9c", "d") == (b"ab", False)
    out, is_good = encoded("us-ascii", "ab\xe9", "c" * 8000, "d" * 8000)
    assert is_good
    assert out == b"ab" + b"c" * 3 + b"d" * 8000
