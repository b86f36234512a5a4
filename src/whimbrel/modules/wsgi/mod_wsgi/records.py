"""FastCGI as worker and application speak it: the variables as one text, and record types of its own.

The other side is mod_wsgi_process/records.py.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from whimbrel.backends.fastcgi import MAX_CONTENT, PROXY_FCGI, FastcgiReader, FastcgiRole
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
