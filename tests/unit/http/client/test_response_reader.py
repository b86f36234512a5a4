"""Responses of origin servers: each oddity with what apache2 2.4.71 made of it, or its recorded answer."""

from __future__ import annotations

import random

import pytest

from whimbrel.http.client.answer import INTERNAL, INVALID, NO_SPACE, PARTIAL, TIMEOUT, BackendError
from whimbrel.http.client.response_reader import MAX_HEAD, ResponseReader
from whimbrel.http.client.response_rules import RULES_22, RULES_24, BadHeaderPolicy, ResponseRules

OK = b"HTTP/1.1 200 OK\r\n"
TWO = b"Content-Length: 2\r\n"
CHUNKS = OK + b"Transfer-Encoding: chunked\r\n\r\n"
EOF = "(70014)End of file found"


def read(data, rules=RULES_24, method="GET", cuts=(), cause=""):
    """Return the reader after *data*, cut at *cuts*, and the end of the connection."""
    reader = ResponseReader(rules, method, "/x", "h:1")
    body = b""
    edges = [0, *cuts, len(data)]
    for start, end in zip(edges, edges[1:], strict=False):
        reader.feed(data[start:end])
        body += reader.take()
    complete = reader.done and reader.reusable
    if not reader.done:
        reader.eof(cause)
        body += reader.take()
    return reader, body, complete


def outcome(data, *rest, **options):
    """Return everything about an answer that a caller can see."""
    try:
        reader, body, complete = read(data, *rest, **options)
    except BackendError as problem:
        return problem.status, problem.reasons, problem.detail
    head = reader.head
    return (
        (head.version, head.status, head.reason, head.fields.items()),
        [(one.status, one.fields.items()) for one in reader.interim],
        body,
        complete,
        reader.rest,
        reader.messages,
    )


def refused(data, *rest, **options):
    with pytest.raises(BackendError) as caught:
        read(data, *rest, **options)
    problem = caught.value
    assert problem.status == 502
    return [(line.code, line.text, line.cause) for line in problem.reasons], problem.detail


# status lines
@pytest.mark.parametrize(
    ("line", "version", "status", "reason"),
    [
        ("HTTP/1.1 200 OK", (1, 1), 200, "OK"),
        ("HTTP/1.1 200", (1, 1), 200, ""),
        ("HTTP/1.1 200 ", (1, 1), 200, ""),
        ("HTTP/1.1 2000 X", (1, 1), 200, None),
        ("HTTP/1.1 200OK", (1, 1), 200, None),
        ("HTTP/1.9 200 OK", (1, 9), 200, "OK"),
        ("HTTP/1.0 200 OK", (1, 0), 200, "OK"),
        ("HTTP/1.1 000 X", (1, 1), 0, "X"),
        ("HTTP/1.1 999 X", (1, 1), 999, "X"),
        ("HTTP/1.1 200 OK   ", (1, 1), 200, "OK   "),
    ],
)
def test_status_line(line, version, status, reason):
    reader, body, _ = read(line.encode() + b"\r\n" + TWO + b"\r\nhi")
    head = reader.head
    assert (head.version, head.status, head.reason, body) == (version, status, reason, b"hi")


@pytest.mark.parametrize(
    "line", ["HTTP/1.11 200 OK", "http/1.1 200 OK", "HTTP/1.1  200 OK", " HTTP/1.1 200 OK", "HTTP/1.1", "x"]
)
@pytest.mark.parametrize("rules", [RULES_22, RULES_24])
def test_other_first_line_begins_a_body(line, rules):
    reader, body, complete = read(line.encode() + b"\r\n" + TWO + b"\r\nhi", rules)
    assert (reader.head.version, reader.head.status, complete) == ((0, 9), 200, False)
    assert body == line.encode() + TWO + b"\r\nhi"


def test_long_first_line_without_a_status_is_cut():
    _, body, _ = read(b"x" * 9999 + b"\r\nrest")
    assert body == b"x" * 8191 + b"rest"


@pytest.mark.parametrize("line", [b"HTTP/2.0 200 OK", b"HTTP/0.9 200 OK"])
def test_other_major_version_is_corrupt(line):
    _, detail = refused(line + b"\r\n" + TWO + b"\r\nhi")
    assert detail == f"Corrupt status line returned by remote server: {line.decode()}"


@pytest.mark.parametrize("size", [8191, 8192, 9999])
def test_long_status_line_is_corrupt(size):
    _, detail = refused(b"HTTP/1.1 200 ".ljust(size, b"x") + b"\r\n\r\n")
    assert detail == "Corrupt status line returned by remote server: HTTP/1.1 200 ".ljust(47 + 8191, "x")


