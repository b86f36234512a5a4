"""Field blocks: the responses, resets and refusals are those of 2.4.71 (nghttp2 1.52)."""

from __future__ import annotations

import pytest

from whimbrel.http.http2.protocol import (
    MAX_KEY,
    ErrorCode,
    MalformedRequest,
    RawField,
    _known_fields,
    answer_fields,
    check_trailers,
    client_settings,
    goaway,
    interim_fields,
    promised_request,
    raw_head,
    read_request,
    upgraded,
)
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.head import read_head
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions

GET: list[RawField] = [
    (b":method", b"GET"),
    (b":scheme", b"http"),
    (b":authority", b"localhost"),
    (b":path", b"/a.txt"),
]
LIMITS, RULES = HeadLimits(), ParserOptions()


def changed(name: bytes, value: bytes | None) -> list[RawField]:
    """GET with another value of a pseudo-field, or without it."""
    return [(n, v if n != name else value) for n, v in GET if n != name or value is not None]  # type: ignore[misc]


@pytest.mark.parametrize(
    "fields",
    [
        changed(b":method", None),
        changed(b":path", None),
        changed(b":scheme", None),
        changed(b":authority", None),
        GET[:1] + GET,
        [*GET, GET[3]],
        [GET[0], GET[1], GET[2], (b"x", b"1"), GET[3]],
        [(b":foo", b"x"), *GET],
        [*GET, (b":status", b"200")],
        [*GET, (b"X-A", b"1")],
        [*GET, (b"connection", b"close")],
        [*GET, (b"keep-alive", b"x")],
        [*GET, (b"te", b"gzip")],
        [*GET, (b"transfer-encoding", b"chunked")],
        [*GET, (b"upgrade", b"h2c")],
        [*GET, (b"proxy-connection", b"x")],
        [*GET, (b"x", b"a\nb")],
        [*GET, (b"x", b"a\0b")],
        [*GET, (b"x", b"a\x01b")],
        [*GET, (b"x y", b"a")],
        [*GET, (b"", b"a")],
        changed(b":authority", b""),
        changed(b":authority", b"a b"),
        [*GET, (b"host", b"a b")],
        [*GET, (b"host", b"localhost"), (b"host", b"localhost")],
        [*GET, (b"host", b"")],
        [*GET, (b"host", b" localhost ")],
        [*changed(b":authority", None), (b"host", b"a/b")],
        [*changed(b":authority", None), (b"host", b"h\xe4")],
        changed(b":path", b""),
        changed(b":path", b"a.txt"),
        changed(b":path", b"http://localhost/a.txt"),
        changed(b":path", b"*"),
        changed(b":path", b"/a b"),
        changed(b":path", b"/a\x01"),
        changed(b":method", b""),
        changed(b":method", b"G T"),
        changed(b":method", b"CONNECT"),
        changed(b":scheme", b""),
        [*GET, (b"content-length", b"x")],
        [*GET, (b"content-length", b"0"), (b"content-length", b"0")],
    ],
)
def test_malformed_requests_are_reset(fields: list[RawField]) -> None:
    with pytest.raises(MalformedRequest) as caught:
        read_request(fields, LIMITS, RULES)
    assert caught.value.code is ErrorCode.PROTOCOL_ERROR


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        (GET, "GET /a.txt HTTP/2.0"),
        (changed(b":scheme", b"https"), "GET /a.txt HTTP/2.0"),
        ([*changed(b":authority", None), (b"host", b"localhost")], "GET /a.txt HTTP/2.0"),
        ([*GET, (b"te", b"trailers"), (b"http2-settings", b"AAA")], "GET /a.txt HTTP/2.0"),
        ([(b":method", b"OPTIONS"), *GET[1:3], (b":path", b"*")], "OPTIONS * HTTP/2.0"),
        ([(b":method", b"CONNECT"), (b":authority", b"localhost:80")], "CONNECT localhost:80 HTTP/2.0"),
    ],
)
def test_requests_that_are_answered(fields: list[RawField], line: str) -> None:
    head = read_request(fields, LIMITS, RULES)
    assert head.error is None
    assert (head.line, head.protocol, head.version, head.hostname) == (line, "HTTP/2.0", (2, 0), "localhost")


