"""mod_include: documents with elements that the server fills in.

Manual: mod/mod_include.html.
"""

from __future__ import annotations

from stat import S_IXGRP, S_IXUSR
from typing import TYPE_CHECKING, Any, Final

from whimbrel.config.core_config import OPT_INCLUDES, CoreDirConfig
from whimbrel.engine.deps.files import is_file
from whimbrel.modules.filters.mod_include.settings import (
    DIRECTIVES,
    FULL,
    OFF,
    IncludeDirConfig,
    IncludeServerConfig,
)
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Provider, Reads, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, HookStatus

if TYPE_CHECKING:
    from whimbrel.modules.filters.mod_include.document import Piece

MAX_CACHED: Final = 256  # documents
MAX_CACHED_BYTES: Final = 4 << 20  # of all documents that are cached
MAX_IN_MEMORY: Final = (
    256 * 1024
)  # bytes of a document that is read at once, and cached; a longer one is read in pieces
_PIECES: Final = "include documents"


class Includes:
    """The output filter INCLUDES."""

    __slots__ = ()

    def setup(self, r: Any) -> None:
        """Before the handler runs: such a document is no file that a client may keep, unless XBitHack Full says so."""
        conf = r.dir_config(IncludeDirConfig)
        if not (conf.xbithack == FULL and r.finfo is not None and r.finfo.st_mode & S_IXGRP):
            r.no_local_copy = True
        if not conf.etag:
            r.notes["no-etag"] = ""

    async def __call__(self, r: Any) -> None:
        """Replace the body of *r* by the document made of it."""
        if not r.dir_config(CoreDirConfig).options.value & OPT_INCLUDES:
            text = f"mod_include: Options +Includes (or IncludesNoExec) wasn't set, INCLUDES filter removed: {r.uri}"
            r.log("warn", text, code="AH01374", module="include")
            return
        from whimbrel.engine.input.body import Joined
        from whimbrel.modules.filters.mod_include.page import Page  # costs time that -t has no use for
        from whimbrel.modules.filters.mod_include.reading import Document, PageStream
        from whimbrel.modules.filters.mod_include.renderer import render

        conf = r.dir_config(IncludeDirConfig)
        self._head(r, conf)
        source: Any = Joined(r.body if r.stream is None else [r.stream])
        r.body, r.stream = [], None
        document = Document(source, r.server_conf(IncludeServerConfig))
        page = Page(r, conf)
        await page.set_up()
        first, ended = await document.beginning(MAX_IN_MEMORY)
        page.take(pieces_of(r, first) if ended else document.pieces_of(first), None if ended else document)
        if page.has_elements:
            r.chunked = True
        if await render(page):
            r.body = page.out
        else:
            r.stream = PageStream(page, source)

    def _head(self, r: Any, conf: IncludeDirConfig) -> None:
        r.headers_out.unset("Content-Length")
        if conf.xbithack == FULL and r.finfo is not None and r.finfo.st_mode & S_IXGRP:
            from whimbrel.modules.core.handler import set_last_modified

            r.mtime = max(r.mtime or 0, r.finfo.st_mtime_ns // 1000)
            set_last_modified(r)
        elif not conf.last_modified:
            r.headers_out.unset("Last-Modified")


def pieces_of(r: Any, data: bytes) -> tuple[Piece, ...]:
    """*data* taken apart.

    The cache has the bytes of a document as its key, so an entry is always valid; `MAX_CACHED` and `MAX_CACHED_BYTES` bound it, and it is emptied
    when it is full.
    """
    conf = r.server_conf(IncludeServerConfig)
    cache: dict[bytes, tuple[Piece, ...]] = r.engine.plans.root(r.server).notes.setdefault(_PIECES, {})
    found = cache.get(data)
    if found is None:
        from whimbrel.modules.filters.mod_include.document import pieces

        found = pieces(data, conf.start, conf.end)
        if len(cache) >= MAX_CACHED or sum(map(len, cache)) + len(data) > MAX_CACHED_BYTES:
            cache.clear()
        cache[data] = found
    return found


INCLUDES: Final = Includes()


def make_fixup(scope: Scope) -> CompiledHook:
    """Adds the filter for the handler server-parsed, and under XBitHack for text/html files that their owner may execute."""
    hack = scope.dir_config(IncludeDirConfig).xbithack != OFF

    def fixup(r: Any) -> HookStatus:
        if r.handler == "server-parsed":
            if not r.content_type:
                r.content_type = "text/html"
            r.handler = "default-handler"
        elif (
            not hack
            or not is_file(r.finfo)
            or not r.finfo.st_mode & S_IXUSR
            or not (r.content_type or "").startswith("text/html")
        ):
            return DECLINED
        r.add_filter(INCLUDES)
        return DECLINED

    return CompiledHook(fixup, Reads.HEAD | Reads.FILES, needs_file=True)


MODULE = Module(
    name="include_module",
    source="mod_include.c",
    directives=DIRECTIVES,
    dir_config=IncludeDirConfig,
    server_config=IncludeServerConfig,
    hooks=(Hook(FIXUPS, make_fixup, Order.LAST),),
    providers=(Provider("output_filter", "includes", INCLUDES),),
)