def test_longest_status_line():
    assert read(b"HTTP/1.1 200 ".ljust(8190, b"x") + b"\r\n" + TWO + b"\r\nhi")[1] == b"hi"


@pytest.mark.parametrize(
    ("data", "cause"),
    [(b"", INTERNAL), (b"\r\n", INTERNAL), (b"garbage", EOF), (b"HTTP/1.1 200 OK", EOF)],
)
def test_no_status_line(data, cause):
    words = "error reading status line from remote server h:1"
    assert refused(data) == ([("AH01102", words, cause)], "Error reading from remote server")
    words = "proxy: error reading status line from remote server h:1"
    assert refused(data, RULES_22)[0] == [("", words, cause)]


def test_one_empty_line_may_come_first():
    assert read(b"\r\n" + OK + TWO + b"\r\nhi")[1] == b"hi"
    assert refused(b"\r\n\r\n" + OK)[0][0][2] == ""
    assert refused(b"HTTP/1.1 200 O\0K\r\n\r\n")[0][0][2] == INVALID
    assert refused(b"", cause=TIMEOUT)[0][0][2] == TIMEOUT


# fields
@pytest.mark.parametrize(
    ("lines", "fields"),
    [
        (b"X:   v \t \r\nY:\t\x0bw\r\nZ:\r\n", [("X", "v"), ("Y", "w"), ("Z", "")]),
        (b"X: 1\r\nX: 2\r\n", [("X", "1"), ("X", "2")]),
        (b"X: v\r\n   w\r\n", [("X", "v   w")]),
        (b"X: v  \r\n\t w\r\n", [("X", "v  \t w")]),
        (b"X: v\r\n a\r\n b\r\n", [("X", "v a b")]),
        (b"X: v\r\n \r\n c\r\n", [("X", "v  c")]),
        (b"X: v\r\n \r\n", [("X", "v")]),
        (b"X\r\n : w\r\n", [("X ", "w")]),
        (b" X: v\r\n", [(" X", "v")]),
        (b": v\r\n", [("", "v")]),
        (b"X: v\r\r\n", [("X", "v")]),
        (b"X: v\n", [("X", "v")]),
    ],
)
@pytest.mark.parametrize("rules", [RULES_22, RULES_24])
def test_fields(lines, fields, rules):
    reader, body, _ = read(OK + lines + TWO + b"\r\nhi", rules)
    assert reader.head.fields.items() == [*fields, ("Content-Length", "2")]
    assert body == b"hi"


def test_line_without_colon():
    data = OK + b"X: a\r\nbad\r\nY: b\r\n" + TWO + b"\r\nhi"
    bad = "bad HTTP/1.1 header returned by /x (GET)"
    assert refused(data) == ([("AH01106", bad, "")], "")
    assert refused(data, RULES_22) == ([("", f"proxy: {bad}", "")], "")
    reader, body, _ = read(data, ResponseRules(bad_header=BadHeaderPolicy.IGNORE))
    assert reader.head.fields.names() == ["X", "Y", "Content-Length"]
    assert [line.code for line in reader.messages] == ["AH01100"]
    reader, body, _ = read(data, ResponseRules(bad_header=BadHeaderPolicy.START_BODY))
    assert (reader.head.fields.names(), body) == (["X"], b"Y: b\r\n" + TWO + b"\r\nhi")
    assert [line.code for line in reader.messages] == ["AH01098"]
    reader, body, _ = read(OK + b"bad\r\n\r\nhi", ResponseRules(bad_header=BadHeaderPolicy.START_BODY))
    assert (reader.head.fields.names(), body, reader.messages[0].code) == ([], b"\r\nhi", "AH01099")


def test_status_line_among_the_fields_is_ignored():
    reader, body, _ = read(OK + b"HTTP/1.0 200 OK\r\n" + TWO + b"\r\nhi")
    assert (body, reader.messages[0].text) == (b"hi", "Ignoring bogus HTTP header returned by /x (GET)")


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
def test_size_of_a_field(end):
    reader, body, _ = read(OK + b"X: ".ljust(8191, b"y") + end + TWO + b"\r\nhi")
    assert (len(reader.head.fields.get("X")), body) == (8188, b"hi")
    (long, bad), _ = refused(OK + b"X: ".ljust(8192, b"y") + end + TWO + b"\r\nhi")
    words = (
        "header size is over the limit allowed by ResponseFieldSize (8192 bytes). "
        f"Bad response header: '{'X: '.ljust(64, 'y')}[...]{'y' * 64}'"
    )
    assert long == ("AH10124", words, NO_SPACE)
    assert bad[0] == "AH01106"


