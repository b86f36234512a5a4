"""AJP requests: their bytes as apache2 2.4.71 sends them."""

from __future__ import annotations

import struct

import pytest

from whimbrel.backends.ajp import MAX_BODY, AjpRequest, body_message, cping, forward_request
from whimbrel.http.client.answer import BackendError

SERVER = "127.0.0.1:8009 (127.0.0.1:8009)"


def string(text):
    return struct.pack(">H", len(text)) + text + b"\0"


def request(**more):
    values = {
        "method": "GET",
        "protocol": "HTTP/1.1",
        "path": "/x",
        "remote_addr": "127.0.0.1",
        "remote_port": 32888,
        "local_addr": "127.0.0.1",
        "server_name": "h",
        "server_port": 0x918B,
        "fields": [("Host", "h"), ("Connection", "close")],
        "query": "q=1",
    }
    return AjpRequest(**{**values, **more})


def attribute(name, value):
    return b"\x0a" + string(name) + string(value)


BEGIN = (
    b"\x08HTTP/1.1\x00\x00\x02/x\x00\x00\t127.0.0.1\x00\xff\xff\x00\x01h\x00\x91\x8b\x00\x00\x02"
    b"\xa0\x0b\x00\x01h\x00\xa0\x06\x00\x05close\x00"
)
END = attribute(b"AJP_REMOTE_PORT", b"32888") + attribute(b"AJP_LOCAL_ADDR", b"127.0.0.1") + b"\xff"


def message(content):
    return b"\x124" + struct.pack(">H", len(content)) + content


def test_request():
    content = b"\x02\x02\x00" + BEGIN + b"\x05" + string(b"q=1") + END
    assert forward_request(request(), SERVER) == message(content)


@pytest.mark.parametrize(
    ("method", "code"), [("HEAD", 3), ("POST", 4), ("PROPFIND", 8), ("MKACTIVITY", 27), ("REPORT", 16)]
)
def test_method(method, code):
    assert forward_request(request(method=method), SERVER)[5] == code


@pytest.mark.parametrize("method", ["PATCH", "FOO", "SEARCH"])
def test_stored_method(method):
    name = string(method.encode())
    content = b"\x02\xff\x00" + BEGIN + b"\x05" + string(b"q=1") + b"\x0d" + name + END
    assert forward_request(request(method=method), SERVER) == message(content)


def test_fields():
    fields = [("cookie", "a=b"), ("X-Y", "z"), ("USER-AGENT", "u"), ("Accept-Language", "en"), ("X", "a\0b")]
    data = forward_request(request(fields=fields), SERVER)
    expected = b"\x00\x05\xa0\x09\x00\x03a=b\x00\x00\x03X-Y\x00\x00\x01z\x00\xa0\x0e\x00\x01u\x00"
    assert expected + b"\xa0\x04\x00\x02en\x00\x00\x01X\x00\x00\x01a\x00\x05" in data


def test_attributes():
    more = {
        "secret": "geheim",
        "user": "u",
        "auth_type": "Basic",
        "route": "r",
        "is_tls": True,
        "certificate": "C",
        "cipher": "A",
        "session": "S",
        "key_size": "256",
        "tls_protocol": "TLSv1.3",
        "attributes": [("FOO", "bar")],
    }
    data = forward_request(request(**more), SERVER)
    expected = (
        b"\x0c" + string(b"geheim") + b"\x03" + string(b"u") + b"\x04" + string(b"Basic") + b"\x05"
        + string(b"q=1") + b"\x06" + string(b"r") + b"\x07" + string(b"C") + b"\x08" + string(b"A") + b"\x09"
        + string(b"S") + b"\x0b\x01\x00" + attribute(b"AJP_SSL_PROTOCOL", b"TLSv1.3") + END[:-1]
        + attribute(b"FOO", b"bar") + b"\xff"
    )  # fmt: skip
    assert data.endswith(expected)


def test_request_that_is_too_large():
    """Codes and texts as apache2 logs them for a request with 8,400 bytes of fields."""
    fields = [("Host", "h"), ("X-Big", "y" * 8000), ("X-B2", "z" * 400)]
    with pytest.raises(BackendError) as caught:
        forward_request(request(fields=fields), SERVER)
    assert caught.value.status == 400
    size = len(forward_request(request(fields=fields[:2]), SERVER)) - len(b"\x05" + string(b"q=1") + END) + 7
    assert [(line.code, line.text) for line in caught.value.reasons] == [
        ("AH03229", f"ajp_msg_append_cvt_string(): BufferOverflowException 4 {size}"),
        ("AH00971", "ajp_marshal_into_msgb: Error appending the header value"),
        ("AH00988", "ajp_send_header: ajp_marshal_into_msgb failed"),
        ("AH00868", f"request failed to {SERVER}"),
    ]


def test_body():
    assert body_message(b"abc") == b"\x124\x00\x05\x00\x03abc"
    assert body_message(b"") == b"\x124\x00\x02\x00\x00"
    assert body_message(bytes(MAX_BODY))[:6] == b"\x124\x1f\xfc\x1f\xfa"
    assert cping() == b"\x124\x00\x01\x0a"
