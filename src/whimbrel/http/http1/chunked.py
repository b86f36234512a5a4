"""Push parsers of request bodies: chunked or of a known length (RFC 9112, 6 and 7).

They own no socket and do not limit the whole body; the caller enforces LimitRequestBody.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.fields import FieldReader, Fields
from whimbrel.http.syntax.line_reader import HeadLimits, LogMessage, ParserOptions

_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_MAX_BLANKS: Final = 10  # white space behind a size
_PLAIN_SIZE: Final = re.compile(
    rb"([0-9a-fA-F]{1,15})\r\n"
)  # one after which bytes of the body follow, if it is not 0


class BodyError(Exception):
    """The body is malformed (400) or a chunk is too large to count (413).

    Attributes:
        reason: the line for the error log.
        chunk: a chunk cannot be read, so the start of the next request is unknown.
        endless: httpd knows neither the end of the body nor the length of its own error page, as after a
            bad chunk or a body that is too large.
        data: bytes of the body that came before the fault in the same piece of input.
    """

    def __init__(
        self, status: int, reason: LogMessage, *, chunk: bool = False, endless: bool = False
    ) -> None:
        super().__init__(reason.text)
        self.status = status
        self.reason = reason
        self.chunk = chunk
        self.endless = endless or chunk or status == 413
        self.data = b""


_PARTIAL: Final = "(70008)Partial results are valid but processing is incomplete"


class _At(Enum):
    SIZE = auto()
    EXTENSION = auto()
    SIZE_LF = auto()
    DATA = auto()
    DATA_CR = auto()
    DATA_LF = auto()
    TRAILER = auto()
    DONE = auto()


def _malformed(overflow: bool = False) -> BodyError:
    cause = "(28)No space left on device" if overflow else "(22)Invalid argument"
    words = "Error reading/parsing chunk (overflow) " if overflow else "Error reading/parsing chunk  "
    reason = LogMessage("info", "AH01590", words, cause, "http")
    return BodyError(413 if overflow else 400, reason, chunk=True)


def _unfinished(cause: str) -> BodyError:
    return BodyError(400, LogMessage("", "", "", cause))


class ChunkedBody:
    """A push parser: `feed` bytes, receive their data; `done` is True after the last chunk and the trailer
    section.

    *trailers* then has the trailer fields; `rest` returns the bytes after the body, which belong to the next
    request.
    """

    __slots__ = (
        "done",
        "trailers",
        "_at",
        "_blanks",
        "_digits",
        "_fields",
        "_left",
        "_limits",
        "_line",
        "_rules",
        "_size",
        "_tail",
    )

    def __init__(self, limits: HeadLimits, rules: ParserOptions) -> None:
        self.done = False
        self.trailers = Headers()
        self._limits = limits
        self._rules = rules
        self._at = _At.SIZE
        self._left = 0
        self._size = 0
        self._digits = 0
        self._line = 0
        self._blanks = 0
        self._tail = bytearray()  # the trailer section so far, then the bytes after the body
        self._fields = FieldReader(0, limits, rules)

    @property
    def rest(self) -> bytes:
        """Bytes that came after the end of the body."""
        return bytes(self._tail) if self.done else b""

    @property
    def is_in_trailer(self) -> bool:
        """Return True if all chunks are complete, so that only the trailer section may be missing."""
        return self._at is _At.TRAILER

    def feed(self, data: bytes) -> bytes:
        """Return the body bytes in *data*; raises BodyError, after which the parser is of no use."""
        out: list[bytes] = []
        try:
            self._read(data, out)
        except BodyError as problem:
            problem.data = b"".join(out)
            raise
        return b"".join(out)

    def _read(self, data: bytes, out: list[bytes]) -> None:
        at = 0
        end = len(data)
        while at < end and self._at is not _At.TRAILER:
            if self._at is _At.DATA:
                piece = data[at : at + self._left]
                out.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if not self._left:
                    self._at = _At.DATA_CR
            else:
                at = self._control(data, at)
        if self._at is _At.TRAILER:
            self._trailer(data[at:])

    def close(self) -> None:
        """End of input: raise BodyError unless the body is complete."""
        if not self.done:
            if self._rules.version22:
                raise _malformed()
            raise _unfinished("(22)Invalid argument" if self.is_in_trailer else _PARTIAL)

    def _control(self, data: bytes, at: int) -> int:
        """Consume framing: a whole size line of the common form, else one byte."""
        byte = data[at]
        state = self._at
        if state is _At.SIZE:
            plain = None if self._digits else _PLAIN_SIZE.match(data, at)
            if plain is not None:
                self._size = int(plain[1], 16)
                self._begin_chunk()
                return plain.end()
            self._size_byte(byte)
        elif state is _At.EXTENSION:
            self._extension_byte(byte)
        elif state is _At.SIZE_LF:
            self._expect(byte, 10)
            self._begin_chunk()
        elif state is _At.DATA_CR:
            if byte == 10 and not self._rules.strict:
                self._at = _At.SIZE
            else:
                self._expect(byte, 13)
                self._at = _At.DATA_LF
        else:
            self._expect(byte, 10)
            self._at = _At.SIZE
        return at + 1

    @staticmethod
    def _expect(byte: int, wanted: int) -> None:
        if byte != wanted:
            raise _malformed()

    def _size_byte(self, byte: int) -> None:
        self._count()
        if byte in _HEX and not self._blanks:
            self._size = self._size * 16 + int(chr(byte), 16)
            self._digits += 1
            if self._size >= 1 << 63:
                raise _malformed(overflow=True)
        elif not self._digits:
            raise _malformed()
        elif byte in b" \t":
            self._blanks += 1
            if self._blanks > _MAX_BLANKS:
                raise _malformed()
        elif byte == 59:
            self._at = _At.EXTENSION
        else:
            self._line_end(byte)

    def _extension_byte(self, byte: int) -> None:
        self._count()
        if byte in b"\r\n":
            self._line_end(byte)
        elif byte == 127 or (byte < 32 and byte != 9):
            raise _malformed()

    def _line_end(self, byte: int) -> None:
        if byte == 10 and not self._rules.strict:
            self._begin_chunk()
        else:
            self._expect(byte, 13)
            self._at = _At.SIZE_LF

    def _count(self) -> None:
        """A size line, its end included, is no longer than LimitRequestFieldSize."""
        self._line += 1
        if self._line >= self._limits.field_size:
            raise _malformed(overflow=True)

    def _begin_chunk(self) -> None:
        self._left, self._size, self._digits, self._line, self._blanks = self._size, 0, 0, 0, 0
        self._at = _At.DATA if self._left else _At.TRAILER

    def _trailer(self, data: bytes) -> None:
        self._tail += data
        fields = None if self.done else self._fields.read(self._tail)
        if fields is not None:
            self._check(fields)
            del self._tail[: fields.next]
            self.trailers = fields.headers
            self.done = True

    def _check(self, fault: Fields) -> None:
        if fault.status:
            raise BodyError(
                fault.status,
                LogMessage("info", "AH02656", f"Error while reading HTTP trailer: {fault.status}"),
            )


class LengthBody:
    """A body of a known length, with the same interface."""

    __slots__ = ("done", "trailers", "rest", "_left")

    def __init__(self, length: int) -> None:
        self._left = length
        self.done = length == 0
        self.rest = b""
        self.trailers = Headers()

    def feed(self, data: bytes) -> bytes:
        """Return the part of *data* that belongs to the body."""
        piece = data[: self._left]
        self._left -= len(piece)
        self.rest += data[len(piece) :]
        self.done = not self._left
        return piece

    def close(self) -> None:
        """End of input: raise BodyError unless the body is complete."""
        if not self.done:
            raise _unfinished(_PARTIAL)
