"""FastCGI 1.0: records of requests and a reader of answers, as mod_proxy_fcgi and mod_authnz_fcgi use them.

One request at a time, with the identifier 1.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

from whimbrel.backends.script_lines import MAX_HEAD, MAX_LINE, no_head, take_head
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.http.client.answer import END_OF_FILE, INVALID, AnswerReader, BackendError, BackendMessage

REQUEST_ID: Final = 1
MAX_CONTENT: Final = 65535  # bytes of a record
MAX_SHOWN_ERROR: Final = 8192  # bytes of standard error in one line of the log (AP_IOBUFSIZE)
LINE_COST: Final = 256  # bytes that a line for the log takes beside its text, at most
_HEADER: Final = struct.Struct(">BBHHBx")
_VERSION: Final = 1
_CR: Final = 0x0D


class RecordType(IntEnum):
    """Types of records."""

    BEGIN_REQUEST = 1
    ABORT_REQUEST = 2
    END_REQUEST = 3
    PARAMS = 4
    STDIN = 5
    STDOUT = 6
    STDERR = 7


class FastcgiRole(IntEnum):
    """Roles of an application."""

    RESPONDER = 1
    AUTHORIZER = 2
    FILTER = 3


_STDOUT: Final = int(RecordType.STDOUT)
_END_REQUEST: Final = int(RecordType.END_REQUEST)


@dataclass(frozen=True, slots=True)
class FastcgiMessages:
    """How a module words errors: pairs of a code and a text.

    Attributes:
        prefix: in front of each text.
        dispatch: the code of the last line; "" for none.
    """

    module: str
    prefix: str
    status: int
    header: tuple[str, str]
    version: tuple[str, str]
    request: tuple[str, str]
    record: tuple[str, str]
    padding: tuple[str, str]
    dispatch: str


PROXY_FCGI: Final = FastcgiMessages(
    module="proxy_fcgi",
    prefix="",
    status=503,
    header=("AH01067", "Failed to read FastCGI header"),
    version=("AH01068", "Got bogus version %d"),
    request=("AH01069", "Got bogus rid %d, expected %d"),
    record=("AH01072", "Got bogus record %d"),
    padding=("AH02537", "Error occurred reading padding"),
    dispatch="AH01075",
)
AUTHNZ_FCGI: Final = FastcgiMessages(
    module="authnz_fcgi",
    prefix="handle_response: ",
    status=500,
    header=("AH02501", "Error occurred before reading entire header"),
    version=("AH02502", "Got bogus FastCGI header version %d"),
    request=("AH02503", "Got bogus FastCGI header request id %d, expected %d"),
    record=("AH02508", "Got bogus FastCGI record type %d"),
    padding=("AH02509", "Error occurred reading padding"),
    dispatch="",
)


LONG: Final = 128  # from this length on, a length takes four bytes
_SHORT: Final = tuple([chr(size) for size in range(LONG)])


# requests
def begin_request(role: FastcgiRole = FastcgiRole.RESPONDER, *, keep: bool = False) -> bytes:
    """Return the record that begins a request; *keep*: the application leaves the connection open."""
    return _record(RecordType.BEGIN_REQUEST, struct.pack(">HB5x", role, keep))


def params(variables: Iterable[tuple[str, str]]) -> tuple[bytes, list[str]]:
    """Return the records with *variables*, the empty one included, and the names of those that are left out
    because they do not fit into a record (AH02536).

    As in httpd, no variable spans two records.
    """
    out: list[bytes] = []
    left_out: list[str] = []
    content: list[str] = []
    size = 0
    for name, value in variables:
        if "\0" in name or "\0" in value:
            name, value = name.partition("\0")[0], value.partition("\0")[0]
        lengths = len(name), len(value)
        head = _SHORT[lengths[0]] if lengths[0] < LONG else _long(lengths[0])
        head += _SHORT[lengths[1]] if lengths[1] < LONG else _long(lengths[1])
        total = len(head) + lengths[0] + lengths[1]
        if total > MAX_CONTENT:
            left_out.append(name)
            continue
        if size + total > MAX_CONTENT:
            out.append(_record(RecordType.PARAMS, to_bytes("".join(content))))
            content.clear()
            size = 0
        content += (head, name, value)
        size += total
    if content:
        out.append(_record(RecordType.PARAMS, to_bytes("".join(content))))
    out.append(_record(RecordType.PARAMS, b""))
    return b"".join(out), left_out


def stdin(data: bytes) -> bytes:
    """Return the records with a part of the request body; b"" for no data: an empty record ends the body."""
    if len(data) <= MAX_CONTENT:
        return _record(RecordType.STDIN, data) if data else b""
    pieces = (data[at : at + MAX_CONTENT] for at in range(0, len(data), MAX_CONTENT))
    return b"".join(_record(RecordType.STDIN, piece) for piece in pieces)


END_STDIN: Final = _HEADER.pack(_VERSION, RecordType.STDIN, REQUEST_ID, 0, 0)
ABORT_REQUEST: Final = _HEADER.pack(_VERSION, RecordType.ABORT_REQUEST, REQUEST_ID, 0, 0)


def _record(kind: RecordType, content: bytes) -> bytes:
    return _HEADER.pack(_VERSION, kind, REQUEST_ID, len(content), 0) + content


def _long(size: int) -> str:
    """Return a length that takes four bytes."""
    return struct.pack(">I", size | 1 << 31).decode("latin-1")


# answers
def end_of_head(data: bytes | bytearray, start: int, stop: int) -> int:
    """Return the index behind the first CR LF CR LF (or LF LF after no CR) of *start* to *stop*, or -1."""
    found = data.find(b"\r\n\r\n", start, stop)
    limit = stop if found < 0 else found
    bare = data.find(b"\n\n", start, limit)
    while bare > 0 and data[bare - 1] == _CR:
        bare = data.find(b"\n\n", bare + 1, limit)
    if bare >= 0:
        return bare + 2
    return found + 4 if found >= 0 else -1


def complete_output(data: bytes) -> bytes | None:
    """Return what the program wrote if *data* is a complete answer of STDOUT and END_REQUEST, else None."""
    at = 0
    last = len(data) - _HEADER.size
    pieces = list[bytes]()
    is_closed = False
    while at <= last:
        version, kind, request, size, padding = _HEADER.unpack_from(data, at)
        if version != _VERSION or request != REQUEST_ID:
            return None
        at += _HEADER.size
        if kind == _END_REQUEST:
            return b"".join(pieces) if at + size + padding == len(data) else None
        if kind != _STDOUT or is_closed:
            return None
        pieces.append(data[at : at + size])
        is_closed = not size
        at += size + padding
    return None


class FastcgiReader(AnswerReader):
    """Reads the answer to one request.  *keep* is that of `begin_request`.

    The body is what the program writes to its standard output after its head.  As in httpd, the head ends at
    CR LF CR LF, or at LF LF.

    Attributes:
        max_line: bytes of a line of the head.
    """

    max_line = MAX_LINE
    __slots__ = (
        "_data",
        "_head",
        "_is_closed",
        "_keep",
        "_kind",
        "_left",
        "_messages",
        "_padding",
        "_stderr",
    )

    def __init__(self, messages: FastcgiMessages = PROXY_FCGI, *, keep: bool = False) -> None:
        super().__init__()
        self._messages = messages
        self._keep = keep
        self._data = b""  # the incomplete header of a record
        self._head: bytearray | None = bytearray()  # standard output before the end of the head
        # of the record that is being read
        self._kind = 0
        self._left = 0
        self._padding = 0
        self._stderr = bytearray()
        self._is_closed = False  # standard output is

    def feed(self, data: bytes) -> None:
        if self.done:
            self._end(self.rest + data)
            return
        if self._data:
            data, self._data = self._data + data, b""
        at = 0
        end = len(data)
        while True:
            if self._left:
                if at == end:
                    return
                piece = data[at : at + self._left]
                at += len(piece)
                self._left -= len(piece)
                self._content(piece)
                if self._left:
                    return
                self._end_content()
            if self._padding:
                skipped = min(self._padding, end - at)
                at += skipped
                self._padding -= skipped
                if self._padding:
                    return
            if self._kind == RecordType.END_REQUEST:
                self._complete(data[at:])
                return
            if end - at < _HEADER.size:
                self._data = data[at:]
                return
            self._begin_record(data, at)
            at += _HEADER.size

    def eof(self, cause: str = "") -> None:
        cause = cause or END_OF_FILE
        if self.done:
            self.reusable = False
            return
        if self._left:
            lines = self._dispatched(cause, "(reading response body)")
        elif self._padding:
            lines = [self._line(self._messages.padding, cause), *self._dispatched(cause)]
        else:
            lines = [self._line(self._messages.header), *self._dispatched(cause)]
        if not self._is_closed and self._kind != RecordType.END_REQUEST:
            raise BackendError(self._messages.status, *lines)
        self.messages += lines  # the program closed its standard output, so the response is complete
        self._complete(b"")
        self.reusable = False

    @property
    def buffered(self) -> int:
        """See AnswerReader; lines that wait for the log count, so that they have the same bound."""
        if not self.errors and not self.messages:
            return self._buffered
        lines = len(self.errors) + len(self.messages)
        return self._buffered + sum(map(len, self.errors)) + LINE_COST * lines

    def _begin_record(self, data: bytes, at: int) -> None:
        version, kind, request, size, padding = _HEADER.unpack_from(data, at)
        if version != _VERSION:
            raise self._refused(self._messages.version, version)
        if request != REQUEST_ID:
            raise self._refused(self._messages.request, request, REQUEST_ID)
        self._kind = kind
        self._left = size
        self._padding = padding
        if kind == RecordType.STDOUT and not size:
            self._is_closed = True
        elif kind not in (RecordType.STDOUT, RecordType.STDERR, RecordType.END_REQUEST):
            self.messages.append(self._line(self._messages.record, values=(kind,)))

    def _content(self, piece: bytes) -> None:
        if self._kind == RecordType.STDERR:
            self._stderr += piece
        elif self._kind == RecordType.STDOUT:
            if self._head is None:
                self._add(piece)
            else:
                self._head_content(self._head, piece)

    def _end_content(self) -> None:
        """The content of a record is complete."""
        if self._stderr:
            text = to_text(bytes(self._stderr))
            self._stderr.clear()
            self.errors += [text[at : at + MAX_SHOWN_ERROR] for at in range(0, len(text), MAX_SHOWN_ERROR)]

    def _head_content(self, head: bytearray, piece: bytes) -> None:
        start = max(0, len(head) - 3)
        head += piece
        is_complete = end_of_head(head, start, len(head)) >= 0
        if is_complete or len(head) > MAX_HEAD:
            self.head = take_head(head, is_complete=is_complete, max_line=self.max_line)
            self._head = None
            self._add(bytes(head))

    def _complete(self, rest: bytes) -> None:
        """The end of the answer: standard output without a head is the body of a 200, all at once."""
        if self.head is None:
            self.head = no_head()
            if self._is_closed:
                self._add(bytes(self._head or b""))
            self._head = None
        self.reusable = self._keep
        self._end(rest)

    # messages
    def _line(self, words: tuple[str, str], cause: str = "", values: tuple[int, ...] = ()) -> BackendMessage:
        code, text = words
        text = self._messages.prefix + (text % values if values else text)
        return BackendMessage("error", code, text, cause, self._messages.module)

    def _dispatched(self, cause: str, detail: str = "") -> list[BackendMessage]:
        code = self._messages.dispatch
        text = f"Error dispatching request to : {detail}"
        return [BackendMessage("error", code, text, cause, self._messages.module)] if code else []

    def _refused(self, words: tuple[str, str], *values: int) -> BackendError:
        line = self._line(words, values=values)
        return BackendError(self._messages.status, line, *self._dispatched(INVALID))
