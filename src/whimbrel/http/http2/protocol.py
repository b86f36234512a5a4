"""HTTP/2 without sockets and frames: field blocks become a `Head`, response heads become fields.

Frames are in connection.py, header compression is in hpack.py.  Field blocks are validated as nghttp2 does
for httpd; limits are those of HTTP/1.  RFC 9113, 8; manual: mod/mod_http2.html, core.html (LimitRequestLine,
LimitRequestFields, LimitRequestFieldSize).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import decimal, upper
from whimbrel.http.http1.response import invalid_field
from whimbrel.http.semantics.headers import Headers, Pair
from whimbrel.http.syntax.head import Head, HeadError, head_from_parts
from whimbrel.http.syntax.line_reader import HeadLimits, LogMessage, ParserOptions

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
VERSION: Final = (2, 0)
MAX_KNOWN_HEAD: Final = 2048  # bytes of a response head whose fields are cached
MAX_KEY: Final = 8 * 1024  # bytes of a key of the response cache
MAX_FAILED: Final = 100  # fields beyond a limit; with more there is no response but a reset
MORE_FIELDS: Final = 100  # fields beyond LimitRequestFields from which on there is no response but a reset

RawField = tuple[bytes, bytes]

_NAME = compile(rb"[-!#$%&'*+.^_`|~0-9a-z]+")
_VALUE = compile(rb"[\t -~\x80-\xff]*")
_PSEUDO = {
    b":method": compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+"),
    b":scheme": compile(rb"[A-Za-z][-+.0-9A-Za-z]*"),
    b":authority": compile(rb"[-._~!$&'()*+,;=:\[\]@%0-9A-Za-z]+"),
    b":path": compile(rb"/[!-~\x80-\xff]*|\*"),
}
_ALL_PSEUDO = _PSEUDO.keys()
_SETTINGS: Final = b"http2-settings"
_DIGITS: Final = re.compile(rb"[0-9]{1,18}")
_FORBIDDEN = frozenset((b"connection", b"keep-alive", b"proxy-connection", b"transfer-encoding", b"upgrade"))
_IN_LINE = frozenset((b":method", b":path"))  # checked against LimitRequestLine
# fields that `read_request` decides about
_READ_ONLY = b"|".join(sorted((*_FORBIDDEN, b"te", b"host", b"content-length", _SETTINGS)))
_WELL_FORMED = compile(rb"(?:(?!(?:%b):)[-!#$%%&'*+.^_`|~0-9a-z]++: [\t -~\x80-\xff]*+\r\n)*" % _READ_ONLY)
_WORDS = compile(
    rb"(?!CONNECT )[-!#$%&'*+.^_`|~0-9A-Za-z]+ https? /[!-~\x80-\xff]* [-._~!$&'()*+,;=:\[\]@%0-9A-Za-z]+"
)
_NOT_SENT = frozenset((b"connection", b"keep-alive", b"transfer-encoding", b"upgrade"))
ONE_HOP = frozenset(
    ("connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade", "http2-settings")
)


class ErrorCode(IntEnum):
    """Why a stream or a connection is ended (RFC 9113, 7)."""

    NO_ERROR = 0
    PROTOCOL_ERROR = 1
    INTERNAL_ERROR = 2
    FLOW_CONTROL_ERROR = 3
    STREAM_CLOSED = 5
    FRAME_SIZE_ERROR = 6
    REFUSED_STREAM = 7
    CANCEL = 8
    COMPRESSION_ERROR = 9
    ENHANCE_YOUR_CALM = 11
    INADEQUATE_SECURITY = 12
    HTTP_1_1_REQUIRED = 13


class MalformedRequest(Exception):
    """A block of fields without response: reset with *code*; *reasons* are for the error log."""

    def __init__(self, code: ErrorCode, reasons: tuple[LogMessage, ...] = ()) -> None:
        super().__init__(code)
        self.code = code
        self.reasons = reasons


class HeadTooLong(Exception):
    """A response head longer than H2MaxHeaderBlockLen: the stream is reset."""


class ConnectionFault(Exception):
    """A violation of the protocol that ends the connection with *code*."""

    def __init__(self, code: ErrorCode) -> None:
        super().__init__(code)
        self.code = code


@dataclass(slots=True)
class _Block:
    """The fields of a request, sorted: *entries* by lower-case name, values of one name joined; *pseudo* has
    Host, too, as received.

    Attributes:
        count, seen: fields that LimitRequestFields counts; all fields.
        failed: fields beyond a limit.
        status, reasons: of the response, if a limit is exceeded; the line for the error log.
    """

    pseudo: dict[bytes, bytes] = field(default_factory=dict)
    entries: dict[str, tuple[str, str]] = field(default_factory=dict)
    count: int = 0
    seen: int = 0
    failed: int = 0
    status: int = 0
    reasons: tuple[LogMessage, ...] = ()

    def refuse(self, status: int, code: str, text: str) -> None:
        """Let *status* be the response; httpd logs the first reason of a request only."""
        self.status = status
        self.reasons = self.reasons or (LogMessage("info", code, text, module="http2"),)


def raw_head(fields: Sequence[RawField], push: bool) -> bytes:
    """Return the key of a request in the response cache, b"" for a request that only `read_request` can
    judge.

    `read_request` accepts every list of fields that has a key, unless it exceeds a limit, which the cache
    checks.  The key begins with a NUL, as no head of HTTP/1 does.
    """
    pseudo = dict(fields[:4])
    if pseudo.keys() != _ALL_PSEUDO:
        return b""
    lines = b"".join([b"%b: %b\r\n" % pair for pair in fields[4:]])
    words = b" ".join((pseudo[b":method"], pseudo[b":scheme"], pseudo[b":path"], pseudo[b":authority"]))
    if len(lines) > MAX_KEY or lines.count(b"\n") != len(fields) - 4:
        return b""
    if _WELL_FORMED.fullmatch(lines) is None or _WORDS.fullmatch(words) is None:
        return b""
    return b"\0%d %b HTTP/2.0\r\nhost: %b\r\n%b\r\n" % (push, words, pseudo[b":authority"], lines)


def read_request(
    fields: Iterable[RawField],
    limits: HeadLimits,
    rules: ParserOptions,
    *,
    raw: bytes = b"",
    ended: bool = True,
) -> Head:
    """Return the head for a field block; *ended*: no body follows.  Raise MalformedRequest.

    Too many or too long fields get 431, and a path that is too long gets 414, as in httpd, which has no
    response to a method that is too long.
    """
    block = _sorted(fields, limits)
    pseudo = block.pseudo
    entries = block.entries
    method, target = _target(pseudo, entries, rules)
    if len(method) > limits.line or block.failed > MAX_FAILED:
        raise MalformedRequest(ErrorCode.INTERNAL_ERROR, block.reasons)
    if b":authority" in pseudo:
        entries["host"] = ("Host", pseudo[b":authority"].decode("latin-1"))
    if not ended and "content-length" not in entries:
        entries["transfer-encoding"] = ("Transfer-Encoding", "chunked")
    elif ended and "content-type" in entries and "content-length" not in entries:
        entries["content-length"] = ("Content-Length", "0")
    headers = Headers.from_unique(entries)
    if len(pseudo.get(b":path", b"")) > limits.line:
        error = HeadError(block.status, block.reasons, additional=400)
        return refused_request(method, "(null)", headers, error, raw)
    if block.status:
        return refused_request(method, target, headers, HeadError(block.status, block.reasons), raw)
    return head_from_parts(raw, f"{method} {target} HTTP/2.0", headers, rules)


def _sorted(fields: Iterable[RawField], limits: HeadLimits) -> _Block:
    block = _Block()
    for name, value in fields:
        if name[:1] == b":":
            pattern = _PSEUDO.get(name)
            if pattern is None or name in block.pseudo or block.seen or pattern.fullmatch(value) is None:
                raise MalformedRequest(ErrorCode.PROTOCOL_ERROR)
            block.pseudo[name] = value
            if name in _IN_LINE and len(value) > limits.line:
                text = f"Request pseudo header exceeds LimitRequestFieldSize: {name.decode()}"
                block.refuse(414, "AH10178", text)
        else:
            _add(block, name, value, limits)
    return block


def _add(block: _Block, name: bytes, value: bytes, limits: HeadLimits) -> None:
    if not is_field(name, value):
        raise MalformedRequest(ErrorCode.PROTOCOL_ERROR)
    block.seen += 1
    if name == b"host":
        if name in block.pseudo or _PSEUDO[b":authority"].fullmatch(value) is None:
            raise MalformedRequest(ErrorCode.PROTOCOL_ERROR)
        block.pseudo[name] = value
    low = name.decode("ascii")
    known = block.entries.get(name.decode("ascii"))
    text = value.strip(b" \t").decode("latin-1")
    if (name == b"te" and text.lower() != "trailers") or (
        name == b"content-length" and (known or not re.fullmatch(r"[0-9]{1,18}", text, re.ASCII))
    ):
        raise MalformedRequest(ErrorCode.PROTOCOL_ERROR)
    if name == _SETTINGS:
        return  # of an HTTP/1 connection; mod_http2 passes it on to nothing
    if not limits.fields or block.count <= limits.fields:
        if len(low) + 2 + len(text) + (len(known[1]) + 2 if known is not None else 0) > limits.field_size:
            block.failed += 1
            text = f"Request header exceeds LimitRequestFieldSize({limits.field_size}): {low}"
            block.refuse(431, "AH10180", text)
            return
    block.count += 1
    if limits.fields and block.count > limits.fields:
        block.failed += 1
        text = f"Number of request headers exceeds LimitRequestFields({limits.fields})"
        block.refuse(431, "AH10181", text)
        if block.count > limits.fields + MORE_FIELDS:
            raise MalformedRequest(ErrorCode.ENHANCE_YOUR_CALM, block.reasons)
        return
    if known is not None:
        text = f"{known[1]}{'; ' if low == 'cookie' else ', '}{text}"
    if low != "host" or b":authority" not in block.pseudo:
        block.entries[low] = (_spelled(low), text)


@lru_cache(maxsize=256)
def _spelled(name: str) -> str:
    """Return a field's name as programs know it: ``user-agent`` becomes ``User-Agent``."""
    return "-".join([upper(word[:1]) + word[1:] for word in name.split("-")])


