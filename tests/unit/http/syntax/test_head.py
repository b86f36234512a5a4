"""Heads: pieces, limits, and the statuses and log lines of httpd 2.4.71."""

from __future__ import annotations

import random

import pytest

from whimbrel.http.syntax import head as module
from whimbrel.http.syntax.head import HeadReader, is_chunked, read_head
from whimbrel.http.syntax.line_reader import HeadLimits, InputState, ParserOptions

LIMITS, RULES = HeadLimits(), ParserOptions()
PLAIN = b"GET /a/b.txt?x=1 HTTP/1.1\r\nHost: Example.TEST:8080\r\nUser-Agent: x\r\nAccept: */*\r\n\r\n"


def read(data, rules=RULES, limits=LIMITS, ending=InputState.EOF):
    head = read_head(data, limits, rules, ending=ending)
    assert head is not None
    return head


def codes(head):
    return [reason.code for reason in head.error.reasons] if head.error else []


def test_a_plain_head():
    head = read(PLAIN + b"rest")
    assert (head.method, head.uri, head.query, head.version, head.hostname, head.port) == (
        "GET",
        "/a/b.txt",
        "x=1",
        (1, 1),
        "example.test",
        8080,
    )
    assert head.line == "GET /a/b.txt?x=1 HTTP/1.1"
    assert head.headers.items()[1] == ("User-Agent", "x")
    assert head.raw == PLAIN and head.end == len(PLAIN)


def test_a_head_in_pieces_is_read_once_it_is_whole():
    for cut in range(1, len(PLAIN)):
        reader = HeadReader(PLAIN[:cut], LIMITS, RULES)
        assert reader.read() is None
        reader.data += PLAIN[cut:]
        assert reader.read() == read_head(PLAIN, LIMITS, RULES)


def test_both_readers_agree(monkeypatch):
    """The exact reader reads heads of the common form in the same way."""
    dice = random.Random(7)
    words = [
        "GET ",
        "POST ",
        "CONNECT ",
        "/a",
        "//b",
        "?q",
        "#f",
        " ",
        "HTTP/1.1",
        "HTTP/1.0",
        "\r\n",
        "\r\n",
        "\r\n\r\n",
        "Host: ",
        "a.test",
        ":80",
        "X: 1\r\n",
        "Y:2 \r\n",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Expect: 100-continue\r\n",
        "\t",
        "\x80",
        "\x01",
        "Host: b\r\n",
        "http://h",
    ]
    heads = [
        f"GET /{''.join(dice.choices(words, k=dice.randrange(3)))} HTTP/1.{dice.randrange(2)}\r\nHost: x\r\n"
        + "".join(dice.choices(words[10:], k=dice.randrange(6)))
        + "\r\n\r\n"
        for _ in range(4000)
    ]
    plain, memory = 0, {}
    for text in heads:
        data = text.encode("latin-1")
        end = data.find(b"\r\n\r\n") + 4
        for rules in (RULES, ParserOptions(strict=False), ParserOptions(version22=True)):
            known = memory.setdefault(rules, {})
            quick = module._read_plain(data[:end], end, LIMITS, rules, None)
            exact = HeadReader(data, LIMITS, rules).read(InputState.EOF)
            for _ in range(4):  # of which the third finds the fields of the second
                again = module._read_plain(data[:end], end, LIMITS, rules, known)
                assert again == quick, text
                if again is not None and again.error is None:
                    again.headers.set("Host", "changed")
            if quick is not None and exact is not None:
                plain += 1
                assert quick == exact, text
    assert plain > 1000
    assert all(1 < len(known) <= module.MAX_CACHED_BLOCKS for known in memory.values())


