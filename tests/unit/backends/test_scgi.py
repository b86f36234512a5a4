"""SCGI: the netstring that apache2 sends, and answers."""

from __future__ import annotations

import pytest

from whimbrel.backends.scgi import ScgiReader, request_bytes
from whimbrel.backends.script_lines import MAX_HEAD, MAX_LINE
from whimbrel.http.client.answer import BackendError


def read(data, step):
    reader = ScgiReader()
    for at in range(0, len(data), step):
        reader.feed(data[at : at + step])
    reader.eof()
    return reader.head.script_lines, reader.take()


def test_request():
    """CONTENT_LENGTH and SCGI come first, GATEWAY_INTERFACE never."""
    pairs = [
        ("HTTP_HOST", "h"),
        ("GATEWAY_INTERFACE", "x"),
        ("CONTENT_LENGTH", "9"),
        ("SCGI", "2"),
        ("A", ""),
    ]
    assert request_bytes(pairs, 3) == b"39:CONTENT_LENGTH\x003\x00SCGI\x001\x00HTTP_HOST\x00h\x00A\x00\x00,"
    assert request_bytes([("A\0B", "c\0d")], 0).endswith(b"\0A\0c\0,")


@pytest.mark.parametrize("step", [1, 7, 1000])
@pytest.mark.parametrize(
    ("data", "lines", "body"),
    [
        (b"Content-Type: text/plain\r\n\r\nhi", ("Content-Type: text/plain", ""), b"hi"),
        (b"Content-Length: 5\r\n\r\nhi", ("Content-Length: 5", ""), b"hi"),
        (b"X: y\r\n", ("X: y",), b""),
        (b"", (), b""),
    ],
)
def test_answer(data, lines, body, step):
    assert read(data, step) == (lines, body)


def test_head_is_bounded():
    reader = ScgiReader()
    reader.feed(b"x" * MAX_LINE)
    assert reader.head.script_lines == ()
    reader = ScgiReader()
    for _ in range(MAX_HEAD // 6_000 + 1):
        assert reader.head is None
        reader.feed(b"X: y\r\n" * 1000)
    assert reader.head.script_lines[-1] == "X: y"


def test_failed_connection():
    reader = ScgiReader()
    reader.feed(b"X: y\r\n\r\nhi")
    with pytest.raises(BackendError):
        reader.eof("(104)Connection reset by peer")