def _target(
    pseudo: dict[bytes, bytes], entries: dict[str, tuple[str, str]], rules: ParserOptions
) -> tuple[str, str]:
    """Method and target as a request line has them."""
    method = pseudo.get(b":method", b"").decode("latin-1")
    scheme = pseudo.get(b":scheme")
    path = pseudo.get(b":path")
    authority = pseudo.get(b":authority")
    wrong = (
        (scheme is not None or path is not None or authority is None)
        if method == "CONNECT"
        else (
            not method
            or scheme is None
            or path is None
            or (authority is None and "host" not in entries)
            or (path == b"*" and method != "OPTIONS")
        )
    )
    if wrong:
        raise MalformedRequest(ErrorCode.PROTOCOL_ERROR)
    if method == "CONNECT":
        return method, (authority or b"").decode("latin-1")
    target = (path or b"").decode("latin-1")
    spoken = (scheme or b"").decode("ascii")
    if spoken.lower() not in ("http", "https") and authority is not None:
        target = f"{spoken}://{authority.decode('latin-1')}{target}"
    return method, target


def refused_request(method: str, target: str, headers: Headers, error: HeadError, raw: bytes = b"") -> Head:
    """Return the head of a request that gets *error* as its response."""
    uri, _, query = target.partition("?")
    return Head(
        raw,
        0,
        method,
        target,
        "HTTP/2.0",
        VERSION,
        headers,
        f"{method} {target} HTTP/2.0",
        uri,
        query or None,
        error=error,
    )


