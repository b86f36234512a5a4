"""AJP 1.3: messages of requests and a reader of answers, as mod_proxy_ajp uses them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import atoi
from whimbrel.http.client.answer import INTERNAL, BackendError, BackendMessage, MessageScope
from whimbrel.http.semantics.headers import Pair

MESSAGE_SIZE: Final = 8192  # of a message with its header (ProxyIOBufferSize may raise it)
HEADER_SIZE: Final = 4
MAX_BODY: Final = MESSAGE_SIZE - 6  # bytes of a request body in one message
FORWARD_REQUEST: Final = 2
OVERFLOW: Final = "(120001)APR does not understand this error code"

_METHODS: Final = {
    "OPTIONS": 1,
    "GET": 2,
    "HEAD": 3,
    "POST": 4,
    "PUT": 5,
    "DELETE": 6,
    "TRACE": 7,
    "PROPFIND": 8,
    "PROPPATCH": 9,
    "MKCOL": 10,
    "COPY": 11,
    "MOVE": 12,
    "LOCK": 13,
    "UNLOCK": 14,
    "REPORT": 16,
    "VERSION-CONTROL": 17,
    "CHECKIN": 18,
    "CHECKOUT": 19,
    "UNCHECKOUT": 20,
    "MKWORKSPACE": 22,
    "UPDATE": 23,
    "LABEL": 24,
    "MERGE": 25,
    "BASELINE-CONTROL": 26,
    "MKACTIVITY": 27,
}
_STORED_METHOD: Final = 0xFF
_FIELDS: Final = {
    name: bytes((0xA0, code))
    for code, name in enumerate(
        (
            "accept",
            "accept-charset",
            "accept-encoding",
            "accept-language",
            "authorization",
            "connection",
            "content-type",
            "content-length",
            "cookie",
            "cookie2",
            "host",
            "pragma",
            "referer",
            "user-agent",
        ),
        1,
    )
}
# codes of attributes
_REMOTE_USER = 3
_AUTH_TYPE = 4
_QUERY = 5
_ROUTE = 6
_CERTIFICATE = 7
_CIPHER = 8
_SESSION = 9
_ATTRIBUTE = 10
_KEY_SIZE = 11
_SECRET = 12
_METHOD = 13
_DONE: Final = 0xFF


@dataclass(slots=True)
class AjpRequest:
    """What a forward request consists of; "" leaves an attribute out.

    Attributes:
        path, query: of the target, without a ``?``; *query* None: none.
        remote_host: the name of the client, None if unknown.
        attributes: further attributes in their order, after those that httpd always sends: values of AJP_
            variables without that prefix.
    """

    method: str
    protocol: str
    path: str
    remote_addr: str
    remote_port: int
    local_addr: str
    server_name: str
    server_port: int
    fields: Iterable[Pair] = ()
    query: str | None = None
    remote_host: str | None = None
    is_tls: bool = False
    secret: str = ""
    user: str | None = None
    auth_type: str | None = None
    route: str = ""
    certificate: str = ""
    cipher: str = ""
    session: str = ""
    key_size: str = ""
    tls_protocol: str = ""
    attributes: Iterable[Pair] = ()


class _AjpOverflow(Exception):
    """A message is full."""


class _MessageWriter:
    """A message that is being written, of at most *size* bytes."""

    __slots__ = ("_size", "data")

    def __init__(self, size: int) -> None:
        self.data = bytearray(b"\x12\x34\0\0")
        self._size = size

    def append(self, data: bytes, function: str) -> None:
        if len(self.data) + len(data) > self._size:
            raise _AjpOverflow(f"ajp_msg_append_{function}(): BufferOverflowException 4 {len(self.data)}")
        self.data += data

    def byte(self, value: int) -> None:
        self.append(bytes((value,)), "uint8")

    def short(self, value: int) -> None:
        self.append(struct.pack(">H", value & 0xFFFF), "uint16")

    def string(self, value: str | None) -> None:
        if value is None:
            self.short(0xFFFF)
            return
        data = to_bytes(value.partition("\0")[0])
        self.append(struct.pack(">H", len(data) & 0xFFFF) + data + b"\0", "cvt_string")

    def done(self) -> bytes:
        self.data[2:4] = struct.pack(">H", len(self.data) - HEADER_SIZE)
        return bytes(self.data)


def cping() -> bytes:
    """Return the message that a back end answers with a CPONG (`ajp_reader.read_cpong`)."""
    return b"\x12\x34\0\1\x0a"


def body_message(data: bytes) -> bytes:
    """Return the message with a part of the request body, of at most `MAX_BODY` bytes; b"" ends the body."""
    return b"\x12\x34" + struct.pack(">HH", len(data) + 2, len(data)) + data


def forward_request(request: AjpRequest, server: str, size: int = MESSAGE_SIZE) -> bytes:
    """Return the message with *request*; raises BackendError if it is longer than *size* bytes.

    *server* is the back end in messages: ``127.0.0.1:8009 (127.0.0.1:8009)``.
    """
    message = _MessageWriter(size)
    step = ("AH00968", "Error appending the message beginning")
    try:
        _begin(message, request)
        for name, value in request.fields:
            code = _FIELDS.get(name.lower())
            step = ("AH00970" if code is None else "AH00969", "Error appending the header name")
            if code is None:
                message.string(name)
            else:
                message.append(code, "uint16")
            step = ("AH00971", "Error appending the header value")
            message.string(value)
        for kind, values, error in _attributes(request):
            step = error
            message.byte(kind)
            for item in values:
                if isinstance(item, int):
                    message.short(item)
                else:
                    message.string(item)
        step = ("AH00982", "Error appending the message end")
        message.byte(_DONE)
    except _AjpOverflow as problem:
        raise _too_large(str(problem), step, server) from None
    return message.done()


def _too_large(overflow: str, step: tuple[str, str], server: str) -> BackendError:
    code, words = step
    is_general = code in ("AH00968", "AH00979")  # errors that httpd reports as APR_EGENERAL
    cause = INTERNAL if is_general else OVERFLOW
    return BackendError(
        503 if is_general else 400,
        ajp_message("AH03229", overflow, scope=MessageScope.SERVER),
        ajp_message(code, f"ajp_marshal_into_msgb: {words}"),
        ajp_message("AH00988", "ajp_send_header: ajp_marshal_into_msgb failed"),
        ajp_message("AH00868", f"request failed to {server}", cause),
    )


def ajp_message(
    code: str, text: str, cause: str = "", *, level: str = "error", scope: MessageScope = MessageScope.REQUEST
) -> BackendMessage:
    """Return a line of mod_proxy_ajp."""
    return BackendMessage(level, code, text, cause, "proxy_ajp", scope)


def _begin(message: _MessageWriter, request: AjpRequest) -> None:
    message.byte(FORWARD_REQUEST)
    message.byte(_METHODS.get(request.method, _STORED_METHOD))
    message.string(request.protocol)
    message.string(request.path)
    message.string(request.remote_addr)
    message.string(request.remote_host)
    message.string(request.server_name)
    message.short(request.server_port)
    message.byte(request.is_tls)
    request.fields = list(request.fields)
    message.short(len(request.fields))


_Attribute = tuple[int, tuple[str | int, ...], tuple[str, str]]  # code, values, error


def _attributes(request: AjpRequest) -> Iterable[_Attribute]:
    """Yield the attributes in httpd's order."""
    if request.secret:
        yield _SECRET, (request.secret,), ("AH03228", "Error appending secret")
    if request.user is not None:
        yield _REMOTE_USER, (request.user,), ("AH00972", "Error appending the remote user")
    if request.auth_type is not None:
        yield _AUTH_TYPE, (request.auth_type,), ("AH00973", "Error appending the auth type")
    if request.query is not None:
        yield _QUERY, (request.query,), ("AH00974", "Error appending the query string")
    if request.route:
        yield _ROUTE, (request.route,), ("AH00975", "Error appending the jvm route")
    if request.is_tls:
        yield from _tls_attributes(request)
    if request.method not in _METHODS:
        words = f"Error appending the method '{request.method}' as request attribute"
        yield _METHOD, (request.method,), ("AH02438", words)
    pairs = [("AJP_SSL_PROTOCOL", request.tls_protocol, "AH02830")] if request.tls_protocol else []
    pairs.append(("AJP_REMOTE_PORT", str(request.remote_port), "AH00980"))
    pairs.append(("AJP_LOCAL_ADDR", request.local_addr, "AH02646"))
    pairs += [(name, value, "AH00981") for name, value in request.attributes]
    for name, value, code in pairs:
        yield _ATTRIBUTE, (name, value), (code, f"Error appending attribute {name}={value}")


def _tls_attributes(request: AjpRequest) -> Iterable[_Attribute]:
    if request.certificate:
        yield _CERTIFICATE, (request.certificate,), ("AH00976", "Error appending the SSL certificates")
    if request.cipher:
        yield _CIPHER, (request.cipher,), ("AH00977", "Error appending the SSL ciphers")
    if request.session:
        yield _SESSION, (request.session,), ("AH00978", "Error appending the SSL session")
    if request.key_size:
        yield _KEY_SIZE, (atoi(request.key_size),), ("AH00979", "Error appending the SSL key size")
