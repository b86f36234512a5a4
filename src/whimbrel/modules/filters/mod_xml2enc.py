"""mod_xml2enc: detects the charset of documents and converts them to UTF-8, for mod_proxy_html.

The filter xml2enc changes the Content-Type and cuts the META element that it makes false. A charset that
libxml2 knows is left to its parser; others are converted here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import decimal, lower, upper
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.engine.body import is_complete, size_of
from whimbrel.engine.output.filter import FilterProtocol, OutputFilter, Transform
from whimbrel.modules.filters.charsets import UTF_8, built_in, detected, iconv_name
from whimbrel.modules.filters.meta_tags import meta_tags
from whimbrel.modules.support.first_bytes import cut, first_bytes
from whimbrel.modules.support.setters import add_text
from whimbrel.registry.module import Module, Provider
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.filters.charset_conversion import Encoding
    from whimbrel.modules.support.iconv import Iconv

_MODULE: Final = "xml2enc"
_SHORT: Final = 7  # characters of a media type that is too short for an XML type
_CUT_NOTE: Final = "xml2enc meta"  # position of the META element that was cut
_NOTE: Final = "xml2enc charset"  # charset of the document for iconv, and its own name, separated by a blank
MIN_SNIFFED: Final = 4096  # bytes that are read before the charset is decided
UNKNOWN: Final = 8191  # length that httpd takes for a document of unknown length
_META: Final = compile(rb"(?i)<meta")
_CONTENT_TYPE: Final = compile(rb"(?i)http-equiv[ \t\r\n='\"]*content-type")
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
        read: iconv's name of the charset if libxml2's parser reads it, else "".
        meta: position of the META element that was cut, or None.
    """

    __slots__ = ("_aliases", "_conf", "_r", "charset", "meta", "read")

    def __init__(self, r: Request) -> None:
        self._conf = r.dir_config(Xml2EncDirConfig)
        self._r = r
        self._aliases = r.engine.main.config(Xml2EncServerConfig).aliases
        self.charset = ""
        self.read = ""
        self.meta: int | None = None

    def log(self, level: str, code: str, text: str) -> None:
        self._r.log(level, text, code=code, module=_MODULE)

    def sniff(self, start: bytes, kind: str) -> Iconv | None:
        """Decide about the charset; return the conversion to UTF-8 if the parser cannot do it."""
        self.log("debug", "AH01430", f"Content-Type is {kind}")
        at = lower(kind).find("charset=")
        if at >= 0:
            self.charset = kind[at + 8 :].partition(" ")[0].partition(";")[0]
            self.log("info", "AH01431", f"Got charset {self.charset} from HTTP headers")
            self._take(self.charset)
        named = bool(at >= 0)
        if not self.read and not (named and self.charset) and (found := detected(start)) is not None:
            self.charset, self.read = found
            named = True
            self.log("info", "AH01432", "Got charset from XML rules.")
        for begin, end in meta_tags(start, _META.search):
            if _CONTENT_TYPE.search(start, begin, end) is not None:
                self._cut_meta(start[begin:end], begin, named)
                break
        iconv = None if self.read else self._open()
        if self.charset:
            self._r.content_type = _with_utf8(kind)
        return iconv

    def _take(self, charset: str) -> bool:
        own = built_in(charset, self._aliases)
        self.read = iconv_name(own) if own else ""
        return bool(own)

    def _cut_meta(self, tag: bytes, begin: int, named: bool) -> None:
        """Take the charset from a META element, unless it is known, and cut the element."""
        self._r.body = cut(self._r.body, begin, begin + len(tag))
        self.meta = begin
        if not named and (charset := _CHARSET.search(tag.decode("latin-1"))):
            self.charset = charset[1]
            if self._take(self.charset):
                self.log("info", "AH01433", f"Got charset {self.charset} from HTML META")

    def _open(self) -> Iconv | None:
        default = self._conf.default
        self.charset = self.charset or default or "ISO-8859-1"
        text = f"Charset {self.charset} not supported by libxml2; trying apr_xlate"
        self.log("debug", "AH01434", text)
        from whimbrel.modules.support.iconv import Iconv  # slow import: ctypes

        try:
            iconv = Iconv(UTF_8, self.charset)
        except LookupError:
            pass
        else:
            self.read = UTF_8
            return iconv
        self.log("error", "AH01435", f"Charset {self.charset} not supported.  Consider aliasing it?")
        self.log("warn", "AH01436", "No usable charset information; using configuration default")
        self.read = iconv_name(built_in(default, self._aliases)) if default else "ISO-8859-1"
        return None

    def skip(self, start: bytes) -> int:
        """Cut what precedes the first of the elements of xml2StartParse; return how many bytes that is."""
        starts = self._conf.starts
        if not starts:
            return 0
        skipped = 0
        at = start.find(b"<")
        found = False
        while not found and at >= 0:
            for name in starts:
                if lower(start[at + 1 : at + 1 + len(name)].decode("latin-1")) == lower(name):
                    self._r.body, skipped = cut(self._r.body, 0, at), at
                    self.log("debug", "AH01428", f"Skipped to first <{name}> element")
                    found = True
                    break
            at = start.find(b"<", at + 1)
        if at < 0:
            self.log("warn", "AH01429", "Failed to find start of recognised HTML!")
        return skipped


