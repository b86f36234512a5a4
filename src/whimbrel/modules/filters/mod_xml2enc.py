"""mod_xml2enc: detects the charset of documents and converts them to UTF-8, for mod_proxy_html.

The filter xml2enc changes the Content-Type and cuts the META element that it makes false. A charset that
libxml2 knows is left to its parser; others are converted here. Manual: mod/mod_xml2enc.html.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import lower, upper
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Args, ConfigScope, Context, Directive, Versions
from whimbrel.engine.output.filter import FilterProtocol, OutputFilter, Transform
from whimbrel.modules.filters.charsets import LIBRARIES, built_in, codec_of, convertible, detected
from whimbrel.modules.support.first_bytes import cut, first_bytes
from whimbrel.modules.support.setters import add_text, global_only
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_MODULE: Final = "xml2enc"
_NOTE: Final = "xml2enc charset"  # codec of the document and its charset, separated by a blank
MIN_SNIFFED: Final = 4096  # bytes that are read before the charset is decided
MAX_HELD: Final = 8000  # bytes that httpd's ap_fwrite collects before it passes them on
MAX_LOGGED: Final = 1000  # lines about invalid bytes for one response; httpd has no bound
_META: Final = compile(rb"(?is)<meta[^>]*http-equiv[ \t\r\n='\"]*content-type[^>]*>")
_CHARSET: Final = compile(r"(?i)charset=([A-Za-z0-9_-]+)")


@dataclass(slots=True)
class Xml2EncDirConfig:
    """Per-directory settings: xml2EncDefault, and the elements of xml2StartParse."""

    default: str = setting("")
    starts: list[str] = setting(make=list)


@dataclass(slots=True)
class Xml2EncServerConfig:
    """Settings of the main server: xml2EncAlias, charsets by alias in upper case."""

    aliases: dict[str, str] = setting(make=dict)


def set_default(cmd: Command, conf: Xml2EncDirConfig, words: list[str]) -> None:
    """Set the charset of documents that name none."""
    if not words[0]:
        raise ConfigError("Default charset not found")
    aliases = cmd.main_server(Xml2EncServerConfig).aliases
    if not built_in(words[0], aliases if isinstance(aliases, dict) else {}):
        raise ConfigError("Invalid or unsupported default charset")
    conf.default = words[0]


def set_alias(_cmd: Command, conf: Xml2EncServerConfig, words: list[str]) -> None:
    """Add an alias of a charset."""
    known = conf.aliases if isinstance(conf.aliases, dict) else {}
    conf.aliases = {**known, upper(words[1]): words[0]}


class _Sniffer:
    """The search for the charset of one response.

    Attributes:
        charset: as the document names it, "" if nothing does.
        codec: of the charset if libxml2's parser reads it, else "".
    """

    __slots__ = ("_aliases", "_conf", "_r", "charset", "codec")

    def __init__(self, r: Request) -> None:
        self._r, self._conf = r, r.dir_config(Xml2EncDirConfig)
        self._aliases = r.engine.main.config(Xml2EncServerConfig).aliases
        self.charset = self.codec = ""

    def log(self, level: str, code: str, text: str) -> None:
        self._r.log(level, text, code=code, module=_MODULE)

    def sniff(self, start: bytes, kind: str) -> Transform | None:
        """Decide about the charset; return the conversion to UTF-8 if the parser cannot do it."""
        self.log("debug", "AH01430", f"Content-Type is {kind}")
        at = lower(kind).find("charset=")
        if at >= 0:
            self.charset = kind[at + 8 :].partition(" ")[0].partition(";")[0]
            self.log("info", "AH01431", f"Got charset {self.charset} from HTTP headers")
            self._take(self.charset)
        named = bool(at >= 0)
        if not self.codec and not (named and self.charset) and (found := detected(start)) is not None:
            self.charset, self.codec = found
            named = True
            self.log("info", "AH01432", "Got charset from XML rules.")
        if (match := _META.search(start)) is not None:
            self._cut_meta(match, named)
        conversion = None if self.codec else self._convert()
        if self.charset:
            self._r.content_type = _with_utf8(kind)
        return conversion

    def _take(self, charset: str) -> bool:
        own = built_in(charset, self._aliases)
        self.codec = codec_of(own) if own else ""
        return bool(own)

    def _cut_meta(self, match: Any, named: bool) -> None:
        """Take the charset from a META element, unless it is known, and cut the element."""
        self._r.body = cut(self._r.body, match.start(), match.end())
        if not named and (charset := _CHARSET.search(match[0].decode("latin-1"))):
            self.charset = charset[1]
            if self._take(self.charset):
                self.log("info", "AH01433", f"Got charset {self.charset} from HTML META")

    def _convert(self) -> Transform | None:
        default = self._conf.default
        self.charset = self.charset or default or "ISO-8859-1"
        text = f"Charset {self.charset} not supported by libxml2; trying apr_xlate"
        self.log("debug", "AH01434", text)
        codec = convertible(self.charset)
        if codec:
            self.codec = "utf-8"
            return Utf8Conversion(self._r, codec)
        self.log("error", "AH01435", f"Charset {self.charset} not supported.  Consider aliasing it?")
        self.log("warn", "AH01436", "No usable charset information; using configuration default")
        self.codec = codec_of(built_in(default, self._aliases)) if default else "iso8859-1"
        return None

    def skip(self, start: bytes) -> None:
        """Cut what precedes the first of the elements of xml2StartParse."""
        starts = self._conf.starts
        if not starts:
            return
        at = start.find(b"<")
        found = False
        while not found and at >= 0:
            for name in starts:
                if lower(start[at + 1 : at + 1 + len(name)].decode("latin-1")) == lower(name):
                    self._r.body = cut(self._r.body, 0, at)
                    self.log("debug", "AH01428", f"Skipped to first <{name}> element")
                    found = True
                    break
            at = start.find(b"<", at + 1)
        if at < 0:
            self.log("warn", "AH01429", "Failed to find start of recognised HTML!")


def _with_utf8(kind: str) -> str:
    """Return the media type *kind* with the charset UTF-8."""
    match = _CHARSET.search(kind)
    if match is None:
        return f"{kind};charset=utf-8"
    return f"{kind[: match.start(1)]}utf-8{kind[match.end(1) :]}"


class Utf8Conversion(Transform):
    """Conversion of a document to UTF-8; invalid bytes are skipped and logged."""

    __slots__ = ("_decoder", "_log", "_r", "_size", "early")

    def __init__(self, r: Request, codec: str) -> None:
        self._r, self._size, self.early = r, 0, False
        self._log = InvalidBytes(r)
        self._decoder = codecs.getincrementaldecoder(codec)(SKIP)

    def feed(self, data: bytes) -> bytes:
        """Return the next bytes in UTF-8."""
        text = f"xml2enc: consuming {len(data)} bytes from bucket"
        self._r.log("debug", text, code="AH01439", module=_MODULE)
        out = self._decoder.decode(data).encode("utf-8", "replace")
        text = f"xml2enc: converted {len(data)}/{len(out)} bytes"
        self._r.log("debug", text, code="AH01441", module=_MODULE)
        self._log.write()
        self._size += len(out)
        self.early = self._size > MAX_HELD
        return out

    def end(self, data: bytes) -> bytes:
        """Return the last bytes; an incomplete character at the end is dropped, as in httpd."""
        return self.feed(data) if data else b""


class Encoding:
    """Conversion of output from UTF-8; characters that the charset lacks are skipped and logged."""

    __slots__ = ("_encoder", "_log")

    def __init__(self, r: Request, codec: str) -> None:
        self._encoder, self._log = codecs.getincrementalencoder(codec)(SKIP), InvalidBytes(r)

    def __call__(self, data: bytes) -> bytes:
        """Return whole characters of UTF-8 in the charset."""
        out = self._encoder.encode(data.decode("utf-8", "replace"))
        self._log.write()
        return out


# bytes that the conversion of the present call has skipped; a call reads and clears it before it returns
_skipped: Final[list[int]] = []


def _skip(problem: UnicodeError) -> tuple[str, int]:
    """Skip one byte of input, or one character of output, each of whose bytes is invalid to iconv."""
    assert isinstance(problem, UnicodeDecodeError | UnicodeEncodeError)
    wide = isinstance(problem, UnicodeEncodeError)
    _skipped.append(len(str(problem.object[problem.start]).encode("utf-8", "replace")) if wide else 1)
    return "", problem.start + 1


SKIP: Final = "whimbrel-skip"
codecs.register_error(SKIP, _skip)


class InvalidBytes:
    """The log of invalid bytes of one response."""

    __slots__ = ("_lines", "_r")

    def __init__(self, r: Request) -> None:
        self._r, self._lines = r, 0

    def write(self) -> None:
        """Log a line for each byte that the present conversion has skipped."""
        for _ in range(min(sum(_skipped), MAX_LOGGED - self._lines)):
            self._r.log("error", "Skipping invalid byte(s) in input stream!", code="AH01444", module=_MODULE)
            self._lines += 1
        _skipped.clear()


class Xml2Enc(OutputFilter):
    """Output filter xml2enc; *skips*: it acts on xml2StartParse, as it does where it is added by name."""

    __slots__ = ("_skips",)
    name = "xml2enc"
    protocol = FilterProtocol.CHANGE | FilterProtocol.CHANGE_LENGTH

    def __init__(self, *, skips: bool) -> None:
        self._skips = skips

    async def begin(self, r: Request) -> Transform | None:
        """Sniff the charset; return the conversion if there is one."""
        kind = r.content_type
        if kind is None or not (lower(kind).startswith("text/") or "xml" in lower(kind)):
            return None
        start = await first_bytes(r, MIN_SNIFFED)
        sniffer = _Sniffer(r)
        conversion = sniffer.sniff(start, kind)
        if self._skips:
            sniffer.skip((await first_bytes(r, MIN_SNIFFED))[: len(start)])
        r.notes[_NOTE] = f"{sniffer.codec} {sniffer.charset}"
        if conversion is not None:
            r.headers_out.unset("Content-Length")
        return conversion


def charset_of(r: Request) -> tuple[str, str] | None:
    """Return the codec and the charset of the document; None if the filter has not run."""
    codec, found, charset = r.notes.get(_NOTE, "").partition(" ")
    return (codec, charset) if found else None


def encoder(r: Request, charset: str) -> Callable[[bytes], bytes]:
    """Return the conversion of output to *charset*; none if it is unknown, which is logged."""
    codec = convertible(charset)
    if not codec:
        r.log("error", f"xml2enc: Charset {charset} not supported.", code="AH01427", module=_MODULE)
    return Encoding(r, codec) if codec not in ("", "utf-8") else bytes


MODULE = Module(
    name="xml2enc_module",
    source="mod_xml2enc.c",
    versions=Versions.V24,
    dir_config=Xml2EncDirConfig,
    server_config=Xml2EncServerConfig,
    directives=(
        Directive(
            name="xml2EncDefault",
            args=Args.TAKE1,
            where=Context.OR_ALL,
            apply=set_default,
            help="Usage: xml2EncDefault charset",
        ),
        Directive(
            name="xml2EncAlias",
            args=Args.ITERATE2,
            where=Context.RSRC_CONF,
            apply=global_only(set_alias),
            record=ConfigScope.SERVER,
            help="EncodingAlias charset alias [more aliases]",
        ),
        Directive(
            name="xml2StartParse",
            args=Args.ITERATE,
            where=Context.OR_ALL,
            apply=add_text("starts"),
            help="Ignore anything in front of the first of these elements",
        ),
    ),
    providers=(
        Provider("output_filter", "xml2enc", Xml2Enc(skips=True)),
        Provider("xml2enc", "input", Xml2Enc(skips=False)),
        Provider("libraries", _MODULE, lambda _configuration: LIBRARIES),
        Provider("xml2enc", "charset", charset_of),
        Provider("xml2enc", "encoder", encoder),
    ),
)
