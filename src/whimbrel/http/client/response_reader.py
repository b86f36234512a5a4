"""Reader of responses of origin servers, with httpd's leniency (RFC 9112; mod_proxy_http).

A complete head of the common form is read with one regular expression.  All others are read line by line, as
ap_proxy_read_headers reads them.
"""

from __future__ import annotations

import re
from typing import Final

from whimbrel.base.numbers import BLANKS, LONG_MAX, decimal, is_digits, split, strtol_exact
from whimbrel.http.client.answer import (
    END_OF_FILE,
    INTERNAL,
    INVALID,
    NO_SPACE,
    PARTIAL,
    AnswerReader,
    BackendError,
    BackendMessage,
    MessageScope,
    ResponseHead,
)
from whimbrel.http.client.head_lines import HeadLine, HeadLines
from whimbrel.http.client.response_rules import BadHeaderPolicy, ResponseRules
from whimbrel.http.http1.chunked import BodyError, ChunkedBody
from whimbrel.http.semantics.headers import Headers

MAX_HEAD: Final = 256 * 1024  # bytes of a head; httpd has no limit
MAX_INTERIM: Final = 10  # AP_MAX_INTERIM_RESPONSES
_SHOWN: Final = 128  # characters of a field that is too long in a message

_HEAD: Final = re.compile(
    r"HTTP/1\.([01]) ([2-9][0-9][0-9])(?: ([\t -~\x80-\xff]*+))?\r\n"
    r"((?:[-!#$%&'*+.^_`|~0-9A-Za-z]++:[ \t]*+[\t -~\x80-\xff]*+\r\n)*)\r\n"
).fullmatch
_FIELDS: Final = re.compile(r"([^:]++):[ \t]*+([^\r]*+)\r\n").findall
_STATUS_LINE: Final = re.compile(r"HTTP/([0-9])\.([0-9]) ([0-9]{3})").match
_LOWER: Final = {
    name: name.lower()
    for name in (
        "Date",
        "Server",
        "Content-Type",
        "Content-Length",
        "Connection",
        "Keep-Alive",
        "Transfer-Encoding",
        "Last-Modified",
        "ETag",
        "Accept-Ranges",
        "Cache-Control",
        "Expires",
        "Vary",
        "Set-Cookie",
        "Location",
        "X-Powered-By",
        "Content-Encoding",
        "Content-Language",
        "Pragma",
        "Strict-Transport-Security",
        "X-Content-Type-Options",
        "X-Frame-Options",
    )
}
_LOWER.update({low: low for low in tuple(_LOWER.values())})


_KEEP: Final = frozenset(("keep-alive", "Keep-Alive"))  # values of Connection that are common


# What a reader reads.  Plain integers: access to a member of an Enum takes longer than a comparison.
_AT_STATUS: Final = 0
_AT_FIELDS: Final = 1
_AT_LENGTH: Final = 2
_AT_CHUNKS: Final = 3
_AT_CLOSE: Final = 4


