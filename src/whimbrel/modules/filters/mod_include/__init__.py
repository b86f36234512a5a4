"""mod_include: Server Side Includes, documents with elements that the server executes."""

from __future__ import annotations

from stat import S_IXGRP, S_IXUSR

from whimbrel.base.static_typing import TYPE_CHECKING, Final
from whimbrel.config.core_config import OPT_INCLUDES, CoreDirConfig
from whimbrel.engine.deps.files import is_file
from whimbrel.engine.output.filter import OutputFilter, add_output_filter
from whimbrel.modules.filters.mod_include.settings import (
    DIR_SETTERS,
    FULL,
    OFF,
    SERVER_SETTERS,
    IncludeDirConfig,
    IncludeServerConfig,
)
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Reads, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.filters.mod_include.document import Piece

MAX_CACHED: Final = 256  # documents
MAX_CACHED_BYTES: Final = 4 << 20  # bytes of all cached documents
# bytes up to which a document is read at once and cached; a longer one is read in pieces
MAX_IN_MEMORY: Final = 256 * 1024
_PIECES: Final = "include documents"


class Includes(OutputFilter):
    """Output filter INCLUDES."""

    name = "INCLUDES"

    def insert(self, r: Request) -> None:
        """Prepare the request before its handler: no 304 for such a document, except under XBitHack Full."""
        conf = r.dir_config(IncludeDirConfig)
        if not (conf.xbithack == FULL and r.finfo is not None and r.finfo.st_mode & S_IXGRP):
            r.no_local_copy = True
        if not conf.etag:
            r.notes["no-etag"] = ""

    async def begin(self, r: Request) -> None:
        """Replace the body of *r* by the executed document."""
        if not r.dir_config(CoreDirConfig).options.value & OPT_INCLUDES:
            text = (
                "mod_include: Options +Includes (or IncludesNoExec) wasn't set, INCLUDES filter removed: "
                f"{r.uri}"
            )
            r.log("warn", text, code="AH01374", module="include")
            return
        from whimbrel.engine.live_source import joined
        from whimbrel.engine.output.headers import forgo_vary
        from whimbrel.modules.filters.mod_include.page import Page  # slow imports that -t must not pay
        from whimbrel.modules.filters.mod_include.reading import Document, PageSource
        from whimbrel.modules.filters.mod_include.renderer import render

        conf = r.dir_config(IncludeDirConfig)
        self._head(r, conf)
        source = joined(r.body)
        r.body = []
        document = Document(source, r.server_conf(IncludeServerConfig))
        page = Page(r, conf)
        await page.set_up()
        first, ended = await document.beginning(MAX_IN_MEMORY)
        page.take(pieces_of(r, first) if ended else document.pieces_of(first), None if ended else document)
        if page.has_elements:
            r.chunked = True
            if r.main is None and "force-no-vary" in r.env:
                forgo_vary(r)  # httpd passes the head on before the first element
        if await render(page):
            r.body = page.out
        else:
            r.body = [PageSource(page, source)]

    def _head(self, r: Request, conf: IncludeDirConfig) -> None:
        r.headers_out.unset("Content-Length")
        is_executable = conf.xbithack == FULL and r.finfo is not None and r.finfo.st_mode & S_IXGRP
        if r.finfo is not None and (is_executable or conf.last_modified):
            from whimbrel.modules.core.handler import set_last_modified

            r.mtime = max(r.mtime or 0, r.finfo.st_mtime_ns // 1000)
            set_last_modified(r)
        elif not conf.last_modified:
            r.headers_out.unset("Last-Modified")


def pieces_of(r: Request, data: bytes) -> tuple[Piece, ...]:
    """Return *data* split into text and elements, from a cache.

    The key is the document's bytes, so an entry is always valid. `MAX_CACHED` and `MAX_CACHED_BYTES` bound
    the cache, which is emptied when it is full.
    """
    conf = r.server_conf(IncludeServerConfig)
    cache: dict[bytes, tuple[Piece, ...]] = r.engine.plans.root(r.server).notes.setdefault(_PIECES, {})
    entry = cache.get(data)
    if entry is None:
        from whimbrel.modules.filters.mod_include.document import pieces

        entry = pieces(data, conf.start, conf.end)
        if len(cache) >= MAX_CACHED or sum(map(len, cache)) + len(data) > MAX_CACHED_BYTES:
            cache.clear()
        cache[data] = entry
    return entry


INCLUDES: Final = Includes()


def make_fixup(scope: Scope) -> CompiledHook:
    """Make the fixup that adds the filter.

    It applies to the handler server-parsed, and under XBitHack to text/html files that their owner may
    execute.
    """
    hack = scope.dir_config(IncludeDirConfig).xbithack != OFF

    def fixup(r: Request) -> HookStatus:
        if r.handler == "server-parsed":
            if not r.content_type:
                r.content_type = "text/html"
            r.handler = "default-handler"
        elif (
            not hack
            or r.finfo is None
            or not is_file(r.finfo)
            or not r.finfo.st_mode & S_IXUSR
            or not (r.content_type or "").startswith("text/html")
        ):
            return DECLINED
        add_output_filter(r, INCLUDES)
        return DECLINED

    return CompiledHook(fixup, (Reads.HEAD if hack else Reads.FIELDS) | Reads.FILES, needs_file=True)


MODULE = Module(
    name="include_module",
    source="mod_include.c",
    dir_setters=DIR_SETTERS,
    server_setters=SERVER_SETTERS,
    dir_config=IncludeDirConfig,
    server_config=IncludeServerConfig,
    hooks=(Hook(FIXUPS, make_fixup, Order.LAST),),
    providers=(Provider("output_filter", "includes", INCLUDES),),
)
