"""mod_brotli (2.4): the output filter BROTLI_COMPRESS.

The compressor is the optional package brotli. Manual: mod/mod_brotli.html; RFC 7932.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import MissingPackage
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.spec import Versions
from whimbrel.engine.output.filter import FilterType, OutputFilter, Transform
from whimbrel.modules.support.coded_bodies import Key, RecordedOutput, begin_coded
from whimbrel.modules.support.codings import (
    ADD_SUFFIX,
    ETAG_MODES,
    AcceptsCoding,
    add_coding,
    alter_etag,
    current_coding,
    first_coding,
    is_accepted,
    set_note,
)
from whimbrel.modules.support.setters import set_choice, set_in_range
from whimbrel.registry.module import CompletedConfig, Module, Provider
from whimbrel.registry.settings import ReplacedRecord, setting

if TYPE_CHECKING:
    from whimbrel.engine.output.filter import Begun
    from whimbrel.engine.request import Request

BROTLI: Final = (AcceptsCoding("br", quality=True),)
LIBRARY: Final = "brotli"
NO_CONTENT = 204
NOT_MODIFIED = 304


@dataclass(slots=True)
class BrotliServerConfig(ReplacedRecord):
    """Per-server settings.

    Attributes:
        quality: 0 to 11.
        window, block: binary logarithms of the window and of the largest input block; block 0: automatic.
        etag: what becomes of the ETag, one of `ETAG_MODES`.
        input_note, output_note, ratio_note: names of the notes for access logs; "" for none.
    """

    quality: int = setting(5)
    window: int = setting(18)
    block: int = setting(0)
    etag: str = setting(ADD_SUFFIX)
    input_note: str = setting("")
    output_note: str = setting("")
    ratio_note: str = setting("")


class Brotli(Transform):
    """Compressor of one response; output that comes before the end of the input is passed on."""

    __slots__ = ("_compressor", "_output", "_produced", "_read", "_request", "_rest", "early")
    is_heavy = True
    thread_threshold = 16 * 1024  # half a millisecond of quality 5

    def __init__(self, r: Request, conf: BrotliServerConfig, key: Key | None) -> None:
        from brotli import Compressor  # type: ignore[import-untyped,unused-ignore]

        self._output = RecordedOutput(r, key)
        self._request = r
        self._compressor = Compressor(quality=conf.quality, lgwin=conf.window, lgblock=conf.block)
        self._read = 0
        self._rest: bytes | None = None  # what `finish` has computed
        self._produced = 0
        self.early = False

    def feed(self, data: bytes) -> bytes:
        if self.early and self._request.header_only:
            self._output.discard()
            return b""
        self._read += len(data)
        out = self._add(self._compressor.process(data))
        self.early = self.early or bool(out)
        return out

    def flush(self) -> bytes:
        """Return the output of all input so far."""
        if self.early and self._request.header_only:
            return b""
        self.early = True
        return self._add(self._compressor.flush())

    def _add(self, out: bytes) -> bytes:
        self._produced += len(out)
        self._output.add(out)
        return out

    def finish(self) -> None:
        if not (self.early and self._request.header_only):
            self._rest = self._compressor.finish()

    def end(self, data: bytes) -> bytes:
        """Return the rest of the output; store it."""
        first = self.feed(data) if data else b""
        if self.early and self._request.header_only:
            return first
        out = self._add(self._compressor.finish() if self._rest is None else self._rest)
        set_notes(self._request, self._read, self._produced)
        self._output.store(early=self.early, size=self._produced)
        return first + out


def set_notes(r: Request, read: int, produced: int) -> None:
    """Set the notes for access logs."""
    conf = r.server_conf(BrotliServerConfig)
    if conf.input_note:
        r.notes[conf.input_note] = str(read)
    if conf.output_note:
        r.notes[conf.output_note] = str(produced)
    if conf.ratio_note:
        r.notes[conf.ratio_note] = str(produced * 100 // read) if read else "-"


class BrotliCompress(OutputFilter):
    """Output filter BROTLI_COMPRESS."""

    is_computed = True
    name = "BROTLI_COMPRESS"
    type = FilterType.CONTENT_SET

    def begin(self, r: Request) -> Begun | Awaitable[Begun]:
        """Return the compressor, None for a response that is not compressed or is in the cache."""
        if not is_wanted(r):
            return None
        conf = r.server_conf(BrotliServerConfig)
        add_coding(r, "br", current_coding(r))
        alter_etag(r, conf.etag, "br")
        if r.status == NOT_MODIFIED:
            return None
        return begin_coded(
            r,
            ("br", conf.quality, conf.window, conf.block),
            lambda key: Brotli(r, conf, key),
            lambda read, produced: set_notes(r, read, produced),
        )


def is_wanted(r: Request) -> bool:
    """Return True if the response is to be compressed; add Vary where that depends on Accept-Encoding."""
    if (
        r.main is not None
        or r.status == NO_CONTENT
        or "no-brotli" in r.env
        or "Content-Range" in r.headers_out
        or first_coding(current_coding(r))
    ):
        return False
    r.headers_out.merge("Vary", "Accept-Encoding")
    return is_accepted(r, BROTLI, "brotli")


def require_library(_config: CompletedConfig) -> None:
    """Refuse the start without the package."""
    try:
        import brotli  # noqa: F401
    except ImportError:
        raise MissingPackage("mod_brotli", "brotli") from None


def libraries(_config: object) -> tuple[str, ...]:
    """Return the package that workers import."""
    return (LIBRARY,)


MODULE = Module(
    name="brotli_module",
    source="mod_brotli.c",
    versions=Versions.V24,
    server_config=BrotliServerConfig,
    server_setters={
        "BrotliFilterNote": set_note("Unknown BrotliFilterNote type '{}'"),
        "BrotliCompressionQuality": set_in_range(
            "quality", 0, 11, "BrotliCompressionQuality must be between 0 and 11"
        ),
        "BrotliCompressionWindow": set_in_range(
            "window", 10, 24, "BrotliCompressionWindow must be between 10 and 24"
        ),
        "BrotliCompressionMaxInputBlock": set_in_range(
            "block", 16, 24, "BrotliCompressionMaxInputBlock must be between 16 and 24"
        ),
        "BrotliAlterETag": set_choice(
            "etag", ETAG_MODES, "BrotliAlterETag accepts only 'AddSuffix', 'NoChange' and 'Remove'"
        ),
    },
    providers=(
        Provider("output_filter", "brotli_compress", BrotliCompress()),
        Provider("libraries", LIBRARY, libraries),
    ),
    post_config=(require_library,),
)
