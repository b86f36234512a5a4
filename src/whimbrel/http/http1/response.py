"""Writing responses: heads as bytes, chunks, and validation of fields."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.http.semantics.headers import Pair
from whimbrel.http.semantics.status import status_line

LAST_CHUNK: Final = b"0\r\n\r\n"
_NAME = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_BAD_VALUE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_LOOSE_NAME = re.compile(r"[!-~\x80-\xff]+")


def head_bytes(status_line: str, pairs: Iterable[Pair], *, protocol: str = "HTTP/1.1") -> bytes:
    """Return the head of a response: *status_line* is ``200 OK``; fields in order, an empty line."""
    lines = "".join([f"{name}: {value}\r\n" for name, value in pairs])
    return to_bytes(f"{protocol} {status_line}\r\n{lines}\r\n")


def is_status_line(line: str, status: int) -> bool:
    """Return True if *line* is a status line of *status*, without control characters that forge fields."""
    return line[:3] == f"{status:03}" and line[3:4] in ("", " ") and _BAD_VALUE.search(line) is None


def interim_bytes(status: int, fields: Iterable[Pair] = (), reason: str | None = None) -> bytes:
    """Return an interim response (RFC 9110, 15.2) without the fields that are malformed; *reason* is its
    reason phrase; one that forges fields and None stand for httpd's.
    """
    line = f"{status} {reason}"
    if reason is None or not is_status_line(line, status):
        line = status_line(status)
    return head_bytes(line, [pair for pair in fields if invalid_field((pair,)) is None])


def chunk(data: bytes) -> bytes:
    """Return one chunk of a chunked response; b"" for no data, as an empty chunk would end the body."""
    return b"%x\r\n%b\r\n" % (len(data), data) if data else b""


def chunked(pieces: Iterable[bytes]) -> Iterable[bytes]:
    """Return the pieces of a body framed as chunks, the last chunk included."""
    for piece in pieces:
        if piece:
            yield chunk(piece)
    yield LAST_CHUNK


def invalid_field(pairs: Iterable[Pair], *, strict: bool = True) -> tuple[str, str, str] | None:
    """Return the first field that must not be sent, as (log code, text, its name), else None; the response
    becomes a 500.

    Names are tokens (RFC 9110, 5.1); values have no control characters but tabs. *strict* False
    (HttpProtocolOptions Unsafe) admits other punctuation in names.
    """
    pattern = _NAME if strict else _LOOSE_NAME
    for name, value in pairs:
        if not name:
            return "AH02428", "Empty response header name, aborting request", name
        if pattern.fullmatch(name) is None:
            return (
                "AH02429",
                f"Response header name '{name}' contains invalid characters, aborting request",
                name,
            )
        if _BAD_VALUE.search(value):
            return (
                "AH02430",
                f"Response header '{name}' value of '{value}' contains invalid characters, aborting request",
                name,
            )
    return None
