"""Reader of the messages of an AJP 1.3 back end, as mod_proxy_ajp reads them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final, TypeVar

from whimbrel.backends.ajp import HEADER_SIZE, MAX_BODY, MESSAGE_SIZE, OVERFLOW, ajp_message
from whimbrel.base.latin1 import to_text
from whimbrel.http.client.answer import (
    END_OF_FILE,
    INTERNAL,
    AnswerReader,
    BackendError,
    BackendMessage,
    MessageScope,
    ResponseHead,
)
from whimbrel.http.semantics.headers import Headers

SEND_BODY_CHUNK: Final = 3
SEND_HEADERS: Final = 4
END_RESPONSE: Final = 5
GET_BODY_CHUNK: Final = 6
CPONG: Final = 9
MAX_EARLY: Final = 64 * 1024  # bytes of a body before its head
NO_HEADER: Final = "(120006)APR does not understand this error code"
BAD_HEADER: Final = "(120007)APR does not understand this error code"
NO_BODY: Final = "(120008)APR does not understand this error code"
_SIGNATURES: Final = (b"AB", b"\x12\x34")
_NAMES: Final = (
    "Content-Type",
    "Content-Language",
    "Content-Length",
    "Date",
    "Last-Modified",
    "Location",
    "Set-Cookie",
    "Set-Cookie2",
    "Servlet-Engine",
    "Status",
    "WWW-Authenticate",
)


class _AjpMalformed(Exception):
    """A message that cannot be read; *lines* for the log, and the errno of the lines after them."""

    def __init__(self, cause: str, *lines: BackendMessage) -> None:
        super().__init__(cause)
        self.cause = cause
        self.lines = lines


class _MessageReader:
    """A complete message, its header included, and how far it was read."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = HEADER_SIZE

    def _overflow(self, function: str) -> _AjpMalformed:
        words = f"ajp_msg_{function}(): BufferOverflowException {self._at} {len(self._data)}"
        return _AjpMalformed(OVERFLOW, ajp_message("AH03229", words, scope=MessageScope.SERVER))

    def byte(self, function: str = "get_uint8") -> int:
        if self._at >= len(self._data):
            raise self._overflow(function)
        self._at += 1
        return self._data[self._at - 1]

    def short(self, function: str = "get_uint16") -> int:
        if self._at + 1 >= len(self._data):
            raise self._overflow(function)
        self._at += 2
        return (self._data[self._at - 2] << 8) + self._data[self._at - 1]

    def string(self) -> str:
        before: tuple[BackendMessage, ...] = ()
        try:
            end = self.short() + self._at
        except _AjpMalformed as problem:
            end = len(self._data)
            before = problem.lines
        if end >= len(self._data) or self._data[end]:
            raise _AjpMalformed(OVERFLOW, *before, *self._overflow("get_string").lines)
        value = self._data[self._at : end]
        self._at = end + 1
        return to_text(value.partition(b"\0")[0])

    def name(self) -> str:
        """Return the name of a field, which may be coded."""
        code = self.short("peek_uint16")
        if code & 0xFF00 != 0xA000:
            self._at -= 2
            return _with(self.string, "AH00985", "ajp_unmarshal_response: Null header name")
        if not 0 < code & 0xFF <= len(_NAMES):
            words = f"ajp_unmarshal_response: No such sc ({code:08x})"
            raise _AjpMalformed(BAD_HEADER, ajp_message("AH00984", words))
        return _NAMES[(code & 0xFF) - 1]

    def chunk(self) -> bytes:
        """Return the data of a body chunk."""
        size = self.short()
        expected = len(self._data) - HEADER_SIZE - 4
        if expected < 0:
            raise _AjpMalformed(BAD_HEADER, ajp_message("AH10546", "ajp_parse_data: Message too small"))
        if size != expected:
            words = f"Wrong chunk length. Length of chunk is {size}, expected length is {expected}."
            raise _AjpMalformed(BAD_HEADER, ajp_message("AH00998", f"ajp_parse_data: {words}"))
        return self._data[self._at : self._at + size]

    def head(self) -> ResponseHead:
        """Return the head of a response."""
        status = _with(self.short, "AH00983", "ajp_unmarshal_response: Null status")
        lines: tuple[BackendMessage, ...] = ()
        reason: str | None = None
        try:
            reason = self.string()
        except _AjpMalformed as problem:
            lines = problem.lines
        fields = Headers()
        try:
            for _ in range(_with(self.short, "AH10405", "ajp_unmarshal_response: Bad number of headers")):
                name = self.name()
                fields.add(name, _with(self.string, "AH00986", "ajp_unmarshal_response: Null header value"))
        except _AjpMalformed as problem:
            raise _AjpMalformed(problem.cause, *lines, *problem.lines) from None
        return ResponseHead((1, 1), status, reason, fields)


