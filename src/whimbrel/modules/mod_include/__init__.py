"""mod_include: documents with elements that the server fills in.

Manual: mod/mod_include.html.
"""

from __future__ import annotations

from stat import S_IXGRP, S_IXUSR
from typing import TYPE_CHECKING, Any, Final

from whimbrel.config.core import OPT_INCLUDES, CoreFolder
from whimbrel.modules.mod_include.settings import DIRECTIVES, FULL, OFF, IncludeFolder, IncludeServer
from whimbrel.registry.module import Hook, Made, Module, Order, Provider, Reads, Scope
from whimbrel.registry.phases import DECLINED, FIXUPS, Answer
from whimbrel.request.files import is_file

if TYPE_CHECKING:
    from whimbrel.modules.mod_include.document import Piece

MOST_KEPT: Final = 256
LONGEST_KEPT: Final = 1 << 20
_PIECES: Final = "include documents"


class Includes:
    """The output filter INCLUDES."""

    __slots__ = ()

    def setup(self, r: Any) -> None:
        """Before the handler runs: such a document is no file that a client may keep, unless XBitHack Full says so."""
        conf = r.conf(IncludeFolder)
        if not (conf.xbithack == FULL and r.info is not None and r.info.st_mode & S_IXGRP):
            r.no_local_copy = True
        if not conf.etag:
            r.notes["no-etag"] = ""

    async def __call__(self, r: Any) -> None:
        """Replace the body of *r* by the document made of it."""
        if not r.conf(CoreFolder).options.value & OPT_INCLUDES:
            text = f"mod_include: Options +Includes (or IncludesNoExec) wasn't set, INCLUDES filter removed: {r.uri}"
            r.log("warn", text, code="AH01374", module="include")
            return
        from whimbrel.modules.mod_include.document import Element
        from whimbrel.modules.mod_include.page import Page  # costs time that -t has no use for
        from whimbrel.request.body import whole

        conf = r.conf(IncludeFolder)
        self._head(r, conf)
        stream, r.stream = r.stream, None
        found = pieces_of(r, await whole(r.body, stream))
        page = Page(r, conf)
        await page.set_up()
        if any(isinstance(piece, Element) for piece in found):
            r.chunked = True
        r.body = await page.make(found)

    def _head(self, r: Any, conf: IncludeFolder) -> None:
        r.headers_out.unset("Content-Length")
        if conf.xbithack == FULL and r.info is not None and r.info.st_mode & S_IXGRP:
            from whimbrel.modules.core.handler import set_last_modified

            r.mtime = max(r.mtime or 0, r.info.st_mtime_ns // 1000)
            set_last_modified(r)
        elif not conf.last_modified:
            r.headers_out.unset("Last-Modified")


def pieces_of(r: Any, data: bytes) -> tuple[Piece, ...]:
    """*data* taken apart; documents are kept under their content, so that nothing stale can be found."""
    conf = r.server_conf(IncludeServer)
    kept: dict[bytes, tuple[Piece, ...]] = r.engine.world.root(r.server).notes.setdefault(_PIECES, {})
    found = kept.get(data)
    if found is None:
        from whimbrel.modules.mod_include.document import pieces

        found = pieces(data, conf.start, conf.end)
        if len(data) <= LONGEST_KEPT:
            if len(kept) >= MOST_KEPT:
                kept.clear()
            kept[data] = found
    return found


INCLUDES: Final = Includes()


def make_fixup(scope: Scope) -> Made:
    """Adds the filter for the handler server-parsed, and under XBitHack for text/html files that their owner may execute."""
    hack = scope.folder(IncludeFolder).xbithack != OFF

    def fixup(r: Any) -> Answer:
        if r.handler == "server-parsed":
            if not r.content_type:
                r.content_type = "text/html"
            r.handler = "default-handler"
        elif not hack or not is_file(r.info) or not r.info.st_mode & S_IXUSR or not (r.content_type or "").startswith("text/html"):
            return DECLINED
        r.add_filter(INCLUDES)
        return DECLINED

    return Made(fixup, Reads.HEAD | Reads.FILES, needs_file=True)


MODULE = Module(
    name="include_module",
    source="mod_include.c",
    directives=DIRECTIVES,
    folder_settings=IncludeFolder,
    server_settings=IncludeServer,
    hooks=(Hook(FIXUPS, make_fixup, Order.LAST),),
    providers=(Provider("output_filter", "includes", INCLUDES),),
)
