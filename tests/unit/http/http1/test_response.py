"""Writing responses (RFC 9112, 2.1 and 7.1)."""

from __future__ import annotations

from whimbrel.http.http1.response import chunk, chunked, head_bytes, interim_bytes, invalid_field
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.semantics.ranges import (
    multipart_type,
)
from whimbrel.http.semantics.status import CLOSING_STATUSES, known, status_line


def test_head():
    assert head_bytes("200 OK", [("A", "b"), ("C", "\xe9")]) == b"HTTP/1.1 200 OK\r\nA: b\r\nC: \xe9\r\n\r\n"


def test_an_interim_reason_with_control_characters_is_replaced():
    assert interim_bytes(103, (), "Early") == b"HTTP/1.1 103 Early\r\n\r\n"
    assert interim_bytes(103, (), "Early\rX-Forged: a") == b"HTTP/1.1 103 Early Hints\r\n\r\n"
    assert interim_bytes(102, (), "") == b"HTTP/1.1 102 \r\n\r\n"


def test_chunks():
    assert chunk(b"x" * 26) == b"1a\r\n" + b"x" * 26 + b"\r\n"
    assert chunk(b"") == b""
    assert b"".join(chunked([b"ab", b"", b"c"])) == b"2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"


def test_bad_headers():
    assert invalid_field([("A", "b\tc")]) is None
    assert invalid_field([("A", "ok"), ("X", "a\x01")])[0] == "AH02430"
    assert invalid_field([("X Y", "a")])[0] == "AH02429"
    assert invalid_field([("", "a")])[0] == "AH02428"
    assert invalid_field([("X(Y)", "a")], strict=False) is None
    assert invalid_field([("X\x01Y", "a")], strict=False)[0] == "AH02429"


def test_status_lines():
    assert status_line(414) == "414 Request-URI Too Long"
    assert status_line(414, version22=True) == "414 Request-URI Too Large"
    assert status_line(799) == "500 Internal Server Error" and not known(308, version22=True)


def test_type_of_multipart():
    old = Headers([("User-Agent", "MSIE 3")])
    assert multipart_type(old, "b", version22=True) == "multipart/x-byteranges; boundary=b"
    assert multipart_type(old, "b") == "multipart/byteranges; boundary=b"


def test_statuses_after_which_24_closes():
    assert sorted(CLOSING_STATUSES) == [400, 408, 411, 413, 414, 500, 501, 503]


def test_reason_phrases_of_interim_responses() -> None:
    assert interim_bytes(103, (), "Soon") == b"HTTP/1.1 103 Soon\r\n\r\n"
    assert interim_bytes(103, (), "") == b"HTTP/1.1 103 \r\n\r\n"
    for reason in ("Soon\rX-Forged: 1", "Soon\r\n\r\nHTTP/1.1 200 OK", "Soon\0", "Soon\x7f"):
        assert interim_bytes(103, (), reason) == b"HTTP/1.1 103 Early Hints\r\n\r\n"
