"""Answers of SCGI programs: BackendError alone; any split gives the same answer and body."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.answers import check_reader
from whimbrel.backends.scgi import ScgiReader

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
