"""Extended CONNECT as an upgrade request (RFC 8441), and the proof of RFC 6455."""

from __future__ import annotations

import pytest

from whimbrel.http.http2.protocol import MalformedRequest, RawField
from whimbrel.http.http2.websocket import (
    KEY,
    accept_value,
    is_extended_connect,
    read_extended,
    tunnel_fields,
)
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions

FIELDS: list[RawField] = [
    (b":method", b"CONNECT"),
    (b":protocol", b"websocket"),
    (b":scheme", b"http"),
    (b":path", b"/chat?a=b"),
    (b":authority", b"example.org"),
    (b"origin", b"http://example.org"),
]


def test_the_request_of_http_1() -> None:
    head = read_extended(FIELDS, HeadLimits(), ParserOptions())
    assert is_extended_connect(FIELDS) and not is_extended_connect(FIELDS[2:])
    assert (head.method, head.target, head.hostname) == ("GET", "/chat?a=b", "example.org")
    assert (head.headers.get("Upgrade"), head.headers.get("Connection")) == ("websocket", "Upgrade")
    assert head.headers.get("Transfer-Encoding") == "chunked"  # of an empty body
    assert len(head.headers.get(KEY) or "") == 24
    assert head.headers.get(KEY) != read_extended(FIELDS, HeadLimits(), ParserOptions()).headers.get(KEY)


@pytest.mark.parametrize("name", [b":scheme", b":path", b":authority"])
def test_what_it_needs(name: bytes) -> None:
    with pytest.raises(MalformedRequest):
        read_extended([field for field in FIELDS if field[0] != name], HeadLimits(), ParserOptions())


@pytest.mark.parametrize("more", [(b"content-length", b"3"), (b"upgrade", b"websocket")])
def test_what_it_must_not_have(more: RawField) -> None:
    with pytest.raises(MalformedRequest):
        read_extended([*FIELDS, more], HeadLimits(), ParserOptions())


def test_other_methods_have_no_protocol() -> None:
    with pytest.raises(MalformedRequest):
        read_extended([(b":method", b"GET"), *FIELDS[1:]], HeadLimits(), ParserOptions())


def test_other_protocols_are_not_implemented() -> None:
    fields = [(name, b"chat" if name == b":protocol" else value) for name, value in FIELDS]
    error = read_extended(fields, HeadLimits(), ParserOptions()).error
    assert error is not None and error.status == 501


def test_the_example_of_rfc_6455() -> None:
    assert accept_value("dGhlIHNhbXBsZSBub25jZQ==") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="


def test_fields_of_the_response() -> None:
    fields = Headers([("Upgrade", "websocket"), ("Connection", "Upgrade"), ("X-A", "b")])
    fields.set("Sec-WebSocket-Accept", "x")
    assert tunnel_fields(fields) == [(b":status", b"200"), (b"x-a", b"b")]
