"""Request heads: their bytes, and what is refused because it could be two requests."""

from __future__ import annotations

import pytest

from whimbrel.http.client.request_writer import UnsafeRequest, request_bytes
from whimbrel.http.syntax.head import read_head
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions


def test_head():
    fields = [("Host", "a"), ("X", ""), ("X", "b\xff")]
    head = request_bytes("GET", "/x?y", fields)
    assert head == b"GET /x?y HTTP/1.1\r\nHost: a\r\nX: \r\nX: b\xff\r\n\r\n"
    assert request_bytes("GET", "/", [], version="1.0") == b"GET / HTTP/1.0\r\n\r\n"
    assert read_head(head, HeadLimits(), ParserOptions()).error is None


@pytest.mark.parametrize("part", ["\r", "\n", "\0", "\r\nX: y", "a b", " ", "", "\t", "\x7f", "a\x01"])
def test_malformed_line(part):
    with pytest.raises(UnsafeRequest):
        request_bytes("GET" + part if part else "", "/", [])
    with pytest.raises(UnsafeRequest):
        request_bytes("GET", "/" + part if part else "", [])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", "a\r\nY: b"),
        ("X", "a\nb"),
        ("X", "a\rb"),
        ("X", "a\0b"),
        ("X", "\r\n"),
        ("X: a\r\nY", "b"),
        ("X ", "b"),
        ("", "b"),
        ("X:", "b"),
        (" X", "b"),
        ("X\r\n", ""),
    ],
)
def test_malformed_field(name, value):
    with pytest.raises(UnsafeRequest):
        request_bytes("GET", "/", [("A", "b"), (name, value)])
