"""Chunked bodies: the recorded good and bad ones, in one piece and byte by byte."""

from __future__ import annotations

import re

import pytest

from whimbrel.http.http1.chunked import BodyError, ChunkedBody, LengthBody
from whimbrel.http.syntax.head import read_head
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions


def parse(data, step, rules=None):
    body = ChunkedBody(HeadLimits(), rules or ParserOptions())
    out = b"".join(body.feed(data[at : at + step]) for at in range(0, len(data), step))
    body.close()
    return out, body


@pytest.mark.parametrize("step", [1, 3, 10_000])
def test_every_recorded_chunked_body(answers, step):
    seen = 0
    for case, version, request, response in answers("core-http", "chunked request bodies"):
        raw = request["raw"].encode("latin-1")
        rules = ParserOptions(version22=version == "2.2")
        head = read_head(raw, HeadLimits(), rules)
        assert head is not None and head.chunked and head.error is None
        status = int(response["raw"][9:12])
        where = (case["id"], version, request["raw"])
        try:
            body, _ = parse(raw[head.end :], step, rules)
        except BodyError as problem:
            assert problem.status == status, where
        else:
            assert status == 200, where
            assert re.search(r"X=\n" + re.escape(body.decode()) + r"(\r\n0\r\n\r\n)?\Z", response["raw"]), (
                where
            )
        seen += 1
    assert seen > 30


def test_bytes_behind_the_body_belong_to_the_next_request():
    body, parser = parse(b"3\r\nabc\r\n0\r\nX-T: 1\r\n\r\nGET /", 10_000)
    assert (body, parser.rest, parser.trailers.get("x-t")) == (b"abc", b"GET /", "1")


def test_a_known_length_takes_no_byte_more():
    body = LengthBody(4)
    assert body.feed(b"he") + body.feed(b"llo") == b"hell"
    assert body.done and body.rest == b"o"


def test_an_unfinished_body_is_an_error():
    with pytest.raises(BodyError):
        LengthBody(4).close()
    with pytest.raises(BodyError):
        parse(b"5\r\nhel", 100)


@pytest.mark.parametrize(
    ("data", "cause"),
    [
        (b"", "(70008)Partial results are valid but processing is incomplete"),
        (b"5", "(70008)Partial results are valid but processing is incomplete"),
        (b"5\r\nhe", "(70008)Partial results are valid but processing is incomplete"),
        (b"5\r\nhello\r\n0", "(70008)Partial results are valid but processing is incomplete"),
        (b"5\r\nhello\r\n0\r\n", "(22)Invalid argument"),
        (b"5\r\nhello\r\n0\r\nA: b", "(22)Invalid argument"),
    ],
)
def test_the_page_about_a_chunked_body_that_is_cut_has_a_length(data, cause):
    """Causes are those of apache2 2.4, whose page has a Content-Length then, and none after a bad chunk."""
    parser = ChunkedBody(HeadLimits(), ParserOptions())
    parser.feed(data)
    with pytest.raises(BodyError) as caught:
        parser.close()
    assert (caught.value.endless, caught.value.reason.cause) == (False, cause)


def test_loose_rules_take_bare_line_feeds():
    assert parse(b"5\nhello\n0\n\n", 1, ParserOptions(strict=False))[0] == b"hello"


# Statuses of 2.4.71 for these size lines (before CR LF, a chunk "hello", and the last chunk).
SIZES = [
    (b"5\t", 200),
    (b"5 ;x", 200),
    (b"5;x\ty", 200),
    (b"5;x\x01", 400),
    (b"5;\x80", 200),
    (b"5;\x7f", 400),
    (b"5;a\rb", 400),
    (b"5 5", 400),
    (b"5\x0b", 400),
    (b";x", 400),
    (b"0" * 40 + b"5", 200),
    (b"8000000000000000", 413),
    (b"5" + b" " * 10, 200),
    (b"5" + b" " * 11, 400),
    (b"5;" + b"x" * 8186, 200),
    (b"5;" + b"x" * 8187, 413),
    (b"0005;" + b"x" * 8183, 200),
    (b"0005;" + b"x" * 8184, 413),
]


@pytest.mark.parametrize(("line", "status"), SIZES, ids=[str(at) for at in range(len(SIZES))])
@pytest.mark.parametrize("step", [1, 100_000])
def test_size_lines(line, status, step):
    try:
        body, _ = parse(line + b"\r\nhello\r\n0\r\n\r\n", step)
    except BodyError as problem:
        assert problem.status == status
    else:
        assert (body, status) == (b"hello", 200)
