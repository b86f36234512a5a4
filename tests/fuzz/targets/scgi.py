"""Answers of SCGI programs: BackendError alone; any split gives the same answer and body."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.answers import check_reader
from whimbrel.backends.scgi import ScgiReader, request_bytes
from whimbrel.backends.script_lines import take_head

COVERED = ("backends/scgi.py", "backends/script_lines.py")
TOKENS = (b"Status: 404 Not Found\r\n", b"\r\n", b"\n", b"\0", b"Location: /x\n", b": ")


def seeds() -> Sequence[bytes]:
    return [
        b"Status: 200 OK\r\nContent-Type: text/plain\r\n\r\nbody",
        b"Content-Type: text/plain\n\nbody\n\nmore",
        b"X: " + b"y" * 9000 + b"\n\n",
        b"\n",
        b"X: a\0b\n\0\nbody",
        b"no end of head\r\n",
    ]


def run(data: bytes) -> None:
    check_reader(ScgiReader, data)
    for is_complete in (False, True):
        take_head(bytearray(data), is_complete=is_complete)
    pairs = [line.partition(": ")[::2] for line in data.decode("latin-1").split("\n")]
    size, _, rest = request_bytes(pairs, 5).partition(b":")
    assert len(rest) == int(size) + 1 and rest.endswith(b",")
    words = rest[:-1].split(b"\0")
    assert words[:4] == [b"CONTENT_LENGTH", b"5", b"SCGI", b"1"]
    assert len(words) % 2