def test_response_field_size():
    rules = ResponseRules(field_size=100)
    assert read(OK + b"X: ".ljust(99, b"y") + b"\r\n" + TWO + b"\r\nhi", rules)[1] == b"hi"
    (long, _), _ = refused(OK + b"X: ".ljust(300, b"y") + b"\r\n\r\n", rules)
    assert long[1].endswith(f"'{'X: '.ljust(49, 'y')}[...]{'y' * 49}'")


def test_folded_field_that_is_too_long():
    lines = b"X: ".ljust(5000, b"y") + b"\r\n ".ljust(5000, b"z") + b"\r\n"
    assert refused(OK + lines + TWO + b"\r\nhi")[0][0][0] == "AH10124"


def test_22_cuts_long_fields():
    reader, body, _ = read(OK + b"X: ".ljust(20000, b"y") + b"\r\n" + TWO + b"\r\nhi", RULES_22)
    assert (len(reader.head.fields.get("X")), body) == (8188, b"hi")


@pytest.mark.parametrize("data", [OK, OK + b"X-A: b\r\n", OK + b"X-A: b"])
def test_partial_head(data):
    lines, _ = refused(data)
    assert lines[0] == ("AH10404", "Error reading headers from backend", EOF)
    assert lines[1][0] == "AH01106"
    assert refused(data, cause=TIMEOUT)[0][0][2] == TIMEOUT
    assert read(data, RULES_22)[0].head.status == 200


def test_nul_in_a_field():
    assert refused(OK + b"X: a\0b\r\n\r\n")[0][0] == (
        "AH10404",
        "Error reading headers from backend",
        INVALID,
    )


