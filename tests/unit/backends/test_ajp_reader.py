"""AJP answers: what apache2 2.4.71 made of each, with its lines of the error log."""

from __future__ import annotations

import random
import struct

import pytest

from whimbrel.backends.ajp import MAX_BODY
from whimbrel.backends.ajp_reader import MAX_EARLY, AjpReader, read_cpong
from whimbrel.http.client.answer import BackendError

SERVER = "127.0.0.1:8009 (127.0.0.1:8009)"
UNKNOWN = "APR does not understand this error code"
EOF = "(70014)End of file found"
FAILED = ("AH00890", "Processing of request failed backend: 1, client: 0", "")
BAD = ("AH01031", "ajp_ilink_receive() received bad header", "")
RECEIVE = ("AH00992", "ajp_read_header: ajp_ilink_receive failed", "")
NO_HEADER = ("AH01030", "ajp_ilink_receive() can't receive header", EOF)


def string(text):
    return struct.pack(">H", len(text)) + text + b"\0"


def message(content, signature=b"AB", size=None):
    return signature + struct.pack(">H", len(content) if size is None else size) + content


def head(status=200, reason=b"OK", fields=((b"\xa0\x01", b"text/plain"), (b"X-A", b"1"))):
    lines = b"".join((name if name[0] == 0xA0 else string(name)) + string(value) for name, value in fields)
    return message(
        b"\4" + struct.pack(">H", status) + string(reason) + struct.pack(">H", len(fields)) + lines
    )


def chunk(data):
    return message(b"\3" + struct.pack(">H", len(data)) + data + b"\0")


END, CLOSE = message(b"\5\1"), message(b"\5\0")


def read(data, cuts=()):
    reader, body = AjpReader(SERVER), b""
    edges = [0, *cuts, len(data)]
    for start, end in zip(edges, edges[1:], strict=False):
        reader.feed(data[start:end])
        body += reader.take()
    if not reader.done:
        reader.eof()
    return reader, body


def dialog(code):
    return ("AH00893", f"dialog to {SERVER} failed", f"({code}){UNKNOWN}" if code else "")


def unread(code):
    return ("AH00878", f"read response failed from {SERVER}", f"({code}){UNKNOWN}")


def wrong_chunk(size, expected):
    return f"ajp_parse_data: Wrong chunk length. Length of chunk is {size}, expected length is {expected}."


def overflow(function, at, size):
    return ("AH03229", f"ajp_msg_{function}(): BufferOverflowException {at} {size}", "")


@pytest.mark.parametrize(
    ("data", "status", "reason", "fields", "body", "reusable"),
    [
        (head() + chunk(b"hi") + END, 200, "OK", [("Content-Type", "text/plain"), ("X-A", "1")], b"hi", True),
        (
            head() + chunk(b"hi") + CLOSE,
            200,
            "OK",
            [("Content-Type", "text/plain"), ("X-A", "1")],
            b"hi",
            False,
        ),
        (head(404, b"", ()) + END, 404, "", [], b"", True),
        (message(b"\4\0\xc8\xff\xff\0\0") + chunk(b"hi") + END, 200, None, [], b"hi", True),
        (message(b"\5\1", b"\x124"), 200, None, [], b"", True),
        (chunk(b"hi") + END, 200, None, [], b"hi", True),
        (chunk(b"") + head(fields=()) + chunk(b"") + chunk(b"hi") + END, 200, "OK", [], b"hi", True),
        (
            message(b"\4\0\xc8" + string(b"O\0K") + b"\0\1" + string(b"X\0Y") + string(b"y\0z")) + END,
            200,
            "O",
            [("X", "y")],
            b"",
            True,
        ),
        (message(b"\4\0\xc8" + string(b"OK") + b"\0\0more") + END, 200, "OK", [], b"", True),
        (head(101, b"OK", ()) + END, 101, "OK", [], b"", True),
    ],
)
def test_answer(data, status, reason, fields, body, reusable):
    reader, got = read(data)
    found = reader.head
    assert (found.status, found.reason, found.fields.items()) == (status, reason, fields)
    assert (got, reader.reusable) == (body, reusable)


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (
            b"XX\0\2\5\1",
            [("AH01080", "ajp_msg_check_header() got bad signature 5858", ""), BAD, RECEIVE, unread(120007)],
        ),
        (
            message(b"\3", size=8190),
            [
                ("AH01081", "ajp_msg_check_header() incoming message is too big 8190, max is 8188", ""),
                BAD,
                RECEIVE,
                unread(120007),
            ],
        ),
        (message(b"\3" * 8188), [("AH00998", wrong_chunk(771, 8184), ""), FAILED, dialog(120007)]),
        (
            message(b""),
            [
                overflow("peek_uint8", 4, 4),
                ("AH00993", "ajp_read_header: ajp_msg_peek_uint8 failed", ""),
                unread(120001),
            ],
        ),
        (head() + message(b"\x63"), [FAILED, dialog(0)]),
        (message(b"\x09") + head(), [FAILED, dialog(0)]),
        (head() + head(), [("AH00884", "Backend sent headers twice.", ""), FAILED, dialog(0)]),
        (
            head(fields=((b"\xa0\x63", b"x"),)),
            [("AH00984", "ajp_unmarshal_response: No such sc (0000a063)", ""), FAILED, dialog(120007)],
        ),
        (
            head(fields=((b"\xa0\x0c", b"x"),)),
            [("AH00984", "ajp_unmarshal_response: No such sc (0000a00c)", ""), FAILED, dialog(120007)],
        ),
        (head() + message(b"\3\0\5hi\0"), [("AH00998", wrong_chunk(5, 2), ""), FAILED, dialog(120007)]),
        (head() + message(b"\3"), [overflow("get_uint16", 5, 5), FAILED, dialog(120001)]),
        (head() + message(b"\3\0"), [overflow("get_uint16", 5, 6), FAILED, dialog(120001)]),
        (
            head() + message(b"\3\0\0"),
            [("AH10546", "ajp_parse_data: Message too small", ""), FAILED, dialog(120007)],
        ),
        (
            head() + chunk(b"hi"),
            [
                NO_HEADER,
                RECEIVE,
                ("AH00889", "ajp_read_header failed", f"(120006){UNKNOWN}"),
                FAILED,
                dialog(120006),
            ],
        ),
        (b"", [NO_HEADER, RECEIVE, unread(120006)]),
        (b"AB\0", [NO_HEADER, RECEIVE, unread(120006)]),
        (
            head()[:20],
            [
                ("AH01032", "ajp_ilink_receive() error while receiving message body of length 4", EOF),
                RECEIVE,
                unread(120008),
            ],
        ),
        (
            message(b"\4\0\xc8\x20\0ab"),
            [overflow("get_string", 9, 11), overflow("peek_uint16", 11, 11), FAILED, dialog(120001)],
        ),
        (
            message(b"\4\0\xc8" + string(b"OK") + b"\0\x09"),
            [overflow("peek_uint16", 14, 14), FAILED, dialog(120001)],
        ),
        (
            message(b"\4"),
            [
                overflow("get_uint16", 5, 5),
                ("AH00983", "ajp_unmarshal_response: Null status", ""),
                FAILED,
                dialog(120001),
            ],
        ),
        (
            message(b"\4\0\xc8\0\5OK\0\0\0"),
            [
                overflow("get_string", 9, 14),
                overflow("get_uint16", 14, 14),
                overflow("get_string", 14, 14),
                ("AH00986", "ajp_unmarshal_response: Null header value", ""),
                FAILED,
                dialog(120001),
            ],
        ),
        (
            message(b"\4\0\xc8\0\2OKX\0\1\0\1X?\0\1y?"),
            [
                overflow("get_string", 9, 22),
                overflow("get_string", 13, 22),
                ("AH00985", "ajp_unmarshal_response: Null header name", ""),
                FAILED,
                dialog(120001),
            ],
        ),
        (
            message(b"\4\0\xc8" + string(b"OK") + b"\0\1\xff\xff"),
            [
                overflow("get_string", 16, 16),
                ("AH00985", "ajp_unmarshal_response: Null header name", ""),
                FAILED,
                dialog(120001),
            ],
        ),
        (
            message(b"\4\0\xc8" + string(b"OK") + b"\0\1" + string(b"X") + b"\xff\xff"),
            [
                overflow("get_string", 20, 20),
                ("AH00986", "ajp_unmarshal_response: Null header value", ""),
                FAILED,
                dialog(120001),
            ],
        ),
    ],
)
def test_bad_answer(data, lines):
    for cuts in ((), range(1, len(data))):
        with pytest.raises(BackendError) as caught:
            read(data, cuts)
        assert [(line.code, line.text, line.cause) for line in caught.value.reasons] == lines
        assert caught.value.status == 500


