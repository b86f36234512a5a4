"""Decompression of gzip in steps of one output buffer, with httpd's limits and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from whimbrel.modules.filters.mod_deflate.compress import GZIP_HEAD, MODULE_NAME, VALIDATION
from whimbrel.modules.filters.mod_deflate.settings import DeflateDirConfig, DeflateServerConfig

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

MAGIC: Final = GZIP_HEAD[:2]
HEAD_SIZE: Final = len(GZIP_HEAD)
HEAD_CRC = 0x02
EXTRA = 0x04
NAME = 0x08
COMMENT = 0x10
RESERVED = 0xE0
MIN_WINDOW: Final = 8  # a smaller one is refused by zlib's inflateInit2
GENERAL_ERROR: Final = "(20014)Internal error (specific information not available)"
TOO_LARGE: Final = "(28)No space left on device"
INVALID: Final = "(22)Invalid argument"


class InflateError(Exception):
    """Data cannot be inflated; *cause* is the error that httpd's filter returns."""

    def __init__(self, cause: str = GENERAL_ERROR) -> None:
        super().__init__(cause)
        self.cause = cause


class FilterCodes(NamedTuple):
    """The numbers of the messages that both directions have."""

    data: str
    ratio: str


class OptionalFields:
    """Reader of what a gzip header has behind its first ten bytes, in pieces (RFC 1952, 2.3)."""

    __slots__ = ("_flags", "_length", "_missing")

    def __init__(self, flags: int) -> None:
        self._flags = flags
        self._missing = 2 if flags & EXTRA else 0  # bytes of the length of the extra field, and of its CRC
        self._length = 0

    @property
    def is_complete(self) -> bool:
        """Return True if nothing is missing."""
        return not self._flags & (EXTRA | NAME | COMMENT | HEAD_CRC)

    def skip(self, data: bytes) -> bytes:
        """Return *data* without the fields; b"" as long as they go on."""
        if self._flags & EXTRA:
            data = self._skip_extra(data)
        for flag in (NAME, COMMENT):
            if self._flags & flag and not self._flags & (EXTRA | (NAME & ~flag)):
                end = data.find(0)
                if end < 0:
                    return b""
                data = data[end + 1 :]
                self._flags &= ~flag
        if self._flags & HEAD_CRC and not self._flags & (EXTRA | NAME | COMMENT):
            self._missing = self._missing or 2
            cut = min(self._missing, len(data))
            self._missing -= cut
            data = data[cut:]
            if not self._missing:
                self._flags &= ~HEAD_CRC
        return data if self.is_complete else b""

    def _skip_extra(self, data: bytes) -> bytes:
        while self._missing and data:
            self._length |= data[0] << (8 * (2 - self._missing))
            self._missing -= 1
            data = data[1:]
        if self._missing:
            return b""
        cut = min(self._length, len(data))
        self._length -= cut
        if not self._length:
            self._flags &= ~EXTRA
        return data[cut:]


class GzipStream:
    """Decompressor of one gzip member, in steps of one output buffer.

    A step ends with a full buffer, with the input, or with the member. httpd checks its limits then; 2.2 does
    when a buffer is full.

    Attributes:
        room: bytes left in the present buffer.
        read, written: bytes of compressed data and of output.
        trailer: what has come of CRC and length; None before the end of the compressed data.
    """

    __slots__ = (
        "_crc",
        "_crc32",
        "_hits",
        "_limit",
        "_request",
        "_settings",
        "_stream",
        "_window",
        "buffer",
        "codes",
        "read",
        "room",
        "trailer",
        "written",
    )

    def __init__(self, r: Request, codes: FilterCodes, limit: int = 0) -> None:
        from zlib_ng import zlib_ng  # not needed before the first response

        conf = r.server_conf(DeflateServerConfig)
        self._request = r
        self.codes = codes
        self._limit = limit
        self._settings = r.dir_config(DeflateDirConfig)
        self._stream: Any = zlib_ng.decompressobj(-max(conf.window, MIN_WINDOW))
        self._crc32 = zlib_ng.crc32
        self.buffer = conf.buffer
        self.room = self.buffer
        self.read = 0
        self.written = 0
        self._crc = 0
        self._hits = 0
        self.trailer: bytes | None = None

    def log(self, level: str, text: str, code: str = "") -> None:
        """Write a line in the name of mod_deflate."""
        self._request.log(level, text, code=code, module=MODULE_NAME)

    def step(self, data: bytes) -> tuple[bytes, bytes]:
        """Return the output of one step, and the rest of *data*; raise InflateError."""
        stream = self._stream
        if not self.room:
            self._check(is_full=True)
            self.room = self.buffer
        try:
            out: bytes = stream.decompress(data, self.room)
        except Exception as problem:  # the module's own class
            if problem.__class__.__module__.partition(".")[0] != "zlib_ng":
                raise
            number, _, text = str(problem).removeprefix("Error ").partition(" while decompressing data")
            text = text.removeprefix(": ") or "(null)"
            self.log("warn", f"Zlib error {number} inflating data ({text})", self.codes.data)
            raise InflateError from None
        rest: bytes = stream.unused_data if stream.eof else stream.unconsumed_tail
        self.read += len(data) - len(rest)
        self.written += len(out)
        self.room -= len(out)
        self._crc = self._crc32(out, self._crc)
        if stream.eof:
            self.trailer = b""
        self._check(is_full=False)
        return out, rest

    def _check(self, *, is_full: bool) -> None:
        """Check limit and ratio, after each step in 2.4, for full buffers in 2.2."""
        if is_full is not self._request.plan.dialect.wire_22:
            return
        limit = self._limit
        settings = self._settings
        if limit and self.written > limit:
            self.log(
                "warn",
                f"Inflated content length of {self.written} is larger than the configured limit of {limit}",
                "AH02648",
            )
            raise InflateError(TOO_LARGE)
        if not self.read or self.written // self.read < settings.ratio:
            self._hits = 0
            return
        self._hits += 1
        if self._hits > settings.burst:
            self.log(
                "warn",
                f"Inflated content ratio is larger than the configured limit {settings.ratio} by "
                f"{settings.burst} time(s)",
                self.codes.ratio,
            )
            raise InflateError(INVALID)

    def take_trailer(self, data: bytes) -> bytes:
        """Add *data* to CRC and length; return what follows them."""
        assert self.trailer is not None
        missing = VALIDATION - len(self.trailer)
        self.trailer += data[:missing]
        return data[missing:]

    @property
    def expected_length(self) -> int:
        """Return the length of the output that the trailer has."""
        assert self.trailer is not None
        return int.from_bytes(self.trailer[4:], "little")

    @property
    def is_crc_right(self) -> bool:
        """Return True if the CRC of the output is that of the trailer."""
        assert self.trailer is not None
        return int.from_bytes(self.trailer[:4], "little") == self._crc

    @property
    def is_length_right(self) -> bool:
        """Return True if the length of the output is that of the trailer."""
        return self.expected_length == self.written & 0xFFFFFFFF


def flags_shown(flags: int) -> str:
    """Return reserved flags as httpd prints them: a signed character."""
    return f"{flags if flags < 0x80 else flags | 0xFFFFFF00:02x}"


def without_gzip(codings: str) -> str | None:
    """Return *codings* without a gzip at the end (only identity may follow); None without one."""
    rest = codings
    while True:
        before, comma, last = rest.rpartition(",")
        token = (last.lstrip(" \t\n\v\f\r") if comma else last).lower()
        if token in ("gzip", "x-gzip"):
            return before
        if not comma or token not in ("", "identity"):
            return None
        rest = before