class ResponseReader(AnswerReader):
    """Reads the response to one request with *method*; *uri* and *server* (``127.0.0.1:80``) are those of the
    messages.

    Attributes:
        trailers: the trailer fields of a chunked response.
    """

    __slots__ = (
        "_at",
        "_chunks",
        "_count",
        "_has_line",
        "_headers",
        "_left",
        "_lines",
        "_method",
        "_rules",
        "_server",
        "_status",
        "_uri",
        "trailers",
    )

    def __init__(
        self,
        rules: ResponseRules,
        method: str,
        uri: str = "",
        server: str = "",
    ) -> None:
        super().__init__()
        self._rules = rules
        self._method = method
        self._uri = uri
        self._server = server
        self._at = _AT_STATUS
        self._lines: HeadLines | None = None  # where the common form does not do
        self._has_line = False  # an empty line came before the status line
        self._status: tuple[int, int, int, str | None] = (1, 1, 0, None)  # version, status, reason
        self._headers = Headers()
        self._count = 0
        self._left = 0
        self._chunks: ChunkedBody | None = None
        self.trailers: Headers | None = None

    def feed(self, data: bytes) -> None:
        at = self._at
        if at == _AT_STATUS and self._lines is None:
            stop = data.find(b"\r\n\r\n") + 4
            if 4 <= stop < self._rules.field_size and self._read_plain(data, stop):
                return
            self._lines = HeadLines(self._rules.field_size)
        if at == _AT_STATUS or at == _AT_FIELDS:
            self._feed_lines(data)
        elif self.done:
            self._end(self.rest + data)
        elif at == _AT_LENGTH:
            self._take_length(data, 0)
        elif at == _AT_CHUNKS:
            self._take_chunks(data)
        else:
            self._add(data)

    def eof(self, cause: str = "") -> None:
        if self.done:
            self.reusable = False
        elif self._at == _AT_CLOSE and not cause:
            self._end()
        elif self._at == _AT_STATUS:
            partial = self._lines is not None and self._lines.at < len(self._lines.data)
            raise self._no_status(cause or (END_OF_FILE if partial else INTERNAL))
        elif self._at == _AT_FIELDS:
            self._partial_head(cause)
        else:
            chunks = self._chunks
            in_trailer = not cause and chunks is not None and chunks.is_in_trailer
            if in_trailer:
                self._message("info", "AH02656", "Error while reading HTTP trailer: 400", "", "http")
            raise self._broken(cause or (INVALID if in_trailer else PARTIAL))

    # head
    def _read_plain(self, data: bytes, stop: int) -> bool:
        """Read a head of the common form, which ends in *data* at *stop*; return False for any other."""
        match = _HEAD(data[:stop].decode("latin-1"))
        if match is None:
            return False
        minor, status, reason, fields = match.groups()
        headers = _plain_headers(fields)
        self._begin((1, 1 if minor == "1" else 0), int(status), reason or "", headers, data, stop)
        return True

    def _feed_lines(self, data: bytes, ended: bool = False) -> None:
        lines = self._lines
        assert lines is not None
        lines.feed(data)
        while self._at == _AT_STATUS or self._at == _AT_FIELDS:
            is_field = self._at == _AT_FIELDS
            skip = self._rules.cuts_long_fields if is_field else not _STATUS_LINE(_start(lines))
            line = lines.next(fold=is_field, skip=skip, ended=ended)
            if line is None or self.done:
                return
            if is_field:
                self._field_line(line, lines)
            else:
                self._status_line(line, lines)
            if lines.at > MAX_HEAD and self._at == _AT_FIELDS:
                raise self._bad_head()

    def _status_line(self, line: HeadLine, lines: HeadLines) -> None:
        text = line.text
        if line.has_nul:
            raise self._no_status(INVALID)
        if not text:
            if self._has_line:
                raise self._no_status("")
            self._has_line = True
            return
        match = _STATUS_LINE(text)
        if match is None:
            self._at = _AT_CLOSE
            self.head = ResponseHead((0, 9), 200, "OK", Headers())
            if self._has_body(200):
                self._add(text.encode("latin-1"))
                self._add(lines.rest())
            else:
                self._end(lines.rest())
            return
        if match[1] != "1" or line.is_long or len(text) >= self._rules.field_size - 1:
            raise BackendError(502, detail=f"Corrupt status line returned by remote server: {text}")
        end = match.end()
        reason = text[end + 1 :] if text[end : end + 1] in ("", " ") else None
        self._status = (1, int(match[2]), int(match[3]), reason)
        self._headers = Headers()
        self._at = _AT_FIELDS

    def _field_line(self, line: HeadLine, lines: HeadLines) -> None:
        text = line.text
        if line.has_nul:
            raise self._unreadable(INVALID)
        if line.is_long and not self._rules.cuts_long_fields:
            raise self._long_field(text)
        if not text:
            self._end_head(lines)
            return
        name, colon, value = text.partition(":")
        if colon:
            self._headers.add(name, value.strip(BLANKS))
            return
        bad = self._rules.bad_header
        if _STATUS_LINE(text) or bad is BadHeaderPolicy.IGNORE:
            self._warn("AH01100", "Ignoring bogus HTTP header returned by")
        elif bad is BadHeaderPolicy.ERROR:
            raise self._bad_head()
        else:
            if len(self._headers):
                self._warn("AH01098", "Starting body due to bogus non-header in headers returned by")
            else:
                self._warn("AH01099", "No HTTP headers returned by")
            self._end_head(lines)

    def _end_head(self, lines: HeadLines) -> None:
        major, minor, status, reason = self._status
        if 100 <= status < 200 and not (status == 101 and self._rules.switches_protocols):
            self._count += 1
            if self._count >= MAX_INTERIM:
                words = f"Too many ({MAX_INTERIM}) interim responses from origin server"
                raise BackendError(502, detail=words)
            self.interim.append(ResponseHead((major, minor), status, reason, self._headers))
            del lines.data[: lines.at]
            lines.at = 0
            self._at = _AT_STATUS
            self._has_line = False
            return
        self._begin((major, minor), status, reason, self._headers, bytes(lines.data), lines.at)
        lines.data.clear()

    def _partial_head(self, cause: str) -> None:
        """The end of the connection within a head: a complete line before it counts."""
        self._feed_lines(b"", ended=True)
        if self._at != _AT_FIELDS:
            if not self.done:
                self.eof(cause)
        elif self._rules.accepts_partial_head:
            lines = self._lines
            assert lines is not None
            lines.at = len(lines.data)
            self._end_head(lines)
            if not self.done:
                self.eof(cause)
            self.reusable = False
        else:
            raise self._unreadable(cause or END_OF_FILE)

    # body
    def _has_body(self, status: int) -> bool:
        return self._method != "HEAD" and status not in (204, 304)

    def _begin(
        self,
        version: tuple[int, int],
        status: int,
        reason: str | None,
        headers: Headers,
        data: bytes,
        at: int,
    ) -> None:
        """The head is complete: decide the framing of the body, which begins in *data* at *at*."""
        entries = headers.entries()
        length = entries.get("content-length")
        coding = entries.get("transfer-encoding")
        keep = version[1] > 0
        option = entries.get("connection")
        if option is not None and (option[1] not in _KEEP or not headers.is_unique):
            keep = keep and not _closes(headers)
        if coding is not None and length is not None:
            headers.unset("Content-Length")
            words = f"server {self._server} returned Transfer-Encoding and Content-Length"
            self._message("debug", "AH01107", words)
            keep = False
            length = None
        elif length is not None and not headers.is_unique:
            keep = keep and len(set(headers.get_all("content-length"))) == 1
            headers.set("Content-Length", length[1])
        self.head = ResponseHead(version, status, reason, headers)
        self.reusable = keep
        self._at = _AT_LENGTH
        if status == 101:
            self.reusable = False
            self._end(data[at:])
        elif not self._has_body(status):
            self._end(data[at:])
        elif coding is not None and _ends_in_chunked(coding[1]):
            self._at = _AT_CHUNKS
            self._chunks = ChunkedBody(self._rules.chunk_limits, self._rules.chunk_options)
            self._take_chunks(data[at:])
        elif length is None:
            self._until_close(coding, data[at:])
        else:
            self._left = self._parse_length(length[1])
            self._take_length(data, at)

    def _until_close(self, coding: tuple[str, str] | None, data: bytes) -> None:
        self._at = _AT_CLOSE
        self.reusable = False
        if coding is not None:
            words = f"Unknown Transfer-Encoding: {coding[1]}; using read-until-close"
            self._message("info", "AH02555", words, "", "http")
        self._add(data)

    def _parse_length(self, value: str) -> int:
        if self._rules.strict_length:
            length = decimal(value) if is_digits(value) else None
        else:
            length = strtol_exact(value)
        if length is None or not 0 <= length < LONG_MAX:
            if self._rules.version22:
                self.messages.append(BackendMessage("error", "", "Invalid Content-Length", "", "http"))
            else:
                self._message("info", "AH01587", "Invalid Content-Length", "", "http")
            raise self._broken(INTERNAL)
        return length

    def _take_length(self, data: bytes, at: int) -> None:
        size = len(data) - at
        left = self._left
        if size > left:
            self._add(data[at : at + left])
            self._end(data[at + left :])
        else:
            if size:
                self._pieces.append(data[at:] if at else data)
                self._buffered += size
            self._left = left - size
            self.done = size == left

    def _take_chunks(self, data: bytes) -> None:
        chunks = self._chunks
        assert chunks is not None
        try:
            self._add(chunks.feed(data))
        except BodyError as problem:
            self._add(problem.data)
            reason = problem.reason
            self._message(reason.level, reason.code, reason.text, reason.cause, reason.module)
            if not problem.chunk:
                cause = INVALID
            elif problem.status == 413:
                cause = NO_SPACE
            else:
                cause = INTERNAL
            raise self._broken(cause) from None
        if chunks.done:
            self.trailers = chunks.trailers
            self._end(chunks.rest)

    # messages
    def _message(self, level: str, code: str, text: str, cause: str = "", module: str = "proxy_http") -> None:
        """Add a line that 2.4 logs; 2.2 logs none of these above debug."""
        if not self._rules.version22:
            scope = MessageScope.CONNECTION if module == "http" else MessageScope.REQUEST
            self.messages.append(BackendMessage(level, code, text, cause, module, scope))

    def _warning(self, code: str, words: str, cause: str = "") -> BackendMessage:
        if self._rules.version22:
            return BackendMessage("warn", "", f"proxy: {words}", cause, scope=MessageScope.SERVER)
        return BackendMessage("warn", code, words, cause)

    def _warn(self, code: str, words: str) -> None:
        self.messages.append(self._warning(code, f"{words} {self._uri} ({self._method})"))

    def _error(self, code: str, words: str, cause: str) -> BackendMessage:
        if self._rules.version22:
            return BackendMessage("error", "", f"proxy: {words}", cause)
        return BackendMessage("error", code, words, cause)

    def _no_status(self, cause: str) -> BackendError:
        words = f"error reading status line from remote server {self._server}"
        detail = "Error reading from remote server"
        return BackendError(502, self._error("AH01102", words, cause), detail=detail)

    def _bad_head(self, *before: BackendMessage) -> BackendError:
        major, minor = self._status[:2]
        words = f"bad HTTP/{major}.{minor} header returned by {self._uri} ({self._method})"
        return BackendError(502, *before, self._warning("AH01106", words))

    def _unreadable(self, cause: str) -> BackendError:
        if self._rules.version22:
            return self._bad_head()
        return self._bad_head(self._warning("AH10404", "Error reading headers from backend", cause))

    def _long_field(self, text: str) -> BackendError:
        size = self._rules.field_size
        half = min(len(text), _SHOWN) // 2
        words = (
            f"header size is over the limit allowed by ResponseFieldSize ({size} bytes). "
            f"Bad response header: '{text[:half]}[...]{text[len(text) - half :]}'"
        )
        return self._bad_head(self._warning("AH10124", words, NO_SPACE))

    def _broken(self, cause: str) -> BackendError:
        return BackendError(502, self._error("AH01110", "error reading response", cause))


def _start(lines: HeadLines) -> str:
    return lines.data[lines.at : lines.at + 12].decode("latin-1")


def _plain_headers(text: str) -> Headers:
    """Return the fields of a block that has the common form."""
    fields = _FIELDS(text)
    if " \r\n" in text or "\t\r\n" in text:
        fields = [(name, value.rstrip(" \t")) for name, value in fields]
    lower = _LOWER
    entries = {lower[name] if name in lower else name.lower(): (name, value) for name, value in fields}
    if len(entries) == len(fields):
        return Headers.from_unique(entries)
    return Headers(fields)


def _closes(headers: Headers) -> bool:
    """Return True if Connection has the option ``close``."""
    return any("close" in split(value.lower().replace(",", " ")) for value in headers.get_all("connection"))


def _ends_in_chunked(value: str) -> bool:
    """Return True if ``chunked`` is the last transfer coding (ap_is_chunked)."""
    return value.rpartition(",")[2].strip(" \t").lower() == "chunked"