def test_only_fields_that_decide_nothing_but_the_host_are_remembered():
    known = {}
    for fields, length in (
        (b"Host: a.test\r\n", 1),
        (b"Content-Length: 1\r\nHost: a.test\r\n", 1),
        (b"Host: a.test\r\nExpect: 100-continue\r\n", 1),
        (b"", 1),
        (b"Host: a b\r\n", 1),
        (b"Host: B.test:81\r\n", 2),
    ):
        for path in (b"/one", b"/three", b"/two?q"):
            head = read_head(b"GET %b HTTP/1.0\r\n%b\r\n" % (path, fields), LIMITS, RULES, known=known)
            assert head == read_head(b"GET %b HTTP/1.0\r\n%b\r\n" % (path, fields), LIMITS, RULES)
            assert len(known) == length
    assert (head.hostname, head.port, head.uri, head.query) == ("b.test", 81, "/two", "q")


# (the bytes, the codes that 2.4.71 logs at debug level, the request line in its access log)
SEEN = [
    (b"get /a.txt\r\n\r\n", ["AH03444"], "get /a.txt"),
    (b"GET /a.txt HTTP/1.1 x\r\nHost: x\r\n\r\n", ["AH03448"], "GET /a.txt HTTP/1.1"),
    (b"GET\r\n\r\n", ["AH03454"], "GET"),
    (b" GET /a.txt HTTP/1.0\r\n\r\n", ["AH03447"], "GET /a.txt HTTP/1.0"),
    (b"GET /a b HTTP/1.0\r\n\r\n", ["AH03448"], "GET /a b"),
    (b"G\x01T / HTTP/1.0\r\n\r\n", ["AH03445"], "G\x01T / HTTP/1.0"),
    (b"GET a.txt HTTP/1.0\r\n\r\n", ["AH03450"], "GET a.txt HTTP/1.0"),
    (b"GET /a.txt HTTP/1.0\n\n", ["AH00566"], "GET /a.txt HTTP/1.0\n"),
    (b"GET /a\0b HTTP/1.0\r\n\r\n", ["AH00566"], "GET /a"),
    (b"\r\n" * 11 + b"GET / HTTP/1.0\r\n\r\n", ["AH03445"], ""),
    (b"GET /a.txt#f HTTP/1.0\r\n\r\n", ["AH02421"], "GET /a.txt#f HTTP/1.0"),
    (b"GET http://u@h/a.txt HTTP/1.0\r\n\r\n", ["AH02422"], "GET http://u@h/a.txt HTTP/1.0"),
    (b"CONNECT h HTTP/1.0\r\n\r\n", ["AH03450"], "CONNECT h HTTP/1.0"),
    (b"GET http://[::1/a.txt HTTP/1.0\r\n\r\n", ["AH03450"], "GET http://[::1/a.txt HTTP/1.0"),
    (b"GET / HTTP/1.0\r\nX: a\rb\r\n\r\n", ["AH02427", "AH00567"], "GET / HTTP/1.0"),
    (b"GET / HTTP/1.0\r\n X: 1\r\n\r\n", ["AH03442", "AH00567"], "GET / HTTP/1.0"),
    (b"GET / HTTP/1.0\r\nX: 1\r\n\t\r\n\r\n", ["AH03443", "AH00567"], "GET / HTTP/1.0"),
    (b"GET / HTTP/1.0\r\nX: 1\n\r\n", ["", "AH00567"], "GET / HTTP/1.0"),
    (b"GET / HTTP/1.0\r\nHost: 123\r\n\r\n", ["AH02416"], "GET / HTTP/1.0"),
    (b"GET / HTTP/1.0\r\nHost: .\r\n\r\n", ["AH02415", "AH00550"], "GET / HTTP/1.0"),
    (b"GET / HTTP/1.0\r\nHost: a.1.\r\n\r\n", ["AH02415", "AH00550"], "GET / HTTP/1.0"),
    (b"GET / HTTP/1.0\r\nHost: 1..2\r\n\r\n", ["AH00550"], "GET / HTTP/1.0"),
    (b"GET / HTTP/1.0\r\nExpect: foo\r\n\r\n", ["AH00570"], "GET / HTTP/1.0"),
    (b"GET / HTTP/1.0\r\nContent-Length: +5\r\n\r\n", ["AH10242"], "GET / HTTP/1.0"),
]


