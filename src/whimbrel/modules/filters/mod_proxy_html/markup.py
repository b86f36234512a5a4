"""What the parser is fed: UTF-8, as libxml2 decodes the document in httpd, with marks.

Events are stripped of the character `MARK`, so marks change nothing in text, scripts, comments and values.
They stand where lxml and newer versions of libxml2 differ from httpd's libxml2 2.9:

* between the quotes of ``=""``: lxml reports attributes without value like those with an empty value, and
  httpd writes them differently;
* in ``<!`` that begins neither a comment nor a document type, which is text to libxml2 2.9;
* behind ``<!--`` if ``>`` or ``->`` follows, which does not end the comment in libxml2 2.9.
"""

from __future__ import annotations

from codecs import utf_8_decode
from errno import EILSEQ
from typing import Final

from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import upper
from whimbrel.modules.filters.charsets import BUILT_IN, UTF_8
from whimbrel.modules.filters.meta_tags import meta_tags
from whimbrel.modules.support.iconv import Iconv

MARK: Final = "\U0010fd3a"  # private use
_MARK: Final = MARK.encode()
_MARKED: Final = compile(rb"(?:=[ \t\r\n]*(?:\"(?=\")|'(?='))|<!--(?=-?>))|<(?=!(?!--|(?i:doctype)))")
# the end of a piece that may begin one of them
_OPEN: Final = compile(rb"(?:=[ \t\r\n]{0,64}[\"']?|<(?:!(?:-{0,3}|(?i:d[octyp]{0,5}))?)?)\Z")
MAX_SCRIPT: Final = 256 * 1024  # bytes of a script, and of a tag, that are parsed as a whole
MAX_TAG: Final = 1024
_SCRIPT_END: Final = compile(rb"</(?:script|style)")
_META: Final = compile(rb"(?i)<meta(?=[ \t\r\n/])")
_META_CHARSET: Final = compile(rb"(?i)charset[ \t\r\n]*=[ \t\r\n]*[\"']?([a-z0-9_:.-]+)")
_META_TEXT: Final = compile(rb"(?i)content[ \t\r\n]*=")
_META_TYPE: Final = compile(rb"(?i)http-equiv[ \t\r\n]*=[ \t\r\n]*[\"']?content-type")
_WIDE: Final = ("UTF-16", "UTF16", "UTF-32", "UTF32", "UCS-", "UCS2", "UCS4", "ISO-10646")


class Marker:
    """Marks the pieces of a text."""

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = b""

    def mark(self, data: bytes) -> bytes:
        """Return the next piece, marked; an end that may begin a marked sequence is held back."""
        data, self._held = self._held + data, b""
        if match := _OPEN.search(data, max(0, len(data) - 70)):
            data, self._held = data[: match.start()], data[match.start() :]
        return _MARKED.sub(lambda match: match[0] + _MARK, data)

    def end(self) -> bytes:
        """Return what is held back."""
        held, self._held = self._held, b""
        return held


def unmarked(text: str) -> str:
    """Return the text of an event without marks."""
    return text.replace(MARK, "") if MARK in text else text


class Splitter:
    """Ends pieces where libxml2's result does not depend on it: outside tags and scripts.

    Its parser takes other end tags for that of a script if the script comes in pieces.
    """

    __slots__ = ("_held",)

    def __init__(self) -> None:
        self._held = b""

    def split(self, data: bytes) -> bytes:
        """Return the next piece."""
        data, self._held = self._held + data, b""
        low = data[-MAX_SCRIPT:].lower()
        start = max(low.rfind(b"<script"), low.rfind(b"<style"))
        if start < 0 or _has_script_end(low, start):
            start = low.rfind(b"<", len(low) - min(len(low), MAX_TAG))
            if start >= 0 and low.find(b">", start) >= 0:
                start = -1
        if start < 0 or len(data) > MAX_SCRIPT:
            return data
        self._held = data[start:]
        return data[:start]

    def end(self) -> bytes:
        """Return what is held back."""
        held, self._held = self._held, b""
        return held


def _has_script_end(low: bytes, start: int) -> bool:
    """Return True if *low* has a whole end tag of a script or style behind *start*."""
    match = _SCRIPT_END.search(low, start)
    return match is not None and low.find(b">", match.end()) >= 0


class Decoder:
    """libxml2's input of a document, as UTF-8.

    A document in UTF-8, or in no known encoding, changes to the charset of its first META element. At its
    first invalid byte it changes to ISO-8859-1. A document in any other encoding ends at invalid bytes.

    Attributes:
        failed: True once an invalid byte has ended the document.
    """

    __slots__ = ("_charset", "_iconv", "_is_sniffing", "_tail", "failed")

    def __init__(self, charset: str) -> None:
        self._charset = upper(charset)
        self._is_sniffing = self._charset in ("", UTF_8)
        self._iconv = None if self._is_sniffing else Iconv(UTF_8, charset)
        self._tail = b""
        self.failed = False

    def feed(self, data: bytes, final: bool = False) -> bytes:
        """Return the UTF-8 of *data*."""
        return b"" if self.failed else self._convert(data, final)

    def _convert(self, data: bytes, final: bool) -> bytes:
        data, self._tail = self._tail + data, b""
        if self._iconv is not None:
            return self._decode(self._iconv, data, final)
        if self._is_sniffing and (match := _meta(data)) is not None:
            self._is_sniffing = False
            (charset, iconv) = _found(match[0])
            end = match[1]
            if iconv is not None:
                self._charset = charset
                self._iconv = iconv
                return data[:end] + self._decode(iconv, data[end:], final)
            self._charset = charset or self._charset
        return self._validate(data, final)

    def _validate(self, data: bytes, final: bool) -> bytes:
        """Return valid UTF-8 as it is; what follows an invalid byte is ISO-8859-1."""
        if data.isascii():
            return data
        if self._charset == UTF_8:
            try:
                used = utf_8_decode(data, "strict", final)[1]
            except UnicodeDecodeError as problem:
                start = problem.start
            else:
                self._tail = data[used:]
                return data[:used]
        else:
            start = next(index for index, byte in enumerate(data) if byte > 127)
        self._is_sniffing = False
        self._charset = "ISO-8859-1"
        self._iconv = Iconv(UTF_8, self._charset)
        return data[:start] + self._decode(self._iconv, data[start:], final)

    def _decode(self, iconv: Iconv, data: bytes, final: bool) -> bytes:
        out, count, reason = iconv.convert(data)
        if reason == EILSEQ or (reason and final):
            self.failed = True
            return out[: out.rfind(b">") + 1]
        self._tail = data[count:]
        return out


def _meta(data: bytes) -> tuple[bytes, int] | None:
    """Return the charset of the first META element that libxml2 takes one from, and the element's end."""
    for start, end in meta_tags(data, _META.search):
        match = _META_CHARSET.search(data, start, end)
        if match is None:
            continue
        if not _META_TEXT.search(data, start, match.start(1)) or _META_TYPE.search(data, start, end):
            return match[1], end
    return None


def _found(charset: bytes) -> tuple[str, Iconv | None]:
    """Return a charset that libxml2 would change to, "" for none, and its conversion if it is not UTF-8."""
    name = upper(charset.decode("ascii"))
    name = BUILT_IN.get(name, name)
    if name == UTF_8:
        return UTF_8, None
    if name.startswith(_WIDE):
        return "", None
    try:
        return name, Iconv(UTF_8, name)
    except LookupError:
        return "", None
