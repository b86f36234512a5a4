"""uwsgi: the packet that apache2 2.4.71 sends, and what it made of each odd answer."""

from __future__ import annotations

import random

import pytest

from whimbrel.backends.uwsgi import UwsgiReader, request_bytes
from whimbrel.http.client.answer import BackendError
from whimbrel.http.client.response_reader import MAX_HEAD

OK = b"HTTP/1.1 200 OK\r\n"


def read(data, cuts=()):
    reader, body = UwsgiReader(), b""
    edges = [0, *cuts, len(data)]
    for start, end in zip(edges, edges[1:], strict=False):
        reader.feed(data[start:end])
    reader.eof()
    body = reader.take()
    head = reader.head
    return head.status, head.reason, head.fields.items(), body


def status_of(data, cuts=()):
    with pytest.raises(BackendError) as caught:
        read(data, cuts)
    assert caught.value.reasons == ()
    return caught.value.status


def test_request():
    packet = request_bytes([("PATH_INFO", "/x"), ("A", "")], "h:1")
    assert packet == b"\0\x14\0\0" + b"\x09\0PATH_INFO\2\0/x" + b"\1\0A\0\0"
    assert request_bytes([], "h:1", modifier1=5, modifier2=7) == b"\5\0\0\7"
    assert len(request_bytes([("A", "x" * 65530)], "h:1")) == 4 + 65535
    with pytest.raises(BackendError) as caught:
        request_bytes([("A", "x" * 65531)], "h:1")
    (line,) = caught.value.reasons
    words = "can't send headers to h:1: packet size too large (65536)"
    assert (caught.value.status, line.code, line.text) == (500, "AH10259", words)


@pytest.mark.parametrize(
    ("data", "status", "reason", "fields", "body"),
    [
        (OK + b"X: y\r\n\r\nhi", 200, "OK", [("X", "y")], b"hi"),
        (b"HTTP/1 200 OK\r\n\r\nhi", 200, "OK", [], b"hi"),
        (b"HTTP/2.0 200 OK\r\n\r\nhi", 200, "OK", [], b"hi"),
        (b"HTTP/1.1 200\r\n\r\nhi", 200, "", [], b"hi"),
        (b"HTTP/1.1 2000 X\r\n\r\nhi", 200, None, [], b"hi"),
        (b"HTTP/1.1 100 C\r\n\r\nHTTP/1.1 200 OK\r\n\r\nhi", 100, "C", [], b"HTTP/1.1 200 OK\r\n\r\nhi"),
        (OK + b"Content-Length: 2\r\n\r\nhi there", 200, "OK", [("Content-Length", "2")], b"hi there"),
        (OK + b"Content-Length: 5\r\n\r\nhi", 200, "OK", [("Content-Length", "5")], b"hi"),
        (OK + b"X: y\r\n  z\r\n\r\nhi", 200, "OK", [("X", "y  z")], b"hi"),
        (OK + b" z\r\nX: y\r\n\r\nhi", 200, "OK z", [("X", "y")], b"hi"),
        (OK + b"X:\r\n\r\nhi", 200, "OK", [("X", "")], b"hi"),
        (OK + b": b\r\n\r\nhi", 200, "OK", [("", "b")], b"hi"),
    ],
)
def test_answer(data, status, reason, fields, body):
    assert read(data) == (status, reason, fields, body)


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"garbage\r\n\r\n", 502),
        (b"garbage", 500),
        (b"", 500),
        (b"\r\n" + OK + b"\r\nhi", 500),
        (b"HTTP/1.1 200 ".ljust(9000, b"y") + b"\r\n\r\nhi", 500),
        (b"HTTP/1.1 200 \0K\r\n\r\nhi", 500),
        (OK + b"bad\r\n\r\nhi", 502),
        (OK + b"X : y\r\n\r\nhi", 502),
        (OK + b"X{: y\r\n\r\nhi", 502),
        (OK + b"X: a\x01b\r\n\r\nhi", 502),
        (OK + b"X: a\0b\r\n\r\nhi", 502),
        (OK + b"X: ".ljust(8192, b"y") + b"\r\n\r\nhi", 502),
        (OK + b"X: y\r\n", 502),
        (OK, 502),
    ],
)
def test_bad_answer(data, status):
    assert status_of(data) == status
    assert status_of(data, range(1, len(data))) == status


def test_bounds():
    assert len(read(OK + b"X: ".ljust(8191, b"y") + b"\r\n\r\nhi")[2][0][1]) == 8188
    assert status_of(OK + b"X: y\r\n" * (MAX_HEAD // 6 + 1)) == 502


def test_any_split_gives_the_same():
    data = OK + b"X: y\r\n  z\r\nA: b\r\n\r\nhi\r\n\r\n"
    chance = random.Random(7)
    for _ in range(60):
        assert read(data, sorted(chance.randrange(len(data)) for _ in range(4))) == read(data)
