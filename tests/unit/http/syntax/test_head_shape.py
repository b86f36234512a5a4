"""Heads split by their shape, and what is no head."""

from __future__ import annotations

from random import Random

import pytest

from whimbrel.http.syntax.head_shape import (
    COMPILE_COST,
    LINE_PIECES,
    MAX_CREDITS,
    MAX_FIELDS,
    MAX_NAMES,
    MAX_RECENT,
    MAX_SHAPES,
    NAME_COST,
    TEXT,
    HeadShapes,
    line_of,
)

HEAD = b"GET /a HTTP/1.1\r\nHost: x\r\nCookie: a=1\r\nUser-Agent:  me \r\n\r\n"


def test_heads_with_the_same_names_have_one_shape() -> None:
    shapes = HeadShapes()
    first, second = shapes.split(HEAD), shapes.split(HEAD.replace(b"a=1", b"b=2"))
    assert first is not None and second is not None and first[2] is second[2]
    assert first[1] == (b"GET /a", None, b" HTTP/1.1", b"x", b"a=1", b"me")
    assert line_of(first[1]) == b"GET /a HTTP/1.1"
    other = HEAD.replace(b"Cookie", b"Referer")
    third = shapes.split(other)
    assert third is not None and third[2] is not first[2] and first[2].match_plain(other) is None


@pytest.mark.parametrize(
    "change",
    [
        (b"a=1", b"a=1\r"),
        (b"a=1", b"a=1\n"),
        (b"a=1", b"\r\n b"),
        (b"a=1", b"\0"),
        (b"a=1", b"\x7f"),
        (b"a=1\r\n", b"a=1\n"),
        (b"a=1\r\n", b"a=1\r\r\n"),
        (b"a=1\r\nUser-Agent", b"a=1\n\rUser-Agent"),
        (b"a=1", b"x\r\n\r\nGET /b HTTP/1.1\r\nHost: x"),
        (b"Cookie:", b"Cookie :"),
        (b"Cookie:", b" Cookie:"),
        (b"Cookie: a=1", b"Cookie"),
        (b"Cookie: a=1", b": a"),
        (b"Cookie", b"Coo\xe9kie"),
        (b"\r\n\r\n", b"\r\n"),
        (b"\r\n\r\n", b"\r\n\r\n\r\n"),
        (b"\r\n\r\n", b"\n\n"),
        (b"\r\n\r\n", b"\r\n\r\nX"),
        (b"GET /a", b"GET /a\0"),
        (b"GET /a", b"GET\x01/a"),
        (b"GET /a", b"GET  /a"),
        (b"GET /a", b" GET /a"),
        (b"GET /a", b"GET\t/a"),
        (b"GET /a", b"GET /a b"),
        (b"GET /a", b"GET http://x/a"),
        (b"GET /a", b"GET *"),
        (b"GET /a HTTP/1.1", b"GET https /a x HTTP/2.0"),
        (b"GET /a HTTP/1.1", b"\x000 GET /a HTTP/1.1"),
        (b"GET /a", b"GET /a#b"),
        (b"GET /a", b"GET /a?b#c"),
        (b"HTTP/1.1", b"HTTP/1.1 "),
        (b"HTTP/1.1", b"HTTP/1.2"),
        (b"HTTP/1.1", b"http/1.1"),
        (b"Cookie: a=1", b"Cookie: \0"),
        (b"  me ", b" m\xe9\x01"),
    ],
)
def test_what_is_no_single_complete_head_is_not_split(change: tuple[bytes, bytes]) -> None:
    shapes = HeadShapes()
    known = shapes.split(HEAD)
    assert known is not None
    head = HEAD.replace(*change)
    assert head != HEAD
    assert shapes.split(head) is None and known[2].match_plain(head) is None


def test_values_are_those_that_logs_show() -> None:
    head = HeadShapes().split(HEAD.replace(b"Cookie", b"X").replace(b"\r\n\r\n", b"\r\nx:\t2\r\n\r\n"))
    assert head is not None
    _raw, pieces, shape, is_printable = head
    fill, values = shape.fill((b"user-agent", b"x", b"via", b""))
    assert values(pieces, b"x", b"y") == (b"me", b"a=1, 2", b"-", b"GET /a HTTP/1.1") and not is_printable
    assert fill(b"%b|%b|%b|%b%%", pieces, b"x", b"y") == b"me|a=1, 2|-|GET /a HTTP/1.1%"