_Value = TypeVar("_Value")


def _with(read: Callable[[], _Value], code: str, words: str) -> _Value:
    """Return the value that *read* returns; its error gets one line more."""
    try:
        return read()
    except _AjpMalformed as problem:
        raise _AjpMalformed(problem.cause, *problem.lines, ajp_message(code, words)) from None


class AjpReader(AnswerReader):
    """Reads the answer to one request; *server* is the back end in messages, *size* the longest message.

    Attributes:
        flushed: the back end wants the client to get what there is so far.
    """

    __slots__ = ("_data", "_has_read", "_server", "_size", "flushed")

    def __init__(self, server: str = "", size: int = MESSAGE_SIZE) -> None:
        super().__init__()
        self._data = bytearray()  # an incomplete message
        self._server = server
        self._size = size
        self._has_read = False  # a message was
        self.flushed = False

    def feed(self, data: bytes) -> None:
        if self.done:
            self._end(self.rest + data)
            return
        self._data += data
        at = 0
        while not self.done and (end := self._message_end(at)):
            message = bytes(memoryview(self._data)[at:end])
            at = end
            try:
                self._read(_MessageReader(message))
            except _AjpMalformed as problem:
                raise self._failed(problem.cause, *problem.lines) from None
            self._has_read = True
        del self._data[:at]
        if self.done:
            self._end(bytes(self._data))
            self._data.clear()

    def eof(self, cause: str = "") -> None:
        cause = cause or END_OF_FILE
        if self.done:
            self.reusable = False
        elif len(self._data) < HEADER_SIZE:
            raise self._unread(NO_HEADER, _no_header(cause))
        else:
            words = "ajp_ilink_receive() error while receiving message body of length 4"
            raise self._unread(NO_BODY, ajp_message("AH01032", words, cause, scope=MessageScope.SERVER))

    def _message_end(self, at: int) -> int:
        """Return the end of the message at *at* if it is complete, else 0."""
        data = self._data
        if len(data) - at < HEADER_SIZE:
            return 0
        problem = _header_fault(bytes(memoryview(data)[at : at + HEADER_SIZE]), self._size)
        if problem is not None:
            raise self._unread(BAD_HEADER, *problem)
        (size,) = struct.unpack_from(">H", data, at + 2)
        end: int = at + HEADER_SIZE + size
        if not size:
            words = "ajp_msg_peek_uint8(): BufferOverflowException 4 4"
            line = ajp_message("AH03229", words, scope=MessageScope.SERVER)
            raise self._unread(OVERFLOW, line, read="AH00993", words="ajp_msg_peek_uint8 failed")
        return end if end <= len(data) else 0

    def _read(self, message: _MessageReader) -> None:
        kind = message.byte()
        if kind == SEND_BODY_CHUNK:
            piece = message.chunk()
            self._add(piece)
            if not piece and self.head is not None:
                self.flushed = True
            elif not piece:
                words = "Ignoring flush message received before headers"
                self.messages.append(ajp_message("AH00886", words, level="debug"))
            elif self.head is None and self._buffered > MAX_EARLY:
                raise _AjpMalformed("")
        elif kind == SEND_HEADERS:
            if self.head is not None:
                raise _AjpMalformed("", ajp_message("AH00884", "Backend sent headers twice.", level="debug"))
            self.head = message.head()
        elif kind == GET_BODY_CHUNK:
            self.wanted = min(self._size - MESSAGE_SIZE + MAX_BODY, 0xFFFF)
        elif kind == END_RESPONSE:
            self._end_response(message)
        else:
            raise _AjpMalformed("")

    def _end_response(self, message: _MessageReader) -> None:
        """The response is complete, even if the flag for the connection is missing."""
        if self.head is None:
            self.head = ResponseHead((1, 1), 200, None, Headers())
        self.done = True
        try:
            self.reusable = bool(message.byte())
        except _AjpMalformed as problem:
            self.messages += self._failed(problem.cause, *problem.lines).reasons

    def _failed(self, cause: str, *lines: BackendMessage) -> BackendError:
        """A message was read, but it is of no use."""
        words = "Processing of request failed backend: 1, client: 0"
        return BackendError(
            500,
            *lines,
            ajp_message("AH00890", words, level="debug"),
            ajp_message("AH00893", f"dialog to {self._server} failed", cause),
        )

    def _unread(
        self,
        cause: str,
        *lines: BackendMessage,
        read: str = "AH00992",
        words: str = "ajp_ilink_receive failed",
    ) -> BackendError:
        """No message could be read."""
        lines = (*lines, ajp_message(read, f"ajp_read_header: {words}"))
        if self._has_read:
            line = ajp_message("AH00889", "ajp_read_header failed", cause, level="debug")
            return self._failed(cause, *lines, line)
        line = ajp_message("AH00878", f"read response failed from {self._server}", cause)
        return BackendError(500, *lines, line)


