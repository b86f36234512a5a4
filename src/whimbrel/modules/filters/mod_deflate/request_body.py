"""The input filter DEFLATE: inflates request bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.input.filter import FilteredBody, InputFilter
from whimbrel.engine.output.filter import FilterType
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.syntax.line_reader import LogMessage
from whimbrel.modules.filters.mod_deflate.compress import VALIDATION
from whimbrel.modules.filters.mod_deflate.gzip_stream import (
    GENERAL_ERROR,
    HEAD_SIZE,
    MAGIC,
    RESERVED,
    TOO_LARGE,
    FilterCodes,
    GzipStream,
    InflateError,
    OptionalFields,
    flags_shown,
    without_gzip,
)
from whimbrel.modules.filters.mod_deflate.settings import DeflateDirConfig

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

CODES: Final = FilterCodes(data="AH01392", ratio="AH02649")
BUCKET: Final = 8192  # bytes of input that httpd inflates together
MAX_READ: Final = 64 * 1024  # bytes of output of one read
_EXTRA_DATA: Final = "Encountered extra data after compressed data"
_EARLY_END: Final = "Encountered premature end-of-stream while"


class InflatedBody(FilteredBody):
    """Request body that is inflated while it is read; passed on unchanged if its coding is not gzip.

    The first read decides, and changes the request's fields, as in httpd.
    """

    __slots__ = (
        "_bucket",
        "_error",
        "_head",
        "_is_gzip",
        "_limit",
        "_optional",
        "_request",
        "_rest",
        "_stream",
    )

    def __init__(self, r: Request, source: RequestBody) -> None:
        super().__init__(source)
        self._request = r
        self._is_gzip: bool | None = None
        self._head = b""
        self._bucket = b""
        self._rest = b""
        self._optional: OptionalFields | None = None
        self._stream: GzipStream | None = None
        self._error: BodyError | None = None
        self._limit = r.dir_config(DeflateDirConfig).limit or r.plan.body_limit

    async def read(self) -> bytes:
        """Return the next bytes of the content, b"" at the end; raise BodyError."""
        if self._is_gzip is None:
            self._is_gzip = self._begin()
        if not self._is_gzip:
            return await self._read_wire()
        if self._error is not None:
            raise self._error
        try:
            out = await self._inflate()
        except InflateError as problem:
            self._error = BodyError(
                413 if problem.cause == TOO_LARGE else 400, LogMessage("trace8", "", "", problem.cause)
            )
            self._error.endless = False  # httpd knows the length of its error page
            raise self._error from None
        return out

    def _begin(self) -> bool:
        """Return True if the body is to be inflated; remove gzip from Content-Encoding."""
        r = self._request
        if not r.initial or "Content-Range" in r.headers_in:
            return False
        codings = r.headers_in.get_list("Content-Encoding")
        rest = without_gzip(codings) if codings else None
        if rest is None:
            return False
        if rest:
            r.headers_in.set("Content-Encoding", rest)
        else:
            r.headers_in.unset("Content-Encoding")
        return True

    async def _inflate(self) -> bytes:
        out: list[bytes] = []
        size = 0
        while size < MAX_READ:
            if not (self._bucket or self._rest):
                if out:
                    break
                self._rest = await self._read_wire()
                if not self._rest:
                    return self._finish()
            data = self._step()
            if data:
                out.append(data)
                size += len(data)
        return b"".join(out)

    async def _read_wire(self) -> bytes:
        try:
            data = await self.source.read()
        except BodyError as problem:  # the end of the body is unknown, as without the filter
            raise self.refused(problem) from None
        self.received, self.framing = self.source.received, self.source.framing
        return data

    def _step(self) -> bytes:
        """Return the output of a part of the input that is there."""
        stream = self._stream
        if stream is None:
            stream = self._take_head()
            if stream is None:
                return b""
        if self._optional is not None and not self._optional.is_complete:
            self._rest = self._optional.skip(self._rest)
            if not self._rest:
                return b""
        if stream.trailer is not None:
            self._take_trailer(stream)
            return b""
        if not self._bucket:
            self._bucket, self._rest = self._rest[:BUCKET], self._rest[BUCKET:]
        out, self._bucket = stream.step(self._bucket)
        if stream.trailer is not None:
            self._bucket, self._rest = b"", self._bucket + self._rest
        if stream.trailer is not None and self._rest:
            self._take_trailer(stream)
        return out

    def _take_head(self) -> GzipStream | None:
        """Take the first bytes of the header; return the stream if they are complete and right."""
        cut = HEAD_SIZE - len(self._head)
        r = self._request
        if not self._head:
            r.headers_in.unset("Content-Length")
            r.headers_in.unset("Content-MD5")
        self._head += self._rest[:cut]
        self._rest = self._rest[cut:]
        head = self._head
        if len(head) < HEAD_SIZE:
            return None
        if not head.startswith(MAGIC):
            self._fail("warn", "Zlib: Invalid header", "AH01387")
        if head[3] & RESERVED:
            self._fail("warn", f"Zlib: Invalid flags {flags_shown(head[3])}", "AH01388")
        self._optional = OptionalFields(head[3])
        self._stream = GzipStream(r, CODES, self._limit)
        return self._stream

    def _take_trailer(self, stream: GzipStream) -> None:
        """Take CRC and length from the input; check them when they are complete."""
        if stream.trailer is not None and len(stream.trailer) == VALIDATION:
            self._fail("error", _EXTRA_DATA, "AH02482")
        self._rest = stream.take_trailer(self._rest)
        if len(stream.trailer or b"") < VALIDATION:
            return
        r = self._request
        stream.log("debug", f"Zlib: Inflated {stream.read} to {stream.written} : URL {r.uri}", "AH01393")
        if not stream.is_crc_right:
            self._fail("warn", "Zlib: CRC error inflating data", "AH01394")
        if not stream.is_length_right:
            self._fail(
                "warn",
                f"Zlib: Length {stream.written} of inflated data does not match expected value "
                f"{stream.expected_length}",
                "AH01395",
            )
        if self._rest:
            self._fail("error", _EXTRA_DATA, "AH02485")

    def _finish(self) -> bytes:
        """Return b"" at the end of a complete body; raise InflateError for any other."""
        if not self._head:
            return b""
        if self._stream is None:
            what = f"{_EARLY_END} reading inflate header"
            code = "AH02619"
            if self._request.plan.dialect.wire_22:
                what = "Zlib: Invalid header"
                code = ""
            self._fail("error", what, code)
        if len((self._stream and self._stream.trailer) or b"") < VALIDATION:
            self._fail("error", f"{_EARLY_END} inflating", "AH02481")
        return b""

    def _fail(self, level: str, text: str, code: str) -> None:
        self._request.log(level, text, code=code, module="deflate")
        raise InflateError(GENERAL_ERROR)


class DeflateInput(InputFilter):
    """Input filter DEFLATE."""

    name = "DEFLATE"
    type = FilterType.CONTENT_SET

    def wrap(self, r: Request, body: RequestBody) -> RequestBody:
        """Return the inflated body; *body* itself if there is none."""
        return body if body.length == 0 else InflatedBody(r, body)


DEFLATE_INPUT: Final = DeflateInput()
