"""Response of an application: start_response, write, and the items of the result (PEP 3333)."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from .records import BLOCK, MAX_CONTENT, STDOUT, Channel, ClientGone, records
from .streams import FileWrapper

_CODE = re.compile(rb"[0-9]{3}(?![0-9])").match
_LENGTH = re.compile(rb"[0-9]{1,18}\Z").match
# usual values, which need no further check
_PLAIN_STATUS = re.compile(r"[0-9]{3} [ -~]*\Z").match
_PLAIN_NAME = re.compile(r"[!-~]+\Z").match
_PLAIN_VALUE = re.compile(r"[\t -~]*\Z").match

BURST = 0.001  # seconds between pieces of output that are sent together
SHORT = 16384  # bytes of output that are copied behind the header of their record

if TYPE_CHECKING:
    ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]


def latin_bytes(value: object) -> bytes:
    """Return native text as bytes."""
    if not isinstance(value, str):
        raise TypeError("expected unicode object, value of type %.200s found" % type(value).__name__)
    try:
        return value.encode("latin-1")
    except UnicodeEncodeError:
        raise ValueError("unicode object contains non latin-1 characters") from None


def is_control(byte: int) -> bool:
    """Return True for a control character (iscntrl)."""
    return byte < 32 or byte == 127


def checked_status(value: object) -> bytes:
    """Return the bytes of a status line; raises TypeError and ValueError."""
    if type(value) is str and _PLAIN_STATUS(value) is not None:
        return value.encode()
    return any_status(value)


def any_status(value: object) -> bytes:
    """Return what `checked_status` does, for every value."""
    line = latin_bytes(value).partition(b"\0")[0]
    if _CODE(line) is None:
        raise ValueError("status code is not a 3 digit integer")
    if line[3:4] != b" ":
        raise ValueError("no space following status code")
    if any(map(is_control, line)):
        raise ValueError("control character present in reason phrase")
    return line


def checked_headers(headers: list[object]) -> list[tuple[bytes, bytes]]:
    """Return pairs of bytes; raises TypeError and ValueError."""
    out: list[tuple[bytes, bytes]] = []
    for header in headers:
        if type(header) is tuple and len(header) == 2:
            name, value = header
            if (
                type(name) is type(value) is str
                and _PLAIN_NAME(name) is not None
                and _PLAIN_VALUE(value) is not None
            ):
                out.append((name.encode(), value.encode()))
                continue
        out.append(checked_header(header))
    return out


def checked_header(header: object) -> tuple[bytes, bytes]:
    """Return the pair of one field, whatever it is."""
    if not isinstance(header, tuple):
        found = type(header).__name__
        raise TypeError("list of tuple values expected for headers, value of type %.200s found" % found)
    if len(header) != 2:
        raise ValueError("tuple of length 2 expected for header, length is %d" % len(header))
    name = latin_bytes(header[0]).partition(b"\0")[0]
    if not name:
        raise ValueError("header name is empty")
    for byte in name:
        if is_control(byte):
            raise ValueError("control character present in header name")
        if byte == 32:
            raise ValueError("space character present in header name")
    value = latin_bytes(header[1]).partition(b"\0")[0]
    if b"\r" in value or b"\n" in value:
        raise ValueError("carriage return/line feed character present in header value")
    return name, value


class WsgiResponse:
    """One response of an application: start_response, write, and the items of the result.

    Attributes:
        length: the announced one. `sent`: bytes that the application has given.
        pending: records that go out with the end of the request.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel: Channel | None = channel
        channel.writer = self
        self._status: bytes | None = None
        self._headers: list[tuple[bytes, bytes]] | None = None
        self.length: int | None = None
        self.pending = b""
        self.sent = 0
        self.is_aborted = False
        self._sent_at = 0.0  # of the last piece

    def start_response(
        self, status: object, headers: object, exc_info: ExcInfo | None = None, /
    ) -> Callable[[bytes], None]:
        """See PEP 3333."""
        if self._channel is None:
            raise RuntimeError("request object has expired")
        if not isinstance(headers, list):
            found = type(headers).__name__
            raise TypeError("start_response() argument 2 must be list, not %s" % found)
        if exc_info is not None and not isinstance(exc_info, tuple):
            raise RuntimeError("exception info must be a tuple")
        if self._status is not None and self._headers is None:
            if exc_info is None:
                raise RuntimeError("headers have already been sent")
            _kind, value, trace = exc_info
            raise value.with_traceback(trace)
        line = checked_status(status)
        self._headers = checked_headers(headers)
        self._status = line
        return self.write

    @property
    def has_started(self) -> bool:
        """Return True if the head was sent."""
        return self._status is not None and self._headers is None

    def write(self, data: object, /) -> None:
        """See PEP 3333."""
        if self._channel is None:
            raise RuntimeError("request object has expired")
        if not isinstance(data, bytes):
            found = type(data).__name__
            raise TypeError("byte string value expected, value of type %.200s found" % found)
        try:
            self.output(data)
        except ClientGone as problem:
            raise OSError("Apache/mod_wsgi %s" % problem) from None

    def head(self) -> bytes:
        """Return the head if it was not sent, b"" otherwise."""
        if self._status is None:
            raise RuntimeError("response has not been started")
        headers, self._headers = self._headers, None
        if headers is None:
            return b""
        lines = [b"Status: " + self._status]
        for name, value in headers:
            if name.lower() == b"content-length":
                if _LENGTH(value) is None:
                    self._headers = headers
                    raise ValueError("invalid content length")
                self.length = int(value)
            lines.append(name + b": " + value)
        lines.append(b"\r\n")
        return b"\r\n".join(lines)

    def limited(self, data: bytes) -> bytes:
        """Return what of *data* does not exceed the announced length."""
        before = self.sent
        self.sent += len(data)
        if self.length is None or self.sent <= self.length:
            return data
        return data[: max(0, self.length - before)]

    def output(self, data: bytes) -> None:
        """Send the head if need be, and *data*; pieces in quick succession go out together."""
        before = self._sent_at
        now = monotonic()
        self._sent_at = now
        head = self.head() if self._headers is not None or self._status is None else b""
        if self.length is not None:
            data = self.limited(data)
        else:
            self.sent += len(data)
        channel = self._channel
        if not data:
            self._keep(head)
        elif head or self.pending or len(data) > SHORT or now - before >= BURST or channel is None:
            self._send(head, data)
        else:
            channel.hold(data, self)

    def output_all(self, items: Iterable[object]) -> Exception | None:
        """Send the items of a list or tuple together; return the error that one of them has caused."""
        pieces: list[bytes] = []
        problem: Exception | None = None
        for item in items:
            if not isinstance(item, bytes):
                problem = bad_item(item)
                break
            if item:
                pieces.append(item)
        if pieces or problem is None:
            head = self.head()
            data = self.limited(pieces[0] if len(pieces) == 1 else b"".join(pieces))
            if len(head) + len(data) <= MAX_CONTENT:
                self._keep(head + data)
            else:
                self._send(head, data)
        return problem

    def output_file(self, wrapper: FileWrapper) -> bool:
        """Send the file of *wrapper*; return False if it has no descriptor of a regular file."""
        try:
            handle = wrapper.filelike.fileno()
            size = os.fstat(handle).st_size
            offset = wrapper.filelike.tell()
            if not os.path.isfile("/proc/self/fd/%d" % handle):
                return False
        except (AttributeError, OSError, ValueError, TypeError):
            return False
        head = self.head()
        left = max(0, size - offset)
        if self.length is None:
            self.length = left
            head = head[:-2] + b"Content-Length: %d\r\n\r\n" % left
        else:
            left = self.length
        self.sent += left
        while left > 0:
            data = os.pread(handle, min(left, BLOCK), offset)
            if not data:
                break
            offset += len(data)
            left -= len(data)
            self._send(head, data)
            head = b""
        if head:
            self._send(head, b"")
        return True

    def _send(self, head: bytes, data: bytes) -> None:
        """Send *head* and *data*; long data is not copied."""
        channel = self._channel
        if channel is not None:
            pending, self.pending = self.pending, b""
            if len(head) + len(data) <= SHORT:
                channel.output(pending + records(STDOUT, head + data), self)
            else:
                channel.send_output(pending + records(STDOUT, head) if head else pending, data, self)

    def _keep(self, data: bytes) -> None:
        """Let *data* go out with the end of the request, or with the next bytes."""
        if data:
            self.pending += records(STDOUT, data)

    def expire(self) -> None:
        """End the use by the application."""
        if self._channel is not None:
            self._channel.writer = None
            self._channel = None


def bad_item(item: object) -> TypeError:
    """Return the error for an item that is no bytes."""
    found = type(item).__name__
    return TypeError("sequence of byte string values expected, value of type %.200s found" % found)
