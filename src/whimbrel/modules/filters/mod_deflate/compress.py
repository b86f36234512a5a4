"""The output filter DEFLATE: gzip.

zlib emits a block when it has 2^(memory level + 6) symbols, and httpd passes `DeflateBufferSize` bytes on
when they are there while input remains. Only then the length is unknown when the head is sent.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.engine.body import JoinedSource, Part, PipedBytes, is_complete, size_of
from whimbrel.engine.output.filter import FilterType, OutputFilter, Transform
from whimbrel.modules.filters.mod_deflate.settings import DeflateServerConfig
from whimbrel.modules.support.coded_bodies import Key, RecordedOutput, begin_coded, is_file
from whimbrel.modules.support.codings import (
    AcceptsCoding,
    add_coding,
    alter_etag,
    current_coding,
    first_coding,
    is_accepted,
)

if TYPE_CHECKING:
    from whimbrel.engine.output.filter import Begun
    from whimbrel.engine.request import Request

GZIP_HEAD: Final = b"\x1f\x8b\x08\0\0\0\0\0\0\x03"
VALIDATION: Final = 8  # bytes behind the compressed data: CRC and length
SYNC_FLUSH: Final = 2  # Z_SYNC_FLUSH
EMPTY_BLOCK: Final = b"\0\0\0\xff\xff"  # what a flush without input adds (RFC 1951, 3.2.4)
MIN_SIZE: Final = len(GZIP_HEAD) + VALIDATION + 50 + 1  # the fields of a compressed response have 50 bytes
MIN_WINDOW: Final = 9  # a smaller window is refused by zlib's deflateInit2
# Where zlib reads more of an input that is in memory as a whole: its window is filled, then moved.
WINDOW_FILLED = 64 * 1024
WINDOW_MOVED = 32 * 1024
BUCKET: Final = 8000  # bytes in which httpd reads other input
NO_CONTENT = 204
NOT_MODIFIED = 304
DEFAULT_LEVEL: Final = 6
MAX_ISAL_LEVEL: Final = 2
# isal's memory level with blocks of about as many symbols, by zlib's; 1 for lower ones
ISAL_MEMORY: Final = {9: 5, 8: 3}
# zlib-ng's level with output of about zlib's size, by zlib's level: a fifth faster than its own level 6
NG_LEVEL: Final = {6: 4}
MAX_SHORT: Final = 20 * 1024  # bytes of a content that zlib compresses
MODULE_NAME: Final = "deflate"
GZIP_22: Final = (AcceptsCoding("gzip", quality=False),)
GZIP_24: Final = (AcceptsCoding("gzip", quality=True),)


def make_compressor(conf: DeflateServerConfig, *, is_short: bool) -> tuple[Any, Any]:
    """Return a compressor for raw deflate data, and the function for its CRC.

    A short content is compressed by zlib itself: its size is that of httpd's response, at the same speed.
    """
    level = DEFAULT_LEVEL if conf.level < 0 else conf.level
    if is_short:
        import zlib  # none of the libraries is needed before the first response

        return zlib.compressobj(level, zlib.DEFLATED, -conf.window, conf.memory), zlib.crc32
    if level <= MAX_ISAL_LEVEL:
        from isal import isal_zlib

        memory = ISAL_MEMORY.get(conf.memory, 1)
        return isal_zlib.compressobj(level, isal_zlib.DEFLATED, -conf.window, memory), isal_zlib.crc32
    from zlib_ng import zlib_ng

    level = NG_LEVEL.get(level, level)
    return zlib_ng.compressobj(level, zlib_ng.DEFLATED, -conf.window, conf.memory), zlib_ng.crc32


class Gzip(Transform):
    """Compressor of one response.

    Output is held until `DeflateBufferSize` bytes are there while more input has come, as in httpd.

    Attributes:
        is_mapped: httpd maps the input into memory, as it does with files.
    """

    __slots__ = (
        "_compressor",
        "_conf",
        "_crc",
        "_crc32",
        "_held",
        "_is_flushed",
        "_mark",
        "_output",
        "_produced",
        "_read",
        "_request",
        "_step",
        "_waiting",
        "_waiting_size",
        "early",
    )
    is_heavy = True

    def __init__(self, r: Request, conf: DeflateServerConfig, key: Key | None, *, is_mapped: bool) -> None:
        self._request = r
        self._conf = conf
        self._compressor: Any = None
        self._crc32: Any = None
        self._waiting: list[bytes] = []
        self._crc = 0
        self._read = 0
        self._produced = 0
        self._waiting_size = 0
        self._held = [GZIP_HEAD]
        self._output = RecordedOutput(r, key)
        self._mark, self._step = (WINDOW_FILLED, WINDOW_MOVED) if is_mapped else (BUCKET, BUCKET)
        self.early = False
        self._is_flushed = False

    def feed(self, data: bytes) -> bytes:
        """Return the output that httpd passes on."""
        self._is_flushed = False
        if self._compressor is None:
            self._waiting.append(data)
            self._waiting_size += len(data)
            if self._waiting_size <= MAX_SHORT:
                return b""
            data = self._start(is_short=False)
        return self._compress(data)

    def _start(self, *, is_short: bool) -> bytes:
        """Choose the library; return the input that waits for it."""
        self._compressor, self._crc32 = make_compressor(self._conf, is_short=is_short)
        data = b"".join(self._waiting)
        self._waiting.clear()
        return data

    def _compress(self, data: bytes) -> bytes:
        self._crc = self._crc32(data, self._crc)
        at = 0
        size = len(data)
        compress = self._compressor.compress
        while at < size and not self.early:
            room = self._mark - self._read
            if not room:
                self.early = self._produced >= self._conf.buffer
                self._mark += self._step
                continue
            piece = data[at : at + room] if at or room < size else data
            at += len(piece)
            self._read += len(piece)
            self._hold(compress(piece))
        if not self.early:
            return b""
        if self._request.header_only:  # the length of its response is unknown, so the rest does not matter
            self._output.discard()
        elif at < size:
            rest = data[at:] if at else data
            self._read += len(rest)
            self._hold(compress(rest))
        return self._pass()

    def flush(self) -> bytes:
        """Return the output of all input so far: a block that ends on a byte.

        zlib itself compresses what begins with a flush before it is long, so its size is that of httpd's. A
        further flush without input between them adds nothing, as in zlib.
        """
        if (self.early and self._request.header_only) or self._is_flushed:
            return b""
        self._is_flushed = True
        if self._waiting:
            self._compress(self._start(is_short=True))
        self.early = True
        self._hold(EMPTY_BLOCK if self._compressor is None else self._compressor.flush(SYNC_FLUSH))
        return self._pass()

    def _hold(self, out: bytes) -> None:
        if out:
            self._produced += len(out)
            self._held.append(out)

    def _pass(self) -> bytes:
        out = b"".join(self._held)
        self._held.clear()
        self._output.add(out)
        return out

    def end(self, data: bytes) -> bytes:
        """Return the rest of the output; log and store it."""
        first = self.feed(data) if data else b""
        if self._compressor is None:
            first = self._compress(self._start(is_short=True))
        if self.early and self._request.header_only:
            return first
        self._hold(self._compressor.flush())
        self._held.append(self._crc.to_bytes(4, "little") + (self._read & 0xFFFFFFFF).to_bytes(4, "little"))
        out = self._pass()
        report(self._request, self._read, self._produced)
        self._output.store(early=self.early, size=self._produced)
        return first + out


def report(r: Request, read: int, produced: int) -> None:
    """Log the sizes without the head and the validation bytes, and set the notes."""
    conf = r.server_conf(DeflateServerConfig)
    log(r, "debug", f"Zlib: Compressed {read} to {produced} : URL {r.uri}", "AH01384")
    if conf.input_note:
        r.notes[conf.input_note] = str(read) if read else "-"
    if conf.output_note:
        is_known = read if r.plan.dialect.wire_22 else produced
        r.notes[conf.output_note] = str(produced) if is_known else "-"
    if conf.ratio_note:
        r.notes[conf.ratio_note] = str(produced * 100 // read) if read else "-"


def log(r: Request, level: str, text: str, code: str = "", cause: str = "") -> None:
    """Write a line in the name of mod_deflate."""
    r.log(level, text, code=code, module=MODULE_NAME, cause=cause)


def trace(r: Request, text: str) -> None:
    """Write a line at level trace1, which 2.2 does not have."""
    if not r.plan.dialect.wire_22:
        r.log("trace1", text, module=MODULE_NAME)


class Deflate(OutputFilter):
    """Output filter DEFLATE."""

    is_computed = True
    name = "DEFLATE"
    type = FilterType.CONTENT_SET

    def begin(self, r: Request) -> Begun | Awaitable[Begun]:
        """Return the compressor, None for a response that is not compressed."""
        if not r.plan.dialect.wire_22 and not r.chunked:  # the end is known to httpd too
            if not is_complete(r.body):
                return begin_source(r)
            size = sum(map(size_of, r.body))
            if size < MIN_SIZE:
                trace(r, f"Not compressing very small response of {size} bytes")
                r.body = [bytes(part) if isinstance(part, PipedBytes) else part for part in r.body]
                return None
        return begin_compression(r)


async def begin_source(r: Request) -> Begun:
    """`Deflate.begin` for a body whose source must be read to know that it is not small."""
    source = JoinedSource(r.body)
    first = list[Part]()
    size = 0
    r.body = [source]
    while size < MIN_SIZE and (data := await source.read()) is not None:
        first.append(data)
        size += len(data)
    if size < MIN_SIZE:
        trace(r, f"Not compressing very small response of {size} bytes")
        r.body = first
        return None
    r.body = [*first, source]
    begun = begin_compression(r)
    return begun if begun is None or isinstance(begun, Transform) else await begun


def begin_compression(r: Request) -> Transform | None | Awaitable[Begun]:
    """Decide, set the fields, and return the compressor or what the cache has."""
    if not is_wanted(r):
        return None
    conf = r.server_conf(DeflateServerConfig)
    present = current_coding(r)
    if conf.window < MIN_WINDOW and r.status != NOT_MODIFIED:
        log(r, "error", f"unable to init Zlib: deflateInit2 returned -2: URL {r.uri}", "AH01383")
        return None
    add_coding(r, "gzip", present)
    if not r.plan.dialect.wire_22:
        alter_etag(r, conf.etag, "gzip")
    if r.status == NOT_MODIFIED:
        return None
    is_mapped = is_file(r)
    return begin_coded(
        r,
        ("gzip", conf.level, conf.window, conf.memory, conf.buffer, is_mapped),
        lambda key: Gzip(r, conf, key, is_mapped=is_mapped),
        lambda read, produced: report(r, read, produced),
    )


def is_wanted(r: Request) -> bool:
    """Return True if the response is to be compressed; add Vary where that depends on Accept-Encoding."""
    is_22 = r.plan.dialect.wire_22
    env = r.env
    if r.main is not None:
        reason = "subrequest"
    elif r.status == NO_CONTENT and not is_22:
        reason = "no content"
    elif "no-gzip" in env:
        reason = "no-gzip"
    elif "Content-Range" in r.headers_out:
        reason = "content-range"
    else:
        reason = ""
    if reason:
        trace(r, f"Not compressing ({reason})")
        return False
    if not (r.content_type or "").startswith("text/html") and env.get("gzip-only-text/html") == "1":
        trace(r, "Not compressing, (gzip-only-text/html)")
        return False
    coded = first_coding(current_coding(r))
    if coded:
        trace(r, f"Not compressing (content-encoding already  set: {coded})")
        return False
    r.headers_out.merge("Vary", "Accept-Encoding")
    if "force-gzip" in env:
        trace(r, "Forcing compression (force-gzip set)")
    elif not is_accepted(r, GZIP_22 if is_22 else GZIP_24, MODULE_NAME):
        if "accept-encoding" in r.headers_in.entries():
            trace(r, "Not compressing (no Accept-Encoding: gzip or q=0)")
        return False
    return not (is_22 and r.status in (NO_CONTENT, NOT_MODIFIED))


DEFLATE: Final = Deflate()
