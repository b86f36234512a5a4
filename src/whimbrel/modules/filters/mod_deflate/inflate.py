"""The output filter INFLATE: decompresses responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.engine.body import PIECE, Aborted, JoinedSource, Part, is_complete
from whimbrel.engine.coroutines import yield_to_loop
from whimbrel.engine.output.filter import FilterType, OutputFilter
from whimbrel.engine.output.filters import MAX_GATHERED, GatheredSource
from whimbrel.modules.filters.mod_deflate.compress import NO_CONTENT, NOT_MODIFIED, VALIDATION, log
from whimbrel.modules.filters.mod_deflate.gzip_stream import (
    GENERAL_ERROR,
    HEAD_SIZE,
    MAGIC,
    RESERVED,
    FilterCodes,
    GzipStream,
    InflateError,
    OptionalFields,
    flags_shown,
    without_gzip,
)
from whimbrel.modules.filters.mod_deflate.settings import DeflateServerConfig
from whimbrel.modules.support.codings import alter_etag

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

CODES: Final = FilterCodes(data="AH01409", ratio="AH02650")
METHOD: Final = 8  # deflate, the one that gzip has


class InflatedSource(GatheredSource):
    """The inflated content of *parts*; a full buffer is passed on while input remains."""

    __slots__ = ("_done", "_head", "_held", "_optional", "_plain", "_rest", "_source", "_stream")

    def __init__(self, r: Request, parts: list[Part]) -> None:
        super().__init__(r)
        self._source = JoinedSource(parts)
        self._stream = GzipStream(r, CODES)
        self._head = b""
        self._rest = b""
        self._optional: OptionalFields | None = None
        self._held: list[bytes] = []
        self._plain = False
        self._done = False

    @property
    def has_ended(self) -> bool:
        return self._done

    def drop(self) -> None:
        """Drop the input."""
        self._source.drop()

    async def aclose(self) -> None:
        """Close the input."""
        await self._source.aclose()

    async def _next(self) -> bytes | None:
        while not self._done:
            if self._failure is not None:
                raise self._failure
            if not self._rest:
                data = await self._source.read_or_flush()
                if data is None:
                    self._done = True
                    return self._finish()
                if not data:
                    self._has_flush = bool(self._held)
                    return self._flushed()
                self._rest = data
            out: list[bytes] = []
            try:
                self._inflate(out)
            except InflateError as problem:
                self._failure = self._failed(problem.cause)
            if out:
                self.early = True
                await yield_to_loop()
                return b"".join(out)
        return None

    def _flushed(self) -> bytes:
        """Return what waits for a full buffer; the next one begins."""
        out = b"".join(self._held)
        self._held.clear()
        self.early = True
        self._stream.room = self._stream.buffer
        return out

    def _failed(self, cause: str) -> Aborted:
        """Return the exception for a failure, which is logged in the name of 2.4's default handler."""
        r = self._r
        if r.plan.dialect.messages_24 and r.handler in (None, "default-handler"):
            number = cause[1 : cause.index(")")]
            r.log("debug", f"default_handler: ap_pass_brigade returned {number}", code="AH00133", cause=cause)
        return Aborted(cause)

    def _inflate(self, out: list[bytes]) -> None:
        """Add the full buffers of a part of the input that is there to *out*."""
        if len(self._head) < HEAD_SIZE and not self._plain and not self._take_head():
            return
        if self._plain:
            data, self._rest = self._rest, b""
            self._held.append(data)
            return
        if self._optional is not None and not self._optional.is_complete:
            self._rest = self._optional.skip(self._rest)
        stream = self._stream
        size = 0
        while self._rest and stream.trailer is None and size < PIECE:
            if not stream.room:
                out += self._held
                size += stream.buffer
                self._held.clear()
            data, self._rest = stream.step(self._rest)
            self._held.append(data)
            if stream.trailer is not None:
                self._take_trailer("AH01408")
        if self._rest and stream.trailer is not None:
            self._take_trailer("AH01407")

    def _take_head(self) -> bool:
        """Take the first bytes of the header; return True if they are complete and right."""
        cut = HEAD_SIZE - len(self._head)
        self._head += self._rest[:cut]
        self._rest = self._rest[cut:]
        head = self._head
        r = self._r
        if len(head) < HEAD_SIZE:
            return False
        if head[2] != METHOD:
            log(r, "debug", "inflate: data not deflated!", "AH01404")
            self._plain = True
            self._held.append(head)
            return True
        if not head.startswith(MAGIC):
            log(r, "error", "inflate: bad header", "AH01405")
            raise InflateError
        if head[3] & RESERVED:
            log(r, "error", f"inflate: bad flags {flags_shown(head[3])}", "AH02620")
            raise InflateError
        self._optional = OptionalFields(head[3])
        return True

    def _take_trailer(self, code: str) -> None:
        garbage = self._stream.take_trailer(self._rest)
        self._rest = b""
        if garbage:
            text = f"Zlib: {len(garbage)} bytes of garbage at the end of compressed stream."
            log(self._r, "debug", text, code)

    def _finish(self) -> bytes | None:
        """Check the trailer; return the rest of the output."""
        r = self._r
        stream = self._stream
        if not self._plain:
            log(r, "debug", f"Zlib: Inflated {stream.read} to {stream.written} : URL {r.uri}", "AH01398")
            if len(stream.trailer or b"") < VALIDATION:
                error = ("Zlib: Validation bytes not present", "AH01401")
            elif not stream.is_crc_right:
                error = ("Zlib: Checksum of inflated stream invalid", "AH01399")
            elif not stream.is_length_right:
                error = ("Zlib: Length of inflated stream invalid", "AH01400")
            else:
                error = None
            if error is not None:
                log(r, "error", *error)
                raise self._failed(GENERAL_ERROR)
        return b"".join(self._held) or None


