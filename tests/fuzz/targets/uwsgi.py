"""Answers of uWSGI programs: BackendError alone; any split gives the same answer and body."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.answers import check_reader
from whimbrel.backends.uwsgi import UwsgiReader

COVERED = ("backends/uwsgi.py", "http/client/head_lines.py")
TOKENS = (b"HTTP/1.1 200 OK\r\n", b"\r\n", b"\n", b"\n ", b"\0", b": ", b"HTTP/1.1 ")


def seeds() -> Sequence[bytes]:
    return [
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nbody",
        b"HTTP/1.0 404\nX: a\n b\n\nbody",
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * 9000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n: x\r\nA\0: b\r\n\r\n",
        b"200 OK\r\n\r\n",
    ]


def run(data: bytes) -> None:
    check_reader(UwsgiReader, data)