def _with_utf8(kind: str) -> str:
    """Return the media type *kind* with the charset UTF-8."""
    match = _CHARSET.search(kind)
    if match is None:
        return f"{kind};charset=utf-8"
    return f"{kind[: match.start(1)]}utf-8{kind[match.end(1) :]}"


class Xml2Enc(OutputFilter):
    """Output filter xml2enc; *skips*: it acts on xml2StartParse, as it does where it is added by name."""

    __slots__ = ("_skips",)
    is_computed = True
    name = "xml2enc"
    protocol = FilterProtocol.CHANGE | FilterProtocol.CHANGE_LENGTH

    def __init__(self, *, skips: bool) -> None:
        self._skips = skips

    async def begin(self, r: Request) -> Transform | None:
        """Sniff the charset; return the conversion if there is one."""
        kind = r.content_type
        if kind is None or not _is_text(lower(kind)):
            return None
        start = await first_bytes(r, MIN_SNIFFED)
        size = sum(map(size_of, r.body)) if is_complete(r.body) else UNKNOWN
        sniffer = _Sniffer(r)
        iconv = sniffer.sniff(start, kind)
        meta = len(start) if sniffer.meta is None else sniffer.meta
        skipped = sniffer.skip((await first_bytes(r, MIN_SNIFFED))[:meta]) if self._skips else 0
        r.notes[_NOTE] = f"{sniffer.read} {sniffer.charset}"
        from whimbrel.modules.filters.charset_conversion import MAX_HELD, Utf8Conversion

        r.headers_out.unset("Content-Length")
        if iconv is None:
            if sniffer.meta is not None:
                r.notes[_CUT_NOTE] = str(meta - skipped)
            r.chunked = r.chunked and size > MAX_HELD
            return None
        r.chunked = False  # the conversion gathers its output: see `Transform.early`
        return Utf8Conversion(r, iconv, size, (sniffer.meta or 0) and meta - skipped)


def _is_text(kind: str) -> bool:
    """Return True for media types of text and XML; *kind* is in lower case."""
    media_type = kind.partition(";")[0]
    is_xml = media_type == "application/xml" or (len(media_type) > _SHORT and media_type.endswith("+xml"))
    return kind.startswith("text/") or is_xml


def first_bucket(r: Request) -> int | None:
    """Return the length of the first bucket if the filter has ended it, where it cut a META element."""
    cut_at = r.notes.get(_CUT_NOTE)
    return None if cut_at is None else decimal(cut_at)


def charset_of(r: Request) -> tuple[str, str] | None:
    """Return iconv's name of the charset that the document has for the parser, and that of the document; None
    if the filter has not run.
    """
    read, found, charset = r.notes.get(_NOTE, "").partition(" ")
    return (read, charset) if found else None


def encoding(r: Request, charset: str) -> Encoding | None:
    """Return the conversion of output to *charset*; None if it is unknown, which is logged."""
    from whimbrel.modules.filters.charset_conversion import Encoding
    from whimbrel.modules.support.iconv import Iconv

    try:
        return Encoding(r, Iconv(charset, UTF_8))
    except LookupError:
        text = f"xml2enc: Charset {charset} not supported."
        r.log("error", text, code="AH01427", module=_MODULE, cause="(22)Invalid argument")
        return None


MODULE = Module(
    name="xml2enc_module",
    source="mod_xml2enc.c",
    versions=Versions.V24,
    dir_config=Xml2EncDirConfig,
    server_config=Xml2EncServerConfig,
    dir_setters={
        "xml2EncDefault": set_default,
        "xml2StartParse": add_text("starts"),
    },
    server_setters={
        "xml2EncAlias": set_alias,
    },
    providers=(
        Provider("output_filter", "xml2enc", Xml2Enc(skips=True)),
        Provider("xml2enc", "input", Xml2Enc(skips=False)),
        Provider("xml2enc", "charset", charset_of),
        Provider("xml2enc", "first_bucket", first_bucket),
        Provider("xml2enc", "encoding", encoding),
    ),
)
