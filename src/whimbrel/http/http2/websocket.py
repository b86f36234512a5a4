"""WebSocket over HTTP/2: extended CONNECT becomes the upgrade request of HTTP/1.1, 101 becomes 200.

RFC 8441; RFC 6455, 4.2; manual: mod/mod_http2.html (H2WebSockets).
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from typing import Final

from whimbrel.http.http2.protocol import (
    ErrorCode,
    MalformedRequest,
    RawField,
    interim_fields,
    read_request,
    refused_request,
)
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.head import Head, HeadError
from whimbrel.http.syntax.line_reader import HeadLimits, ParserOptions

PROTOCOL: Final = b":protocol"
_PSEUDO: Final = (b":scheme", b":path", b":authority")
_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
KEY: Final = "Sec-WebSocket-Key"
ACCEPT: Final = "Sec-WebSocket-Accept"
_UPGRADE_FIELDS: Final = frozenset(("connection", "upgrade", "sec-websocket-accept"))


def is_extended_connect(fields: Sequence[RawField]) -> bool:
    """Return True if *fields* are those of a request with a protocol."""
    return any(name == PROTOCOL for name, _ in fields)


def read_extended(fields: Sequence[RawField], limits: HeadLimits, rules: ParserOptions) -> Head:
    """Return the head for the fields of an extended CONNECT: that of a GET request for WebSocket with the
    fields that httpd adds, one refused with 501 for every other protocol. Raise MalformedRequest.
    """
    pseudo = dict([field for field in fields if field[0][:1] == b":"])
    if pseudo.get(b":method") != b"CONNECT" or not all(pseudo.get(name) for name in _PSEUDO):
        raise MalformedRequest(ErrorCode.PROTOCOL_ERROR)
    if not pseudo[PROTOCOL] or any(name == b"content-length" for name, _ in fields):
        raise MalformedRequest(ErrorCode.PROTOCOL_ERROR)
    rest = [field for field in fields if field[0] not in (PROTOCOL, b":method")]
    head = read_request([(b":method", b"GET"), *rest], limits, rules)
    if pseudo[PROTOCOL] != b"websocket":
        return refused_request("CONNECT", head.target, head.headers, HeadError(501, additional=400))
    key = base64.b64encode(os.urandom(16)).decode("ascii")
    head.headers.set("Upgrade", "websocket")
    head.headers.set("Connection", "Upgrade")
    head.headers.set(KEY, key)
    head.headers.set("Transfer-Encoding", "chunked")  # of a body that is empty: no handler reads the tunnel
    return head


def accept_value(key: str) -> str:
    """Return the value of Sec-WebSocket-Accept for *key* (RFC 6455, 4.2.2)."""
    digest = hashlib.sha1(key.encode("latin-1") + _GUID, usedforsecurity=False).digest()
    return base64.b64encode(digest).decode("ascii")


def tunnel_fields(fields: Headers) -> list[RawField]:
    """Return the fields of the 200 response that begins a tunnel."""
    return interim_fields(200, [pair for pair in fields.items() if pair[0].lower() not in _UPGRADE_FIELDS])