@pytest.mark.parametrize(("data", "want", "line"), SEEN, ids=[str(at) for at in range(len(SEEN))])
def test_messages_of_24(data, want, line):
    head = read(data)
    assert codes(head) == want
    assert head.line == line


LOOSE = [
    (b"GET /a.txt HTTP/1.0\r\r\n\r\n", ["AH03447"]),
    (b"GET /a.txt HTTP/1.0 x\r\n\r\n", ["AH03449"]),
    (b"GET / HTTP/1.0\r\nX : 1\r\n\r\n", ["AH03452", "AH00567"]),
    (b"GET / HTTP/1.0\r\nX\r\n\r\n", ["AH00564", "AH00567"]),
    (b"GET / HTTP/1.0\r\n: v\r\n\r\n", ["AH03453", "AH00567"]),
    (b"GET / HTTP/1.0\r\nX: a\x0bb\r\n\r\n", ["AH03451", "AH00567"]),
    (b"GET / HTTP/1.0\r\nHost: :80\r\n\r\n", ["AH00550"]),
    (b"GET /a.txt HTTP/1.0\n\n", []),
    (b"GET / HTTP/1.0\r\nHost: A b.\r\n\r\n", []),
    (b"GET / HTTP/1.0\r\nHost: 123\r\n\r\n", []),
]


@pytest.mark.parametrize(("data", "want"), LOOSE, ids=[str(at) for at in range(len(LOOSE))])
def test_messages_of_24_unsafe(data, want):
    assert codes(read(data, ParserOptions(strict=False))) == want


@pytest.mark.parametrize(
    ("data", "uri", "hostname", "host"),
    [
        (b"GET http://H.:81/a HTTP/1.0\r\nHost: x\r\n\r\n", "/a", "h", "h:81"),
        (b"GET http://h:/a HTTP/1.0\r\nHost: other:8\r\n\r\n", "/a", "h", "h:"),
        (b"GET http://[::1]:99999/a HTTP/1.0\r\nHost: x\r\n\r\n", "/a", "::1", "[::1]:99999"),
        (b"GET https://h/a HTTP/1.0\r\nHost: x\r\n\r\n", "/a", "x", "x"),
        (b"OPTIONS http://h HTTP/1.0\r\n\r\n", "*", "h", None),
        (b"CONNECT h:443 HTTP/1.0\r\n\r\n", "/", "h", None),
        (b"GET ///a HTTP/1.0\r\nHost: [::FFFF:1.2.3.4]\r\n\r\n", "/a", "::ffff:1.2.3.4", "[::FFFF:1.2.3.4]"),
    ],
)
def test_targets_name_hosts(data, uri, hostname, host):
    head = read(data)
    assert head.error is None
    assert (head.uri, head.hostname, head.headers.get("Host")) == (uri, hostname, host)


@pytest.mark.parametrize(("length", "status"), [(60, None), (61, None), (62, 414)])
def test_limit_of_the_request_line(length, status):
    line = b"GET /" + b"a" * (length - 14) + b" HTTP/1.0"
    head = read(line + b"\r\n\r\n", limits=HeadLimits(60, 60, 5))
    assert (head.error and head.error.status) == status
    if status:
        assert head.line == line[:61].decode() and head.method is None


@pytest.mark.parametrize(
    ("lines", "code"),
    [
        (b"X: " + b"v" * 58 + b"\r\n", None),
        (b"X: " + b"v" * 59 + b"\r\n", "AH00561"),
        (b"X: " + b"v" * 45 + b"\r\n " + b"w" * 9 + b"\r\n", None),
        (b"X: " + b"v" * 46 + b"\r\n " + b"w" * 9 + b"\r\n", "AH00562"),
        (b"X: " + b"v" * 48 + b"\r\nX: " + b"w" * 10 + b"\r\n", None),
        (b"X: " + b"v" * 49 + b"\r\nX: " + b"w" * 10 + b"\r\n", "AH00560"),
        (b"A:1\r\n" * 5, None),
        (b"A:1\r\n" * 6, "AH00563"),
    ],
)
def test_limits_of_fields(lines, code):
    head = read(b"GET / HTTP/1.0\r\n" + lines + b"\r\n", limits=HeadLimits(60, 60, 5))
    assert next(filter(None, codes(head)), None) == code


