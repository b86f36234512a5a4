"""Answers of uWSGI programs: BackendError alone; any split gives the same answer and body."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.answers import check_reader
from whimbrel.backends.uwsgi import UwsgiReader, request_bytes
from whimbrel.http.client.answer import BackendError

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
    pairs = [line.partition(": ")[::2] for line in data.decode("latin-1").split("\n")]
    try:
        packet = request_bytes(pairs, "127.0.0.1:3031")
    except BackendError:
        return
    found, at = [], 4
    while at < len(packet):
        size = int.from_bytes(packet[at : at + 2], "little")
        found.append(packet[at + 2 : at + 2 + size].decode("latin-1"))
        at += 2 + size
    assert at == 4 + int.from_bytes(packet[1:3], "little")
    assert found == [word.partition("\0")[0] for pair in pairs for word in pair]