class Inflate(OutputFilter):
    """Output filter INFLATE."""

    is_computed = True
    name = "INFLATE"
    type = FilterType.RESOURCE - 1

    async def begin(self, r: Request) -> None:
        """Replace the body by the inflated one, unless it is short or not to be inflated.

        A body that fails is passed on as far as httpd does, and then aborted; `Aborted` is raised if nothing
        was passed on.
        """
        if not r.initial or "Content-Range" in r.headers_out:
            return
        is_22 = r.plan.dialect.wire_22
        bodiless = r.status in (NO_CONTENT, NOT_MODIFIED)
        if not is_22 and r.status == NO_CONTENT:
            return
        if not take_gzip(r) or (is_22 and (bodiless or not r.body)):
            return
        change_fields(r)
        if bodiless:
            return
        source = InflatedSource(r, r.body)
        count = MAX_GATHERED if is_complete(r.body) else 1
        r.body = []
        r.body = await source.gather(count)
        r.chunked = source.early


def change_fields(r: Request) -> None:
    """Change the fields of a response whose content is inflated."""
    r.headers_out.unset("Content-Length")
    r.headers_out.unset("Content-MD5")
    if not r.plan.dialect.wire_22:
        alter_etag(r, r.server_conf(DeflateServerConfig).etag, "gunzip")


def take_gzip(r: Request) -> bool:
    """Remove gzip from the end of the content codings; return False if it does not stand there."""
    for fields in (r.headers_out, r.err_headers_out):
        codings = fields.get_list("Content-Encoding")
        if codings is not None:
            rest = without_gzip(codings) if codings else None
            if rest is None:
                return False
            if rest:
                fields.set("Content-Encoding", rest)
            else:
                fields.unset("Content-Encoding")
            if r.content_encodings:
                r.content_encodings = [rest] if rest else []
            return True
    rest = without_gzip(", ".join(r.content_encodings)) if r.content_encodings else None
    if rest is None:
        return False
    r.content_encodings = [rest] if rest else []
    return True


INFLATE: Final = Inflate()