def test_long_lines_are_refused_before_they_end():
    head = read(b"GET /" + b"a" * 9000, ending=InputState.OPEN)
    assert head.error is not None and head.error.status == 414
    head = read(b"GET / HTTP/1.0\r\nX: " + b"a" * 9000, ending=InputState.OPEN)
    assert (
        head.error is not None and head.error.notes == "Size of a request header field exceeds server limit."
    )


def test_when_the_client_stops():
    assert read_head(b"GET / HT", LIMITS, RULES, ending=InputState.EOF) is None
    assert read_head(b"\r\n\r\n", LIMITS, RULES, ending=InputState.EOF) is None
    assert read(b"GET / HTTP/1.0\r\nX: 1").error.status == 400
    assert read(b"GET / HTTP/1.0\r\nX: 1", ending=InputState.TIMEOUT).error.status == 408


def test_http_09():
    head = read(b"GET /a.txt\r\n", ending=InputState.OPEN)
    assert (head.version, head.protocol, head.error) == ((0, 9), "HTTP/0.9", None)
    refused = read(b"GET /a.txt\r\n", ParserOptions(allow09=False))
    assert (refused.version, codes(refused)) == ((1, 0), ["AH02401"])


def test_registered_methods():
    assert read(b"FOO / HTTP/1.0\r\n\r\n", ParserOptions(registered_methods=True)).error.status == 501
    assert read(b"FOO / HTTP/1.0\r\n\r\n").error is None


def test_both_framings_end_the_connection_in_24_only():
    data = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    new, old = read(data), read(data, ParserOptions(version22=True))
    assert (new.close, new.length, new.chunked, "Content-Length" in new.headers) == (True, None, True, False)
    assert (old.close, old.chunked) == (False, True)


def test_22_looks_at_the_length_with_the_body():
    head = read(b"POST / HTTP/1.0\r\nContent-Length: 5x\r\n\r\n", ParserOptions(version22=True))
    assert head.error is None and head.length_bad
    assert read(b"POST / HTTP/1.0\r\nContent-Length: +5\r\n\r\n", ParserOptions(version22=True)).length == 5


def test_messages_of_24_quote_80_bytes():
    head = read(b"GET / HTTP/1.0\r\n(" + b"x" * 100 + b": 1\r\n\r\n")
    assert head.error.reasons[0].text == "Request header field name is malformed: (" + "x" * 79
    head = read(b"G(" + b"x" * 100 + b" / HTTP/1.0\r\n\r\n")
    assert head.error.reasons[0].text.endswith("'G(" + "x" * 78 + "'")


@pytest.mark.parametrize(("limit", "shown"), [(8190, 7999), (100, None), (16000, 15999)])
def test_22_shows_the_reads_that_came_before_the_one_that_was_too_long(limit, shown):
    """Recorded of 2.2.34 with the default limit: 7999 characters of a line of 8217."""
    head = read(b"GET /" + b"a" * 17000, rules=ParserOptions(version22=True), limits=HeadLimits(line=limit))
    assert head.error.status == 414
    assert head.line == (None if shown is None else ("GET /" + "a" * 17000)[:shown])


@pytest.mark.parametrize(
    ("coding", "chunked"),
    [
        ("chunked", True),
        ("x, chunked", True),
        ("x,chunked", True),
        ("gzip , Chunked", True),
        ("x chunked", False),
        ("chunked,\tchunked", False),
        ("x\tchunked", False),
        ("chunked, identity", False),
        ("", False),
        ("xchunked", False),
    ],
)
def test_the_last_transfer_coding_stands_behind_a_comma(coding: str, chunked: bool) -> None:
    """apache2 2.4.71 responds 400 to the others."""
    assert is_chunked(coding) is chunked
