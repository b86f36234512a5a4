"""Conversions of mod_xml2enc by iconv: documents to UTF-8, and output of mod_proxy_html to another charset.

An invalid byte is skipped and logged. Where httpd's filter fails, the response does: at an invalid byte that
directly follows another one, or that begins or ends the document, and at an incomplete character at the end.
"""

from __future__ import annotations

from errno import E2BIG, EILSEQ, EINVAL
from typing import Final

from whimbrel.engine.output.filter import FilterError, Transform
from whimbrel.engine.request import Request
from whimbrel.modules.support.iconv import Iconv

_MODULE: Final = "xml2enc"
MAX_HELD: Final = 8000  # bytes that httpd's ap_fwrite collects before it passes them on
MAX_LOGGED: Final = 1000  # lines about the bytes of one response; httpd has no bound
ROOM: Final = 8192  # bytes of httpd's buffer for the output of one call of iconv
_MORE: Final = 16  # bytes of room for a character that httpd's buffer has no room for
_LONGEST: Final = 4  # bytes of a character of UTF-8
_CAUSES: Final = {
    EILSEQ: "(22)Invalid argument",
    EINVAL: "(70008)Partial results are valid but processing is incomplete",
}


class LoggedConversion:
    """A conversion with the state and the log lines of httpd's filter.

    Attributes:
        failed: True if httpd's filter returns an error.
    """

    __slots__ = ("_begun", "_iconv", "_is_bad", "_is_stuck", "_lines", "_r", "_rest", "_skipped", "failed")

    def __init__(self, r: Request, iconv: Iconv) -> None:
        self._r = r
        self._iconv = iconv
        self._rest = b""
        self._lines = 0
        self._skipped = 0
        self._begun = False
        # the last call of iconv made no output; it stopped at an invalid byte
        self._is_stuck = False
        self._is_bad = False
        self.failed = False

    def convert(self, data: bytes, room: int, *, is_last: bool = False) -> list[bytes]:
        """Return the outputs of iconv for *data*, each of up to *room* bytes; a character that is incomplete
        waits for more, except at the end of the *last* data.
        """
        if data or not self._begun:
            self._log("debug", "AH01439", f"xml2enc: consuming {len(data)} bytes from bucket")
        self._begun = True
        data, self._rest = self._rest + data, b""
        at = 0
        outputs = []
        while at < len(data) and not self.failed:
            if self._is_stuck:
                left = f"{len(data) - at} unconsumed bytes from bucket"
                self._log("debug", "AH01440", f"xml2enc: reinserting {left}")
                self.failed = True
                break
            size = min(room, (len(data) - at) * _LONGEST + _MORE)
            out, count, reason = self._iconv.step(data, at, size)
            at += count
            if reason == EINVAL and not is_last:
                self._rest, at, reason = data[at:], len(data), 0
            elif reason == E2BIG and not out:
                room += _MORE
                continue
            outputs.append(out)
            self._log_call(reason, count, len(out), len(data) - at)
            self._is_bad = reason == EILSEQ
            self._is_stuck = reason != 0 and not out
            self._skipped = 1 if self._is_bad else 0
            at += self._skipped
        return outputs

    def end_bucket(self) -> None:
        """End a bucket: it must not end with an invalid byte."""
        self.failed = self.failed or self._is_bad
        self._is_stuck = False
        self._skipped = 0

    def resume(self) -> None:
        """Go on behind a bucket that has failed."""
        self.failed = False
        self._is_stuck = False
        self._is_bad = False
        self._skipped = 0
        self._rest = b""

    def _log_call(self, reason: int, count: int, size: int, left: int) -> None:
        """Log one call of iconv."""
        if self._lines >= MAX_LOGGED:
            return
        text = f"xml2enc: converted {count + self._skipped}/{size} bytes"
        self._log("debug", "AH01441", text, _CAUSES.get(reason, ""))
        if reason == EINVAL:
            self._log("debug", "AH01443", f"Incomplete byte sequence: {left} bytes unconverted")
        elif reason == EILSEQ:
            self._log("error", "AH01444", "Skipping invalid byte(s) in input stream!")

    def _log(self, level: str, code: str, text: str, cause: str = "") -> None:
        self._lines += 1
        if self._lines <= MAX_LOGGED:
            self._r.log(level, text, code=code, module=_MODULE, cause=cause)


class Utf8Conversion(Transform):
    """Conversion of a document to UTF-8.

    *size* is the number of bytes of the document that httpd has when it decides about the charset. *meta* is
    the position where a META element was cut, which ends a bucket, or 0.
    """

    __slots__ = ("_conversion", "_held", "_meta", "_size", "early")

    def __init__(self, r: Request, iconv: Iconv, size: int, meta: int) -> None:
        self._conversion = LoggedConversion(r, iconv)
        self._size = size
        self._meta = meta
        self._held = 0
        self.early = False

    def feed(self, data: bytes) -> bytes:
        """Return the next bytes in UTF-8."""
        return self._converted(data, is_last=False)

    def flush(self) -> None:
        """Keep the flush: httpd passes on what it has converted, and no FLUSH bucket."""

    def end(self, data: bytes) -> bytes:
        """Return the last bytes in UTF-8."""
        return self._converted(data, is_last=True)

    def _converted(self, data: bytes, *, is_last: bool) -> bytes:
        conversion = self._conversion
        outputs = list[bytes]()
        if self._meta:
            before, data = data[: self._meta], data[self._meta :]
            self._meta -= len(before)
            outputs = conversion.convert(before, self._size)
            if not self._meta:
                conversion.end_bucket()
        if (data or is_last) and not conversion.failed:
            outputs += conversion.convert(data, self._size, is_last=is_last)
            if is_last:
                conversion.end_bucket()
        passed = self._passed(outputs)
        if conversion.failed:
            raise FilterError(passed=b"".join(outputs)[:passed])
        return b"".join(outputs)

    def _passed(self, outputs: list[bytes]) -> int:
        """Return how many bytes of *outputs* httpd passes on before the end of the document."""
        size = 0
        passed = 0
        for out in outputs:
            size += len(out)
            self._held += len(out)
            if self._held > MAX_HELD:
                self._held = 0
                passed = size
                self.early = True
        return passed


class Encoding:
    """Conversion of output from UTF-8.

    httpd converts the output in brigades. A character that the charset lacks ends its brigade: the rest of it
    is dropped, and the response ends if it is the last one.
    """

    __slots__ = ("_conversion", "_count", "_is_dropped")

    def __init__(self, r: Request, iconv: Iconv) -> None:
        self._conversion = LoggedConversion(r, iconv)
        self._count = 0
        self._is_dropped = False

    def feed(self, data: bytes) -> bytes:
        """Return whole characters of UTF-8 in the charset."""
        outputs: list[bytes] = []
        at = 0
        while at < len(data):
            end = at + MAX_HELD + 1 - self._count
            while end < len(data) and data[end] & 0xC0 == 0x80:  # within a character
                end += 1
            piece = data[at:end]
            if not self._is_dropped:
                outputs += self._conversion.convert(piece, ROOM, is_last=True)
                self._conversion.end_bucket()
                self._is_dropped = self._conversion.failed
            at, self._count = at + len(piece), self._count + len(piece)
            if self._count > MAX_HELD:
                self._count = 0
                self._is_dropped = False
                self._conversion.resume()
        return b"".join(outputs)

    def end(self) -> None:
        """End the output; raise FilterError if the last brigade has failed."""
        if self._is_dropped:
            raise FilterError()