def promised_request(
    method: str, path: str, headers: Headers, limits: HeadLimits, rules: ParserOptions
) -> Head:
    """Return the head of a request that the server makes up for a push; *headers* with every name once."""
    if len(path) > limits.line:
        return refused_request(method, "(null)", headers, HeadError(414, additional=400))
    if not path.startswith("/"):
        return refused_request(method, path, headers, HeadError(400, additional=400))
    return head_from_parts(b"", f"{method} {path} HTTP/2.0", headers, rules)


def _length(value: bytes) -> int:
    """Return a length as nghttp2 reads it, -1 for a value that is none."""
    return decimal(value.decode("ascii")) if _DIGITS.fullmatch(value) is not None else -1


def check_trailers(fields: Iterable[RawField], received: int, *, is_announced: bool) -> None:
    """Raise MalformedRequest where fields after a body of *received* bytes are not what they may be.

    A length among them is the true one; *is_announced*: the head had one already, which nghttp2 refuses.
    """
    for name, value in fields:
        if not is_field(name, value) or (name == b"te" and value.lower() != b"trailers"):
            raise MalformedRequest(ErrorCode.PROTOCOL_ERROR)
        if name == b"content-length":
            if is_announced or _length(value) != received:
                raise MalformedRequest(ErrorCode.PROTOCOL_ERROR)
            is_announced = True