def _no_header(cause: str) -> BackendMessage:
    return ajp_message(
        "AH01030", "ajp_ilink_receive() can't receive header", cause, scope=MessageScope.SERVER
    )


def _header_fault(header: bytes, size: int) -> tuple[BackendMessage, ...] | None:
    """Return the lines for a header of a message that is malformed or of one longer than *size*."""
    (length,) = struct.unpack_from(">H", header, 2)
    if header[:2] not in _SIGNATURES:
        code = "AH01080"
        words = f"ajp_msg_check_header() got bad signature {header[:2].hex()}"
    elif length > size - HEADER_SIZE:
        words = f"ajp_msg_check_header() incoming message is too big {length}, max is {size - HEADER_SIZE}"
        code = "AH01081"
    else:
        return None
    bad = ajp_message("AH01031", "ajp_ilink_receive() received bad header", scope=MessageScope.SERVER)
    return ajp_message(code, words, scope=MessageScope.SERVER), bad


def read_cpong(data: bytes, server: str, *, ended: bool = False) -> int:
    """Return the size of the CPONG at the front of *data*, 0 if more bytes are needed.

    Raises BackendError for anything else, or if no more will come (*ended*).
    """
    lines: tuple[BackendMessage, ...]
    if len(data) < HEADER_SIZE + 1:
        if not ended:
            return 0
        lines = (_no_header(END_OF_FILE), _cpong("AH01012", "ajp_ilink_receive failed"))
        cause = NO_HEADER
    else:
        fault = _header_fault(data[:HEADER_SIZE], MESSAGE_SIZE)
        if fault is None and data[HEADER_SIZE] == CPONG:
            return HEADER_SIZE + 1
        if fault is not None:
            lines = (*fault, _cpong("AH01012", "ajp_ilink_receive failed"))
            cause = BAD_HEADER
        else:
            lines = (_cpong("AH01014", f"awaited CPONG, received {data[HEADER_SIZE]} "),)
            cause = INTERNAL
    raise BackendError(503, *lines, ajp_message("AH00897", f"cping/cpong failed to {server}", cause))


def _cpong(code: str, words: str) -> BackendMessage:
    return ajp_message(code, f"ajp_handle_cping_cpong: {words}")
