"""Messages of AJP back ends: BackendError alone; any split gives the same answer, body and fault."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from tests.fuzz.answers import check_reader
from whimbrel.backends.ajp_reader import AjpReader, read_cpong
from whimbrel.http.client.answer import BackendError

COVERED = ("backends/ajp_reader.py",)
TOKENS = (
    b"AB\0\2\5\1",
    b"AB\0\3\6\x1f\xf8",
    b"AB\0\1\x09",
    b"\xa0\1",
    b"\xa0\x0b",
    b"\4\0\xc8\0\2OK\0",
    b"\3\0\2hi\0",
)


def message(content: bytes) -> bytes:
    """Return a message of a container."""
    return b"AB" + len(content).to_bytes(2) + content


def string(text: bytes) -> bytes:
    """Return a string with its length and its end."""
    return len(text).to_bytes(2) + text + b"\0"


def seeds() -> Sequence[bytes]:
    end = message(b"\5\1")
    head = message(
        b"\4\0\xc8"
        + string(b"OK")
        + b"\0\2"
        + b"\xa0\1"
        + string(b"text/plain")
        + string(b"X")
        + string(b"y")
    )
    body = message(b"\3" + string(b"hello"))
    return [
        head + body + end,
        head + message(b"\3\0\0\0") + body + message(b"\5\0") + b"more",
        message(b"\6\x1f\xf8") + head + body + end,
        head + head,
        message(b"\4\0\xc8" + string(b"OK") + b"\0\1\xa0\x0c" + string(b"y")),
        message(b"\4\0\xc8" + b"\xff\xff" + b"\0\0"),
        message(b"\3\0\x20hi\0"),
        message(b"\x09"),
        message(b""),
        b"CD\0\1\5",
        b"AB\xff\xff",
        body,
    ]


def run(data: bytes) -> None:
    check_reader(lambda: AjpReader("127.0.0.1:8009"), data)
    for ended in (False, True):
        with contextlib.suppress(BackendError):
            read_cpong(data, "127.0.0.1:8009", ended=ended)