@pytest.mark.parametrize("fields", [changed(b":path", b"/a.txt#x"), changed(b":authority", b"u@localhost")])
def test_requests_that_are_answered_with_400(fields: list[RawField]) -> None:
    error = read_request(fields, LIMITS, RULES).error
    assert error is not None and error.status == 400


def test_a_foreign_scheme_shows_in_the_request_line() -> None:
    assert (
        read_request(changed(b":scheme", b"ftp"), LIMITS, RULES).line == "GET ftp://localhost/a.txt HTTP/2.0"
    )


def test_fields_as_programs_know_them() -> None:
    """As TRACE showed them: joined, spelled, blanks at the ends cut, Host behind them."""
    fields: list[RawField] = [
        *GET,
        (b"x1a_b-c-d", b" q "),
        (b"cookie", b"a"),
        (b"cookie", b"b"),
        (b"x", b"1"),
        (b"x", b"2"),
        (b"host", b"zz"),
        (b"content-type", b"y"),
    ]
    assert read_request(fields, LIMITS, RULES).headers.items() == [
        ("X1a_b-C-D", "q"),
        ("Cookie", "a; b"),
        ("X", "1, 2"),
        ("Content-Type", "y"),
        ("Host", "localhost"),
        ("Content-Length", "0"),
    ]


def test_a_body_without_a_length_counts_as_chunked() -> None:
    head = read_request([(b":method", b"POST"), *GET[1:]], LIMITS, RULES, ended=False)
    assert head.headers.get("Transfer-Encoding") == "chunked" and head.chunked


@pytest.mark.parametrize(("size", "status"), [(8186, 0), (8187, 0), (8188, 431), (8191, 431)])
def test_the_size_of_a_field(size: int, status: int) -> None:
    error = read_request([*GET, (b"x", b"v" * size)], LIMITS, RULES).error
    assert (error.status if error is not None else 0) == status


@pytest.mark.parametrize(("count", "status"), [(100, 0), (101, 431), (200, 431)])
def test_the_number_of_fields(count: int, status: int) -> None:
    error = read_request([*GET, *((b"x%d" % n, b"1") for n in range(count))], LIMITS, RULES).error
    assert (error.status if error is not None else 0) == status


def test_far_too_many_fields_get_no_answer() -> None:
    with pytest.raises(MalformedRequest) as caught:
        read_request([*GET, *((b"x%d" % n, b"1") for n in range(201))], LIMITS, RULES)
    assert caught.value.code is ErrorCode.ENHANCE_YOUR_CALM


def test_far_too_many_long_fields_get_no_answer() -> None:
    long: list[RawField] = [(b"x%d" % n, b"1" * 9000) for n in range(101)]
    error = read_request([*GET, *long[:100]], LIMITS, RULES).error
    assert error is not None and error.status == 431
    with pytest.raises(MalformedRequest) as caught:
        read_request([*GET, *long], LIMITS, RULES)
    assert caught.value.code is ErrorCode.INTERNAL_ERROR
    assert [reason.code for reason in caught.value.reasons] == ["AH10180"]


@pytest.mark.parametrize(
    ("fields", "status", "codes"),
    [
        ([*changed(b":path", b"/" * 9000)], 414, ["AH10178"]),
        ([*changed(b":path", b"/" * 9000), (b"x", b"1" * 9000)], 431, ["AH10178"]),
        ([*GET, (b"x", b"1" * 9000), (b"y", b"1" * 9000)], 431, ["AH10180"]),
        ([*GET, *((b"x%d" % n, b"1") for n in range(150))], 431, ["AH10181"]),
    ],
)
def test_the_first_reason_is_logged_and_the_last_status_sent(
    fields: list[RawField], status: int, codes: list[str]
) -> None:
    error = read_request(fields, LIMITS, RULES).error
    assert error is not None
    assert (error.status, [reason.code for reason in error.reasons]) == (status, codes)