def test_end_without_the_flag():
    """The client's response is complete; the connection ends."""
    reader, _ = read(head() + message(b"\5"))
    assert (reader.done, reader.reusable) == (True, False)
    assert [line.code for line in reader.messages] == ["AH03229", "AH00890", "AH00893"]


def test_flush_before_the_head():
    reader, _ = read(chunk(b"") + head() + END)
    assert [line.text for line in reader.messages] == ["Ignoring flush message received before headers"]


def test_request_for_more_of_the_body():
    reader = AjpReader(SERVER)
    reader.feed(message(b"\6\x1f\xfa"))
    assert (reader.wanted, reader.done) == (MAX_BODY, False)
    reader.wanted = 0
    reader.feed(head() + END)
    assert (reader.wanted, reader.done) == (0, True)


def test_bytes_after_the_answer():
    reader, _ = read(head() + END + b"rest")
    assert (reader.rest, reader.reusable) == (b"rest", False)


def test_body_before_the_head_is_bounded():
    reader = AjpReader(SERVER)
    with pytest.raises(BackendError):
        for _ in range(MAX_EARLY // 8000 + 2):
            reader.feed(chunk(bytes(8000)))
    assert reader.buffered <= MAX_EARLY + 8000


def test_any_split_gives_the_same():
    data = chunk(b"") + head() + chunk(b"h" * 300) + message(b"\6\x1f\xfa") + chunk(b"i") + END + b"rest"
    chance = random.Random(7)
    whole, body = read(data)
    for _ in range(60):
        cuts = sorted(chance.randrange(len(data)) for _ in range(chance.choice((1, 2, 5, 40))))
        reader, got = read(data, cuts)
        assert (reader.head, got, reader.rest, reader.messages) == (
            whole.head,
            body,
            whole.rest,
            whole.messages,
        )


def test_cpong():
    assert read_cpong(b"AB\0\1", SERVER) == 0
    assert read_cpong(b"AB\0\1\x09AB", SERVER) == 5
    failed = ("AH00897", f"cping/cpong failed to {SERVER}")
    for data, ended, first in (
        (b"AB\0\1\x08", False, ("AH01014", "ajp_handle_cping_cpong: awaited CPONG, received 8 ")),
        (b"", True, NO_HEADER[:2]),
        (b"XX\0\1\x09", False, ("AH01080", "ajp_msg_check_header() got bad signature 5858")),
    ):
        with pytest.raises(BackendError) as caught:
            read_cpong(data, SERVER, ended=ended)
        lines = [(line.code, line.text) for line in caught.value.reasons]
        assert (caught.value.status, lines[0], lines[-1]) == (503, first, failed)