@pytest.mark.parametrize(
    ("line", "start", "query", "rest"),
    [
        (b"GET /?a?b=/c HTTP/1.0", b"GET /", b"?a?b=/c", b" HTTP/1.0"),
        (b"HEAD /a? HTTP/1.1", b"HEAD /a", b"?", b" HTTP/1.1"),
        (b'GET /"\xe9?\\ HTTP/1.1', b'GET /"\xe9', b"?\\", b" HTTP/1.1"),
        (b"\x001 GET https /a?b x:1 HTTP/2.0", b"\x001 GET https /a", b"?b", b" x:1 HTTP/2.0"),
    ],
)
def test_the_query_of_a_line(line: bytes, start: bytes, query: bytes, rest: bytes) -> None:
    head = HeadShapes().split(line + b"\r\nhost: x\r\n\r\n")
    assert head is not None and head[1] == (start, query, rest, b"x") and line_of(head[1]) == line


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b"", b""),
        (b" ", b""),
        (b" \t a", b"a"),
        (b"a \t", b"a"),
        (b" a  b\tc ", b"a  b\tc"),
        (b"\xe9 ", b"\xe9"),
        (b':"', b':"'),
    ],
)
@pytest.mark.parametrize("name", [b"Cookie", b"User-Agent"])
def test_values_are_without_the_blanks_around_them(name: bytes, text: bytes, value: bytes) -> None:
    shapes = HeadShapes()
    raw = b"GET / HTTP/1.1\r\n%b:%b\r\nHost: x\r\n\r\n" % (name, text)
    for _ in range(2):
        head = shapes.split(raw)
        assert head is not None and head[1][LINE_PIECES:] == (value, b"x")
        match = head[2].match_plain(raw)
        assert match is None or match.groups() == head[1]


def test_cookies_of_http2_are_joined_as_one() -> None:
    raw = b"\x000 GET http /a localhost HTTP/2.0\r\nhost: localhost\r\ncookie: a\r\ncookie: b\r\n\r\n"
    head = HeadShapes().split(raw)
    assert head is not None
    _raw, pieces, shape, is_printable = head
    assert shape.fill((b"cookie", TEXT))[1](pieces, b"x", b"y") == (b"a; b", b"x")
    assert is_printable and shape.count == len(shape.names) - 1


@pytest.mark.parametrize("value", [b'a"b', b"a\\b", b"\xe9", b"a\tb"])
def test_a_value_that_logs_escape_is_marked(value: bytes) -> None:
    head = HeadShapes().split(HEAD.replace(b" me ", value))
    assert head is not None and not head[3]


def test_shapes_are_bounded() -> None:
    shapes = HeadShapes()
    for number in range(3 * MAX_SHAPES):
        shapes._credits = MAX_CREDITS
        assert shapes.split(HEAD.replace(b"Cookie", b"X-%d" % number)) is not None
        assert len(shapes._shapes) == len(shapes.by_number) <= MAX_SHAPES
    assert shapes.split(HEAD.replace(b"Cookie", b"X" * 4000)) is None
    assert shapes.split(HEAD.replace(b"Cookie", b"a:\r\n" * (MAX_FIELDS - 3) + b"Cookie")) is not None
    assert shapes.split(HEAD.replace(b"Cookie", b"a:\r\n" * (MAX_FIELDS - 2) + b"Cookie")) is None
    assert all(len(key) <= MAX_NAMES for key in shapes._shapes)


def test_invented_names_are_not_compiled_again_and_again() -> None:
    shapes, cost, heads = HeadShapes(), COMPILE_COST + 3 * NAME_COST, 10_000
    found = [shapes.split(HEAD.replace(b"Cookie", b"X-%d" % number)) for number in range(heads)]
    compiled = sum(head is not None for head in found)
    assert MAX_CREDITS // cost <= compiled <= (MAX_CREDITS + heads) // cost
    assert found[0] is not None and shapes._count == compiled
    # the others have no shape until there are credits
    assert [shapes.split(HEAD) is not None for _ in range(cost)].count(True) >= 1


def test_invented_names_drop_no_shape_of_other_clients() -> None:
    shapes = HeadShapes()
    first = shapes.split(HEAD)
    for number in range(3 * MAX_SHAPES):
        shapes._credits = COMPILE_COST + 3 * NAME_COST
        assert shapes.split(HEAD.replace(b"Cookie", b"X-%d" % number)) is not None
        if number % (MAX_SHAPES // 2) == 0:
            shapes._credits = 0
            found = shapes.split(HEAD)
            assert first is not None and found is not None and found[2] is first[2]


def test_recent_shapes_find_what_the_names_find() -> None:
    dice = Random(8)
    names = [b"Host", b"host", b"A", b"A-B", b"Referer", b"User-Agent", b"Cookie"]
    values = [b"", b" x", b"\tx ", b' "q"', b"\xe9", b" a: b", b" \x7f", b" x\r\n y", b"\0", b" Host: x"]
    lines = [b"GET /a HTTP/1.1", b"GET /a?b HTTP/1.0", b'GET /" HTTP/1.1', b"GET * HTTP/1.1", b"\x001 GET /"]
    shapes = HeadShapes()
    found = 0
    for _ in range(4000):
        fields = [dice.choice(names) + b":" + dice.choice(values) for _ in range(dice.randrange(4))]
        ending = dice.choice([b"", b"", b"\r\n", b"x", b"\n"])
        head = b"\r\n".join([dice.choice(lines), *fields, b"", b""]) + ending
        shapes._credits = MAX_CREDITS
        one = shapes.split(head)
        other = HeadShapes().split(head)
        assert (one is None) is (other is None)
        if one is not None and other is not None:
            assert (one[:2], one[2].names, one[3]) == (other[:2], other[2].names, other[3])
            found += 1
        assert len(shapes._recent) <= MAX_RECENT
        assert all(shapes.by_number[shape.number] is shape for shape in shapes._recent)
    assert found > 300
