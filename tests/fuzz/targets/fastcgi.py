"""Records of FastCGI programs: BackendError alone; any split gives the same answer, body and fault.

Variables are read from the records that are sent as they were given.

The first byte selects the module and whether the connection is kept.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tests.fuzz.answers import check_reader
from whimbrel.backends.fastcgi import (
    AUTHNZ_FCGI,
    PROXY_FCGI,
    FastcgiReader,
    begin_request,
    complete_output,
    params,
    stdin,
)

COVERED = ("backends/fastcgi.py", "backends/script_lines.py")
TOKENS = (
    b"\1\6\0\1\0\5\0\0",
    b"\1\3\0\1\0\x08\0\0",
    b"\1\7\0\1\0\3\0\0",
    b"Status: 404\r\n",
    b"\r\n\r\n",
    b"\n\n",
)


def record(kind: int, content: bytes = b"", *, padding: int = 0, request: int = 1, version: int = 1) -> bytes:
    """Return one record."""
    return struct.pack(">BBHHBB", version, kind, request, len(content), padding, 0) + content + bytes(padding)


def seeds() -> Sequence[bytes]:
    end = record(3, bytes(8))
    out = record(6, b"Content-Type: text/plain\r\n\r\nhi")
    answers = [
        out + end,
        out + record(6) + end + b"more",
        record(7, b"warning\n")
        + record(6, b"Status: 404 No\n", padding=5)
        + record(6, b"X: y\n\nbody")
        + record(7)
        + end,
        record(6, b"\r\n") + end,
        record(6, b"no head") + end,
        out + record(6, b"x", version=2),
        out + record(6, b"x", request=3),
        record(11, b"\1\0\0\0\0\0\0\0") + out + end,
        out + record(3, b"\0\0\0\1\1\0\0\0"),
        record(6, b"X: " + b"y" * 9000 + b"\r\n\r\n") + end,
    ]
    return [bytes([switches]) + answer for answer in answers for switches in (0, 3)]


def run(data: bytes) -> None:
    switches = data[0] if data else 0
    messages = AUTHNZ_FCGI if switches & 1 else PROXY_FCGI
    check_reader(lambda: FastcgiReader(messages, keep=bool(switches & 2)), data[1:])
    if complete_output(data[1:]) is not None:
        reader = FastcgiReader()
        reader.feed(data[1:])
        assert reader.done and not reader.rest
    _check_variables(data[1:].decode("latin-1"))


def _check_variables(text: str) -> None:
    """Read the records of variables as a program does."""
    pairs = [pair.partition("=")[::2] for pair in text.split("&")]
    sent, left_out = params(pairs)
    content, at = b"", 0
    while at < len(sent):
        _version, kind, _request, size, padding, _reserved = struct.unpack_from(">BBHHBB", sent, at)
        assert kind == 4
        content += sent[at + 8 : at + 8 + size]
        at += 8 + size + padding
    assert not size  # the last record is empty
    found, at = [], 0
    while at < len(content):
        sizes = []
        for _ in range(2):
            is_long = content[at] & 0x80
            sizes.append(int.from_bytes(content[at : at + 4]) & 0x7FFFFFFF if is_long else content[at])
            at += 4 if is_long else 1
        name, value = content[at : at + sizes[0]], content[at + sizes[0] : at + sum(sizes)]
        found.append((name.decode("latin-1"), value.decode("latin-1")))
        at += sum(sizes)
    whole = [tuple(word.partition("\0")[0] for word in pair) for pair in pairs]
    assert found == [pair for pair in whole if pair[0] not in left_out]
    begin_request(keep=True)
    assert stdin(text.encode("latin-1")) or not text
