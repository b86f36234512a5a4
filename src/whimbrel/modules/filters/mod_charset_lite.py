"""mod_charset_lite: converts character sets with the filters XLATEOUT and XLATEIN.

CharsetSourceEnc is the character set of files and programs, CharsetDefault that of the client. Manual:
mod/mod_charset_lite.html.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig, merge_levels
from whimbrel.directives.command import Command
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.input.filter import FilteredBody, InputFilter, add_input_filter
from whimbrel.engine.log.error_log_line import enabled
from whimbrel.engine.output.filter import FilterError, OutputFilter, Transform, add_output_filter
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.syntax.line_reader import LogMessage
from whimbrel.modules.support.setters import set_text
from whimbrel.registry.methods import NAMES
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, INSERT_FILTER, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.support.iconv import Iconv

_MODULE: Final = "charset_lite"
_NOTE: Final = "charset-lite-out"  # the response was converted: a second XLATEOUT has no effect
_EINVAL: Final = "(22)Invalid argument"
_INCOMPLETE: Final = "(70008)Partial results are valid but processing is incomplete"
_FATTEST: Final = 8  # bytes of an incomplete character that httpd cannot buffer
_WITH_BODY: Final = ("POST", "PUT")
_OPTIONS: Final = {
    "implicitadd": ("is_implicit", True),
    "noimplicitadd": ("is_implicit", False),
    "translateallmimetypes": ("is_forced", True),
    "notranslateallmimetypes": ("is_forced", False),
}


@dataclass(slots=True)
class CharsetDirConfig:
    """Per-directory settings.

    Attributes:
        source, default: the character sets, "" if they are not set.
        is_implicit: the filters are added without further directives.
        is_forced: responses of all media types are converted.
    """

    source: str = setting("")
    default: str = setting("")
    is_implicit: bool = setting(True)
    is_forced: bool = setting(False)

    @property
    def is_active(self) -> bool:
        """True if there are two different character sets."""
        return bool(self.source and self.default) and lower(self.source) != lower(self.default)


def set_option(cmd: Command, conf: CharsetDirConfig, words: list[str]) -> None:
    """Set one option; DebugLevel, which 2.2 only knows, is stored nowhere: it adds debugging messages."""
    word = words[0].lower()
    if word in _OPTIONS:
        setattr(conf, *_OPTIONS[word])
    elif not word.startswith("debuglevel=") or cmd.dialect.messages_24:
        raise ConfigError(f"Invalid CharsetOptions option: {words[0]}")


class CharsetFailure(Exception):
    """A conversion failed; *words* and *cause* are those of the error log."""

    def __init__(self, words: str, code: str, cause: str, returned: str) -> None:
        super().__init__(words)
        self.words = words
        self.code = code
        self.cause = cause
        self.returned = returned

    def log(self, r: Request) -> None:
        """Log the failure as httpd does: 2.4 has two numbers."""
        new = r.plan.dialect.messages_24
        words = f"xlate filter - {self.words}"
        text = f"{self.code}: {words}" if new else words
        r.log("error", text, code="AH02997", module=_MODULE, cause=self.cause)


class Conversion:
    """A conversion in pieces; an incomplete character at the end of a piece waits for the next one."""

    __slots__ = ("_iconv", "_rest")

    def __init__(self, iconv: Iconv) -> None:
        self._iconv = iconv
        self._rest = b""

    def convert(self, data: bytes) -> bytes:
        """Return the output for *data*; raise CharsetFailure."""
        from errno import EILSEQ

        waiting = len(self._rest)
        data = self._rest + data
        out, count, reason = self._iconv.convert(data)
        self._rest = data[count:] if reason else b""
        if reason == EILSEQ and not (waiting and count < waiting):
            raise CharsetFailure("returning error", "AH02198", _EINVAL, _EINVAL)
        if reason == EILSEQ or len(self._rest) >= _FATTEST:
            raise CharsetFailure("a built-in restriction was encountered", "AH02193", "", _EINVAL)
        return out

    def finish(self) -> None:
        """Raise CharsetFailure if a character is incomplete."""
        if self._rest:
            words = f"incomplete char at end of input - {self._rest.hex()}"
            raise CharsetFailure(words, "AH02196", "", _INCOMPLETE)


class ConvertedOutput(Transform):
    """Output of a conversion by iconv; httpd passes it on before the end of its input is known."""

    __slots__ = ("_conversion", "_r", "early")

    def __init__(self, r: Request, iconv: Iconv) -> None:
        self._conversion = Conversion(iconv)
        self._r = r
        self.early = False

    def feed(self, data: bytes) -> bytes:
        """Return *data* converted."""
        try:
            return self._conversion.convert(data)
        except CharsetFailure as problem:
            problem.log(self._r)
            raise FilterError(500) from None

    def flush(self) -> bytes:
        """Hold only an incomplete character."""
        return b""

    def end(self, data: bytes) -> bytes:
        """Return *data* converted; it must end with a complete character."""
        out = self.feed(data) if data else b""
        self.early = bool(out)
        try:
            self._conversion.finish()
        except CharsetFailure as problem:
            problem.log(self._r)
            raise FilterError(500) from None
        return out


class ReplacedBytes(Transform):
    """Output of a conversion between character sets of one byte each."""

    __slots__ = ("_table", "early")

    def __init__(self, table: bytes) -> None:
        self._table = table
        self.early = False

    def feed(self, data: bytes) -> bytes:
        """Return *data* converted."""
        return data.translate(self._table)

    def flush(self) -> bytes:
        """Hold nothing."""
        return b""

    def end(self, data: bytes) -> bytes:
        """Return *data* converted."""
        self.early = bool(data)
        return data.translate(self._table)


class XlateOut(OutputFilter):
    """Output filter XLATEOUT."""

    is_computed = True
    name = "XLATEOUT"

    def begin(self, r: Request) -> Transform | None:
        """Return the conversion of a text; None for other responses."""
        conf = r.dir_config(CharsetDirConfig)
        if not conf.is_active or r.proxy or _NOTE in r.notes or r.content_type is None:
            return None
        r.notes[_NOTE] = "1"
        if not (conf.is_forced or lower(r.content_type).startswith(("text/", "message/"))):
            return None
        from whimbrel.modules.support.iconv import Iconv, byte_table

        try:
            table = byte_table(conf.default, conf.source)
        except LookupError:
            words = f"can't open translation {conf.source}->{conf.default}"
            r.log("error", words, code="AH01453", module=_MODULE, cause=_EINVAL)
            return None
        if _is_superseded(r, conf):
            return None
        if table is not None:
            return ReplacedBytes(table)
        r.headers_out.unset("Content-Length")
        return ConvertedOutput(r, Iconv(conf.default, conf.source))


class XlateIn(InputFilter):
    """Input filter XLATEIN."""

    name = "XLATEIN"

    def wrap(self, r: Request, body: RequestBody) -> RequestBody:
        """Return the converted body of a POST or PUT."""
        conf = r.dir_config(CharsetDirConfig)
        if not conf.is_active or r.proxy or r.method not in _WITH_BODY:
            return body
        from whimbrel.modules.support.iconv import Iconv

        return ConvertedBody(r, body, Iconv(conf.source, conf.default))


class ConvertedBody(FilteredBody):
    """Request body in another character set."""

    __slots__ = ("_conversion", "_r")

    def __init__(self, r: Request, source: RequestBody, iconv: Iconv) -> None:
        super().__init__(source)
        self._conversion = Conversion(iconv)
        self._r = r

    async def read(self) -> bytes:
        """Return the next bytes; raise BodyError for invalid ones."""
        try:
            while data := await self.read_source():
                if out := self._conversion.convert(data):
                    return out
            self._conversion.finish()
        except CharsetFailure as problem:
            problem.log(self._r)
            reason = LogMessage("trace8", "", problem.words, problem.returned)
            raise self.refused(BodyError(400, reason)) from None
        return b""


XLATE_OUT: Final = XlateOut()
XLATE_IN: Final = XlateIn()


def _is_superseded(r: Request, conf: CharsetDirConfig) -> bool:
    """Return True for a sub-request whose output the filter of the page around it converts from another
    character set (chk_filter_chain).
    """
    main = r.main
    if main is None or XLATE_OUT not in main.output_filters:
        return False
    outer = main.dir_config(CharsetDirConfig)
    return outer.is_active and outer.source != conf.default


def make_fixup(scope: Scope) -> CompiledHook | None:
    """Make the hook that refuses bodies in an unknown character set, or logs an incomplete configuration."""
    conf = scope.dir_config(CharsetDirConfig)
    if not (conf.source and conf.default):
        return _logged_incomplete(scope, conf)
    if not conf.is_active:
        return None
    from whimbrel.modules.support.iconv import byte_table

    try:
        byte_table(conf.source, conf.default)
    except LookupError:
        pass
    else:
        return None

    def refuse(r: Request) -> HookStatus:
        if r.proxy:
            return DECLINED
        words = f"can't open translation {conf.default}->{conf.source}"
        r.log("error", words, code="AH01449", module=_MODULE, cause=_EINVAL)
        return 500

    mask = sum(1 << NAMES.index(name) for name in _WITH_BODY)
    return CompiledHook(refuse, methods=mask)


def _logged_incomplete(scope: Scope, conf: CharsetDirConfig) -> CompiledHook | None:
    levels = merge_levels(
        scope.server_config(CoreServerConfig).log_level, scope.dir_config(CoreDirConfig).log_level
    )
    if not (scope.dialect.messages_24 and enabled(levels, _MODULE, "debug")):
        return None
    words = (
        f"incomplete configuration: src {conf.source or 'unspecified'}, dst {conf.default or 'unspecified'}"
    )

    def log(r: Request) -> HookStatus:
        r.log("debug", words, code="AH01448", module=_MODULE)
        return DECLINED

    return CompiledHook(log)


def make_insert(scope: Scope) -> CompiledHook | None:
    """Make the hook that adds the filters that no directive has added."""
    conf = scope.dir_config(CharsetDirConfig)
    if not (conf.is_active and conf.is_implicit):
        return None

    def insert(r: Request) -> HookStatus:
        if not r.proxy:
            if XLATE_OUT not in r.output_filters:
                add_output_filter(r, XLATE_OUT)
            if r.method in _WITH_BODY and XLATE_IN not in r.input_filters:
                add_input_filter(r, XLATE_IN)
        return OK

    return CompiledHook(insert)


MODULE = Module(
    name="charset_lite_module",
    source="mod_charset_lite.c",
    dir_config=CharsetDirConfig,
    dir_setters={
        "CharsetSourceEnc": set_text("source"),
        "CharsetDefault": set_text("default"),
        "CharsetOptions": set_option,
    },
    hooks=(
        Hook(FIXUPS, make_fixup, Order.MIDDLE),
        Hook(INSERT_FILTER, make_insert, Order.REALLY_LAST),
    ),
    providers=(
        Provider("output_filter", "xlateout", XLATE_OUT),
        Provider("input_filter", "xlatein", XLATE_IN),
    ),
)
