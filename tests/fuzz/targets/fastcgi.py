"""Records of FastCGI programs: BackendError alone; any split gives the same answer, body and fault.

The first byte selects the module and whether the connection is kept.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tests.fuzz.answers import check_reader
from whimbrel.backends.fastcgi import AUTHNZ_FCGI, PROXY_FCGI, FastcgiReader

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