def test_joined_values_count_together() -> None:
    error = read_request([*GET, (b"x", b"v" * 5000), (b"x", b"v" * 5000)], LIMITS, RULES).error
    assert error is not None and error.status == 431


def test_a_path_that_is_too_long_is_not_shown() -> None:
    head = read_request(changed(b":path", b"/" + b"p" * 8190), LIMITS, RULES)
    assert head.error is not None and (head.error.status, head.error.additional) == (414, 400)
    assert head.line == "GET (null) HTTP/2.0"


def test_what_is_kept_is_found_by_fields_in_the_usual_order_only() -> None:
    assert raw_head([*GET, (b"accept", b"*/*")], True) != raw_head([*GET, (b"accept", b"*/*")], False) != b""
    for field in ((b"te", b"gzip"), (b"X", b"1"), (b"host", b"b"), (b"x", b"a\r\nb: c")):
        assert raw_head([*GET, field], True) == b""
    assert raw_head(GET[:3], True) == b""
    assert raw_head([*GET, (b"x", b"y" * MAX_KEY)], True) == b""
    assert raw_head(GET, True)[:1] == b"\0"


def test_every_request_with_a_key_is_accepted() -> None:
    """A key of the response cache belongs only to accepted requests: any two fields, with each pseudo-header
    field invalid in turn.
    """
    names = [
        b"accept",
        b"connection",
        b"keep-alive",
        b"proxy-connection",
        b"transfer-encoding",
        b"upgrade",
        b"te",
        b"host",
        b"content-length",
        b"X",
        b"",
        b"x y",
        b":path",
        b"cookie",
        b"http2-settings",
        b"expect",
        b"range",
    ]
    values = [b"", b"x", b" a ", b"a\0", b"a\r\nb: c", b"\xff", b"trailers", b"5", b"bytes=0-"]
    fields = [(name, value) for name in names for value in values]
    broken = [
        (b":method", b"G T"),
        (b":method", b"CONNECT"),
        (b":scheme", b"1x"),
        (b":path", b"x"),
        (b":path", b"/a b"),
        (b":path", b"*"),
        (b":authority", b"a b"),
        (b":authority", b"a/b"),
    ]
    lists = [[*GET, one, other] for one in fields for other in fields] + [
        [*changed(*one), other] for one in broken for other in fields
    ]
    keyed = 0
    for one in lists:
        if raw_head(one, True):
            keyed += 1
            assert read_request(one, LIMITS, RULES).line
    assert keyed > 700


def test_response_heads_that_are_remembered_are_bounded() -> None:
    """256 of them at most, each of 2 kB at most."""
    _known_fields.cache_clear()
    for number in range(300):
        answer_fields(b"HTTP/1.1 200 OK\r\n", b"", b"\r\nX: %d\r\n\r\n" % number)
        answer_fields(b"HTTP/1.1 200 OK\r\n", b"", b"\r\nX: %02048d\r\n\r\n" % number)
    found = _known_fields.cache_info()
    assert (found.maxsize, found.misses, found.currsize) == (256, 300, 256)


def test_trailers() -> None:
    check_trailers([(b"x-t", b"v"), (b"te", b"trailers")], 0, is_announced=True)
    check_trailers([(b"content-length", b"5")], 5, is_announced=False)


@pytest.mark.parametrize(
    ("fields", "is_announced"),
    [
        ([(b":path", b"v")], False),
        ([(b"te", b"gzip")], False),
        ([(b"content-length", b"4")], False),
        ([(b"content-length", b"x")], False),
        ([(b"content-length", b"")], False),
        ([(b"content-length", b"5")] * 2, False),
        ([(b"content-length", b"5")], True),
    ],
)
def test_trailers_that_reset_the_stream(fields: list[tuple[bytes, bytes]], is_announced: bool) -> None:
    """As nghttp2 does."""
    with pytest.raises(MalformedRequest):
        check_trailers(fields, 5, is_announced=is_announced)


