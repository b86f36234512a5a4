"""ClientHello messages: NotClientHello alone; any split gives the same message."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Sequence

from tests.fuzz.push import same_for_all_splits
from whimbrel.http.syntax.client_hello import ClientHello, ClientHelloReader, NotClientHello

COVERED = ("http/syntax/client_hello.py",)
TOKENS = (
    b"\x16\3\1",
    b"\0\0\0\x0e\0\x0c\0\0\x09localhost",
    b"\0\x10\0\5\0\3\2h2",
    b"\0\x2b\0\3\2\3\4",
    b"\1\0\0",
)


def hello(name: str | None, protocols: list[str], version: ssl.TLSVersion) -> bytes:
    """Return the first bytes of a client of the ssl module."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.maximum_version = version
    if protocols:
        context.set_alpn_protocols(protocols)
    out = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), out, server_hostname=name)
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return out.read()


def seeds() -> Sequence[bytes]:
    whole = hello("www.example.org", ["h2", "http/1.1"], ssl.TLSVersion.TLSv1_3)
    old = hello(None, [], ssl.TLSVersion.TLSv1_2)
    body = whole[5:]
    records = b"".join(
        whole[:3] + len(body[at : at + 50]).to_bytes(2) + body[at : at + 50] for at in range(0, len(body), 50)
    )
    return [whole, old, records, whole + b"more", b"GET / HTTP/1.1\r\n\r\n", b"\x16\3\1\0\0"]


def run(data: bytes) -> None:
    def outcome(pieces: list[bytes]) -> ClientHello | str | None:
        reader = ClientHelloReader()
        try:
            for piece in pieces:
                found = reader.feed(piece)
                if found is not None:
                    return found
        except NotClientHello:
            return "none"
        return None

    same_for_all_splits(outcome, data)