def test_size_of_a_head():
    fields = b"".join(b"X-%d: y\r\n" % number for number in range(5000))
    assert len(read(OK + fields + TWO + b"\r\nhi")[0].head.fields) == 5001
    assert refused(OK + b"X: yyyy\r\n" * (MAX_HEAD // 9 + 1))[0][0][0] == "AH01106"


# bodies
@pytest.mark.parametrize("value", ["-1", "+2", "2x", "", "2, 2", "9" * 20, "2 3", "0x2"])
def test_content_length_that_is_no_number(value):
    data = OK + f"Content-Length: {value}\r\n\r\nhi".encode()
    assert refused(data)[0] == [("AH01110", "error reading response", INTERNAL)]
    assert read(data, method="HEAD")[0].done
    reader = ResponseReader(RULES_24, "GET")
    with pytest.raises(BackendError):
        reader.feed(data)
    (line,) = reader.messages
    assert line[:3] == ("info", "AH01587", "Invalid Content-Length")
    assert line.scope.value == "remote"


def test_content_length_22():
    assert read(OK + b"Content-Length: +2\r\n\r\nhi", RULES_22)[1] == b"hi"
    reader = ResponseReader(RULES_22, "GET")
    with pytest.raises(BackendError) as caught:
        reader.feed(OK + b"Content-Length: -1\r\n\r\n12")
    assert [line.text for line in reader.messages] == ["Invalid Content-Length"]
    assert [line.text for line in caught.value.reasons] == ["proxy: error reading response"]


def test_repeated_content_length():
    reader, body, complete = read(OK + TWO + TWO + b"\r\nhi")
    assert (reader.head.fields.items(), body, complete) == ([("Content-Length", "2")], b"hi", True)
    reader, body, complete = read(OK + TWO + b"Content-Length: 3\r\n\r\nhix")
    assert (reader.head.fields.items(), body, complete) == ([("Content-Length", "2")], b"hi", False)
    assert reader.rest == b"x"


def test_transfer_encoding_and_content_length():
    reader, body, complete = read(OK + b"Transfer-Encoding: chunked\r\n" + TWO + b"\r\n2\r\nhi\r\n0\r\n\r\n")
    assert (body, complete, reader.head.fields.names()) == (b"hi", False, ["Transfer-Encoding"])
    assert reader.messages[0].code == "AH01107"


@pytest.mark.parametrize(
    ("value", "chunked"),
    [
        ("chunked", True),
        ("CHUNKED", True),
        ("gzip, chunked", True),
        ("gzip", False),
        ("identity", False),
        ("chunked, gzip", False),
        ("chunked;q=1", False),
        ("chunked,", False),
        ("xchunked", False),
        ('"chunked"', False),
        ("a,b chunked", False),
        ("", False),
        ("identity\r\nTransfer-Encoding: chunked", False),
        ("chunked\r\nTransfer-Encoding: chunked", True),
    ],
)
def test_transfer_encoding(value, chunked):
    body = b"2\r\nhi\r\n0\r\n\r\n"
    reader, got, complete = read(OK + f"Transfer-Encoding: {value}\r\n\r\n".encode() + body)
    assert (got, complete) == ((b"hi", True) if chunked else (body, False))
    if not chunked:
        first = value.partition("\r")[0]
        assert reader.messages[0].text == f"Unknown Transfer-Encoding: {first}; using read-until-close"


@pytest.mark.parametrize("step", [1, 1000])
@pytest.mark.parametrize(
    ("body", "got", "codes", "cause"),
    [
        (b"zz\r\nabc\r\n0\r\n\r\n", b"", ["AH01590"], INTERNAL),
        (b"3\r\nabc\r\nzz\r\n0\r\n\r\n", b"abc", ["AH01590"], INTERNAL),
        (b"3\r\nab", b"ab", [], PARTIAL),
        (b"3\r\nabc\r\n", b"abc", [], PARTIAL),
        (b"3\r\nabc\r\n0\r\n", b"abc", ["AH02656"], INVALID),
        (b"3\nabc\n0\n\n", b"", ["AH01590"], INTERNAL),
        (b"3\r\nabc\r\n0\r\nbad line\r\n\r\n", b"abc", ["AH02656"], INVALID),
        (b"3\r\nabcX\r\n0\r\n\r\n", b"abc", ["AH01590"], INTERNAL),
        (b"fffffffffffffffff\r\nhi\r\n0\r\n\r\n", b"", ["AH01590"], NO_SPACE),
        (b"-2\r\nhi\r\n0\r\n\r\n", b"", ["AH01590"], INTERNAL),
    ],
)
def test_bad_chunks(body, got, codes, cause, step):
    reader = ResponseReader(RULES_24, "GET")
    with pytest.raises(BackendError) as caught:
        for at in range(0, len(CHUNKS + body), step):
            reader.feed((CHUNKS + body)[at : at + step])
        reader.eof()
    assert reader.take() == got
    assert [line.code for line in reader.messages] == codes
    assert [line[1:4] for line in caught.value.reasons] == [("AH01110", "error reading response", cause)]


@pytest.mark.parametrize(
    "body",
    [
        b"3;a=b\r\nabc\r\n0;x\r\n\r\n",
        b"3   \r\nabc\r\n0\r\n\r\n",
        b"00000000000000000003\r\nabc\r\n0\r\n\r\n",
    ],
)
def test_good_chunks(body):
    assert read(CHUNKS + body)[1:] == (b"abc", True)


def test_trailers():
    reader, body, _ = read(CHUNKS + b"3\r\nabc\r\n0\r\nX-T: 1\r\n\r\n")
    assert (body, reader.trailers.items()) == (b"abc", [("X-T", "1")])


def test_chunks_of_http_1_0():
    reader, body, complete = read(
        b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
    )
    assert (body, complete) == (b"hi", False)


def test_length_is_wrong():
    assert refused(OK + b"Content-Length: 10\r\n\r\nhi")[0][0][2] == PARTIAL
    assert refused(OK + b"Content-Length: 5\r\n\r\n", cause=TIMEOUT)[0][0][2] == TIMEOUT
    reader, body, complete = read(OK + TWO + b"\r\nhi there")
    assert (body, reader.rest, complete) == (b"hi", b" there", False)


@pytest.mark.parametrize(
    ("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304), ("HEAD", 404), ("HEAD", 304)]
)
def test_no_body(method, status):
    head = f"HTTP/1.1 {status} X\r\nContent-Length: 5\r\n\r\n".encode()
    assert read(head, method=method)[1:] == (b"", True)
    reader, body, complete = read(head + b"hello", method=method)
    assert (body, reader.rest, complete) == (b"", b"hello", False)
    assert read(head.replace(b"Content-Length: 5", b"Transfer-Encoding: chunked"), method=method)[2]


def test_205_has_a_body():
    assert read(b"HTTP/1.1 205 X\r\nContent-Length: 5\r\n\r\nhello")[1] == b"hello"


@pytest.mark.parametrize(
    ("line", "fields", "complete"),
    [
        ("HTTP/1.1", "", True),
        ("HTTP/1.1", "Connection: keep-alive\r\n", True),
        ("HTTP/1.1", "Connection: close\r\n", False),
        ("HTTP/1.1", "Connection: keep-alive, Close\r\n", False),
        ("HTTP/1.1", "Connection: x\r\nConnection: close\r\n", False),
        ("HTTP/1.0", "", False),
        ("HTTP/1.0", "Connection: keep-alive\r\n", False),
    ],
)
def test_connection(line, fields, complete):
    for _ in range(3):
        data = f"{line} 200 OK\r\n{fields}".encode() + TWO + b"\r\nhi"
        assert read(data)[1:] == (b"hi", complete)


# interim responses
def test_interim():
    early = b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"
    reader, body, complete = read(early * 9 + OK + TWO + b"\r\nhi")
    assert [(one.status, one.reason, one.fields.items()) for one in reader.interim] == [
        (103, "Early", [("Link", "x")])
    ] * 9
    assert (body, complete) == (b"hi", True)
    assert refused(early * 10 + OK) == ([], "Too many (10) interim responses from origin server")
    assert refused(early)[0][0][2] == INTERNAL


def test_interim_has_no_body():
    data = b"HTTP/1.1 100 Continue\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\nhi"
    reader, body, _ = read(data)
    assert (reader.head.version, body) == ((0, 9), b"abcHTTP/1.1 200 OKhi")


def test_101():
    reader, body, complete = read(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\nraw", cuts=(10, 46))
    assert (reader.head.status, body, reader.rest, complete) == (101, b"", b"raw", False)
    assert reader.done


# splits
SPLIT_CASES = [
    OK + TWO + b"\r\nhi",
    OK + TWO + b"\r\nhi there",
    b"\r\n" + OK + b"X: v\r\n  w\r\nbad\r\n\r\n",
    b"garbage\r\n\r\nmore",
    b"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 103 E\r\nA: b\r\n\r\n" + OK + TWO + b"\r\nhi",
    CHUNKS + b"3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX-T: 1\r\n\r\nrest",
    CHUNKS + b"3\r\nabc\r\nzz\r\n",
    OK + b"Connection: close\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\nuntil close",
    OK + b"X: ".ljust(9000, b"y") + b"\r\n" + TWO + b"\r\nhi",
    OK + b"X: ".ljust(5000, b"y") + b"\r\n ".ljust(4000, b"z") + b"\r\n" + TWO + b"\r\nhi",
    b"HTTP/1.1 200 ".ljust(9000, b"x") + b"\r\n\r\n",
    b"z" * 9000 + b"\r\nrest",
    b"HTTP/1.1 101 S\r\nUpgrade: x\r\n\r\nraw",
]


@pytest.mark.parametrize("data", SPLIT_CASES, ids=range(len(SPLIT_CASES)))
@pytest.mark.parametrize("rules", [RULES_22, RULES_24, ResponseRules(bad_header=BadHeaderPolicy.START_BODY)])
def test_any_split_gives_the_same(data, rules):
    whole = outcome(data, rules)
    chance = random.Random(7)
    for round_ in range(60):
        count = chance.choice((1, 2, 5, 40))
        cuts = (
            sorted(chance.randrange(len(data) + 1) for _ in range(count)) if round_ else range(1, len(data))
        )
        assert outcome(data, rules, cuts=cuts) == whole


# recorded answers
def test_recorded_answers(answers):
    """Status and body of every recorded answer to a back end that sends raw bytes."""
    import urllib.parse

    seen = 0
    for case, version, request, response in answers("modules-proxy", "what the client gets for odd backend"):
        path, _, query = request["path"].partition("?")
        conf = case["conf"]
        if not path.endswith("/raw") or response["status"] in (404, 414) or "ErrorOverride" in conf:
            continue
        bad = next(
            (one for one in BadHeaderPolicy if f"ProxyBadHeader {one.value}" in conf), BadHeaderPolicy.ERROR
        )
        rules = RULES_22 if version == "2.2" else RULES_24
        values = {name: getattr(rules, name) for name in rules.__dataclass_fields__}
        data = urllib.parse.unquote_to_bytes(query)
        where = (case["id"], version, query)
        try:
            reader, body, _ = read(
                data, ResponseRules(**{**values, "bad_header": bad}), request.get("method", "GET")
            )
        except BackendError as problem:
            if b"short" not in data:
                assert problem.status == response["status"], where
        else:
            if b"X-Sp " in data:  # refused when the response is sent
                continue
            assert reader.head.status == response["status"], where
            assert body == response["body"].encode("latin-1"), where
        seen += 1
    assert seen > 60 or seen == 0
