"""PROXY protocol headers: BadHeader alone; a header is complete with its last byte, and no byte earlier."""

from __future__ import annotations

import socket
from collections.abc import Sequence

from whimbrel.server.connection.proxy_protocol import SIGNATURE, BadHeader, ProxyHeaderFields, read_header

COVERED = ("server/connection/proxy_protocol.py",)
TOKENS = (
    b"PROXY ",
    b"TCP4 ",
    b"TCP6 ",
    b"UNKNOWN",
    b"127.0.0.1 ",
    b"::1 ",
    b"65535",
    b"\r\n",
    SIGNATURE,
    b"\x21\x11\0\x0c",
    b"\x20\0\0\0",
)


def seeds() -> Sequence[bytes]:
    v4 = socket.inet_aton("192.0.2.1") * 2 + b"\x12\x67\0\x50"
    return [
        b"PROXY TCP4 192.0.2.1 192.0.2.2 4711 80\r\nGET /",
        b"PROXY TCP6 2001:db8::1 ::1 4711 80\r\n",
        b"PROXY UNKNOWN\r\n",
        b"PROXY TCP4 1.2.3 x 99999 -1\r\n",
        SIGNATURE + b"\x21\x11\0\x0c" + v4,
        SIGNATURE + b"\x21\x21\0\x24" + bytes(36),
        SIGNATURE + b"\x20\0\0\0GET /",
        SIGNATURE + b"\x21\x11\0\x04abcd",
        SIGNATURE + b"\x31\x11\0\x04abcd",
    ]


def run(data: bytes) -> None:
    first: ProxyHeaderFields | None = None
    fault = False
    for end in range(1, min(len(data), 600) + 1):
        try:
            first = read_header(data[:end])
        except BadHeader:
            fault = True
            break
        if first is not None:
            break
    try:
        whole = read_header(data) if data else None
    except BadHeader:
        assert fault or len(data) > 600
        return
    if first is not None:
        assert whole == first
        assert first.size <= len(data)
        assert 0 <= first.port <= 65535