def test_settings_of_an_upgrade_are_no_field_of_a_request() -> None:
    fields = [*GET, (b"http2-settings", b"AAMAAABk"), (b"x", b"y")]
    assert [name for name, _ in read_request(fields, LIMITS, RULES).headers.items()] == ["X", "Host"]
    assert raw_head(fields, True) == b""


def test_an_upgraded_request_loses_what_the_connection_was_told() -> None:
    data = (
        b"GET /?q HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
        b"HTTP2-Settings: AAM\r\nX: 1\r\n\r\n"
    )
    head = read_head(data, LIMITS, RULES)
    assert head is not None
    made = upgraded(head, RULES)
    assert made.line == "GET /?q HTTP/2.0" and made.hostname == "a"
    assert made.headers.items() == [("Host", "a"), ("X", "1")]


@pytest.mark.parametrize(
    ("value", "payload"),
    [
        ("AAMAAABkAAQCAAAAAAIAAAAA", bytes.fromhex("00030000006400040200000000 0200000000")),
        ("", b""),
        ("!!!", b""),
        ("AAM", None),
        ("A", None),
        ("AAMAAABk, AAMAAABk", bytes.fromhex("000300000064")),
    ],
)
def test_the_settings_of_an_upgrade(value: str, payload: bytes | None) -> None:
    assert client_settings(value) == payload


def test_fields_of_an_answer() -> None:
    after = (
        b"\r\nServer: S\r\nUpgrade: h2c\r\nConnection: Upgrade, close\r\nKeep-Alive: x\r\n"
        b"Transfer-Encoding: chunked\r\nX-A: 1\r\nX-A: 2\r\n\r\n"
    )
    assert list(answer_fields(b"HTTP/1.1 200 OK\r\nDate: ", b"D", after)) == [
        (b":status", b"200"),
        (b"x-a", b"1"),
        (b"x-a", b"2"),
        (b"date", b"D"),
        (b"server", b"S"),
    ]


def test_goaway_is_a_frame_of_rfc_9113() -> None:
    """RFC 9113, 4.1 and 6.8."""
    assert (
        goaway(5, ErrorCode.ENHANCE_YOUR_CALM, b"no")
        == bytes.fromhex("00000a07000000000000000005 0000000b") + b"no"
    )


def test_a_method_that_is_too_long_gets_no_answer() -> None:
    assert read_request(changed(b":method", b"G" * 8190), LIMITS, RULES).method == "G" * 8190
    with pytest.raises(MalformedRequest) as caught:
        read_request(changed(b":method", b"G" * 8191), LIMITS, RULES)
    assert caught.value.code is ErrorCode.INTERNAL_ERROR


def test_values_of_interim_fields_are_joined() -> None:
    pairs = [("Link", "</a>"), ("X", "1"), ("link", "</b>"), ("Connection", "close"), ("Y", "a\x01b")]
    assert interim_fields(103, pairs) == [(b":status", b"103"), (b"link", b"</a>, </b>"), (b"x", b"1")]


@pytest.mark.parametrize(
    ("path", "status", "line"),
    [
        ("/a.css", 0, "GET /a.css HTTP/2.0"),
        ("a.css", 400, "GET a.css HTTP/2.0"),
        ("*", 400, "GET * HTTP/2.0"),
        ("/a b", 400, "GET /a b HTTP/2.0"),
        ("/" + "p" * 8190, 414, "GET (null) HTTP/2.0"),
    ],
)
def test_requests_that_are_promised(path: str, status: int, line: str) -> None:
    head = promised_request("GET", path, Headers([("Host", "localhost")]), LIMITS, RULES)
    assert (head.error.status if head.error is not None else 0) == status
    assert head.line == line or path == "/a b"
