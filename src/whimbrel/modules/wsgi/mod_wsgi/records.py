"""FastCGI as worker and application speak it: the variables as one text, and record types of its own.

The other side is mod_wsgi_process/records.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from whimbrel.backends.fastcgi import MAX_CONTENT, PROXY_FCGI, FastcgiReader, FastcgiRole
from whimbrel.backends.script_lines import script_head
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import replace
from whimbrel.http.client.answer import BackendError

MODULE: Final = "wsgi"
MESSAGES: Final = replace(PROXY_FCGI, module=MODULE, status=500)
# record types beside FastCGI's
LOG: Final = 64
ACCEPTED: Final = 65
REJECTED: Final = 66
CLOSING: Final = 67
BEGIN_REQUEST: Final = 1
END_REQUEST: Final = 3
PARAMS: Final = 4
STDIN: Final = 5
STDOUT: Final = 6
KEEP_FLAG: Final = 1
ACCEPT_FLAG: Final = 2
SUCCEEDED: Final = 200
CUT: Final = 599  # the outcome of a response that must not end in good order
LEVELS: Final = {"e": "error", "i": "info", "d": "debug", "c": "crit"}  # of LOG records
HEADER: Final = struct.Struct(">BBHHBx")
_BEGINNING: Final = struct.Struct(">HB5x")
_ENDING: Final = struct.Struct(">IBB2x")


class Rejected(BackendError):
    """The process is about to be replaced: the request goes to another one."""


class ConnectionGivenUp(BackendError):
    """The process had closed the connection before the request came, which goes to another one."""


def begin(role: FastcgiRole, *, has_body: bool) -> bytes:
    """Return the record that begins a request."""
    flags = KEEP_FLAG | ACCEPT_FLAG if has_body else KEEP_FLAG
    if role is not FastcgiRole.RESPONDER:
        flags = 0
    return record(BEGIN_REQUEST, _BEGINNING.pack(role, flags))


def record(kind: int, content: bytes = b"") -> bytes:
    """Return one record."""
    return HEADER.pack(1, kind, 1, len(content), 0) + content


END_PARAMS: Final = record(PARAMS)


def ending(status: int, *, keeps: bool) -> bytes:
    """Return the content of the record that ends a request; *keeps*: the connection may serve another one."""
    return _ENDING.pack(status, 0, keeps)


def variable_text(variables: Iterable[tuple[str, str]]) -> bytes:
    """Return names and values between NULs; a name or a value ends at a NUL of its own."""
    texts = [text for pair in variables for text in pair]
    joined = "\0".join(texts)
    if joined.count("\0") >= max(1, len(texts)):
        joined = "\0".join([text.partition("\0")[0] for text in texts])
    return to_bytes(joined)


def variable_records(content: bytes) -> bytes:
    """Return the records with the variables *content*, and their end."""
    if len(content) <= MAX_CONTENT:
        return record(PARAMS, content) + END_PARAMS
    pieces = [record(PARAMS, content[at : at + MAX_CONTENT]) for at in range(0, len(content), MAX_CONTENT)]
    return b"".join(pieces) + END_PARAMS


_KEEPING: Final = record(END_REQUEST, ending(SUCCEEDED, keeps=True))
_CLOSING: Final = record(END_REQUEST, ending(SUCCEEDED, keeps=False))
_START: Final = HEADER.size
_AROUND: Final = _START + len(_KEEPING)
MAX_KNOWN_HEAD: Final = 2048  # bytes of the head of an output that is recognized


def output_key(data: bytes) -> tuple[bytes, bytes, bool] | None:
    """Return head, body, and whether the connection stays open, of an answer that is complete and in two
    records; None for every other.
    """
    size = len(data) - _AROUND
    if size < 0 or HEADER.unpack_from(data) != (1, STDOUT, 1, size, 0):
        return None
    stop = data.find(b"\r\n\r\n", _START, _START + MAX_KNOWN_HEAD) + 4
    end = _START + size
    if stop < 4 or stop > end:
        return None
    ended = data[end:]
    if ended != _KEEPING and ended != _CLOSING:
        return None
    return data[_START:stop], data[stop:end], ended == _KEEPING


def beginning_key(data: bytes) -> bytes | None:
    """Return the head of an answer whose first record of output has all of it, else None."""
    if len(data) < _START:
        return None
    version, kind, request, size, padding = HEADER.unpack_from(data)
    if (version, kind, request, padding) != (1, STDOUT, 1, 0):
        return None
    stop = data.find(b"\r\n\r\n", _START, min(_START + MAX_KNOWN_HEAD, _START + size)) + 4
    return data[_START:stop] if stop >= 4 else None


class WsgiReader(FastcgiReader):
    """Reads the answer of an application.

    Attributes:
        is_accepted: the process waits for the body.
        outcome: the status that the process gives the request at its end.
    """

    __slots__ = ("_ending", "_log_line", "is_accepted", "max_line", "outcome")

    def __init__(self, max_line: int) -> None:
        super().__init__(MESSAGES)
        self.max_line = max_line
        self.is_accepted = False
        self.outcome = SUCCEEDED
        self._log_line = bytearray()
        self._ending = bytearray()

    def feed(self, data: bytes) -> None:
        """See AnswerReader; an answer in one piece is read at once, and records of a body together."""
        if not self._kind and not self._data:
            found = output_key(data)
            lines = None if found is None else plain_lines(found[0], self.max_line)
            if found is not None and lines is not None:
                self._read_all(lines, found[1], keeps=found[2])
                return
        is_body = self._head is None and self._kind == STDOUT
        if is_body and not (self.done or self._data or self._padding):
            at = self._read_output(data)
            if at == len(data):
                return
            data = data[at:]
        super().feed(data)

    def _read_all(self, lines: list[str], body: bytes, *, keeps: bool) -> None:
        """Take a complete answer."""
        self.head = script_head(lines)
        self._head = None
        self._kind = END_REQUEST
        self._add(body)
        self.reusable = keeps
        self._end()

    def _read_output(self, data: bytes) -> int:
        """Take the output at the beginning of *data*; return where it ends."""
        view = memoryview(data)
        end = len(data)
        left = self._left
        at = min(left, end)
        left -= at
        pieces = [view[:at]] if at else []
        while not left and end - at >= HEADER.size:
            version, kind, request, size, padding = HEADER.unpack_from(data, at)
            if (version, kind, request, padding) != (1, STDOUT, 1, 0) or not size:
                break
            start = at + HEADER.size
            at = min(start + size, end)
            left = start + size - at
            pieces.append(view[start:at])
        self._left = left
        if pieces:
            self._add(b"".join(pieces))
        return at

    def _begin_record(self, data: bytes, at: int) -> None:
        super()._begin_record(data, at)
        kind = self._kind
        if kind == LOG or ACCEPTED <= kind <= CLOSING:
            self.messages.pop()
            if kind == REJECTED:
                raise Rejected(503)
            if kind == CLOSING:
                raise ConnectionGivenUp(503)
            if kind == ACCEPTED:
                self.is_accepted = True

    def _content(self, piece: bytes) -> None:
        if self._kind == LOG:
            self._log_line += piece
        elif self._kind == END_REQUEST:
            self._ending += piece
        else:
            super()._content(piece)

    def _head_content(self, head: bytearray, piece: bytes) -> None:
        """See FastcgiReader; a head as start_response makes it is split at once."""
        if not head:
            stop = piece.find(b"\r\n\r\n") + 4
            lines = plain_lines(piece[:stop], self.max_line) if stop >= 4 else None
            if lines is not None:
                self.head = script_head(lines)
                self._head = None
                self._add(piece[stop:])
                return
        super()._head_content(head, piece)

    def _end_content(self) -> None:
        if self._log_line:
            self.errors.append(to_text(bytes(self._log_line)))
            self._log_line.clear()
        super()._end_content()

    def _complete(self, rest: bytes) -> None:
        if len(self._ending) >= _ENDING.size:
            self.outcome, _protocol, keeps = _ENDING.unpack_from(self._ending)
            self._keep = bool(keeps)
        super()._complete(rest)


def plain_lines(head: bytes, max_line: int) -> list[str] | None:
    """Return the lines of *head*, which ends with an empty one; None if they are read in another way."""
    if len(head) > max_line or b"\0" in head or head.startswith(b"\r"):
        return None
    lines = to_text(head).split("\r\n")
    if len(lines) != head.count(b"\n") + 1 or len(lines) != head.count(b"\r") + 1:
        return None
    lines.pop()
    return lines