def is_field(name: bytes, value: bytes) -> bool:
    """Return True if *name* and *value* are well-formed, and not those of a connection-specific field."""
    return (
        _NAME.fullmatch(name) is not None and _VALUE.fullmatch(value) is not None and name not in _FORBIDDEN
    )


def upgraded(head: Head, rules: ParserOptions) -> Head:
    """Return the request of stream 1 after HTTP/1.1, without the fields for the connection."""
    headers = Headers((name, value) for name, value in head.headers.items() if name.lower() not in ONE_HOP)
    return head_from_parts(b"", f"{head.method} {head.target} HTTP/2.0", headers, rules)


def client_settings(value: str) -> bytes | None:
    """Return the payload of a SETTINGS frame from HTTP2-Settings, None where it cannot be one; bytes that are
    no base64 end it, as httpd reads it.
    """
    digits = re.match(r"[-_A-Za-z0-9]*", value, re.ASCII)
    text = digits[0] if digits is not None else ""
    if len(text) % 4 == 1:
        return None
    payload = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    return payload if len(payload) % 6 == 0 else None


def interim_fields(status: int, fields: Iterable[Pair]) -> list[RawField]:
    """Return the fields of an interim response, without those that are malformed or connection-specific.

    Values of one name are joined.
    """
    known: dict[bytes, bytes] = {b":status": b"%d" % status}
    for pair in fields:
        name = to_bytes(pair[0].lower())
        value = to_bytes(pair[1])
        if invalid_field((pair,)) is None and name not in _NOT_SENT:
            known[name] = b"%b, %b" % (known[name], value) if name in known else value
    return [*known.items()]


def answer_fields(before: bytes, date: bytes, after: bytes) -> Sequence[RawField]:
    """Return a response's fields around Date, as httpd orders them, without those of the connection."""
    known = len(before) + len(after) <= MAX_KNOWN_HEAD
    return (_known_fields if known else _fields_of)(before, date, after)


def _fields_of(before: bytes, date: bytes, after: bytes) -> Sequence[RawField]:
    out = [(b":status", before[9:12])]
    last = [(b"date", date)]
    for line in after.split(b"\r\n"):
        name, colon, value = line.partition(b":")
        low = name.lower()
        if colon and low not in _NOT_SENT:
            (last if low == b"server" else out).append((low, value.strip(b" \t")))
    return (*out, *last)


_known_fields = lru_cache(maxsize=256)(_fields_of)


def goaway(last_stream: int, code: int, text: bytes = b"") -> bytes:
    """A GOAWAY frame."""
    return (8 + len(text)).to_bytes(3) + b"\x07\0\0\0\0\0" + last_stream.to_bytes(4) + code.to_bytes(4) + text
