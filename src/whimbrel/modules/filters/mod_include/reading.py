"""Documents that exceed the memory bound: read in pieces, sent as a source."""

from __future__ import annotations

import asyncio
from typing import Final

from whimbrel.engine.body import FlushingSource, JoinedSource
from whimbrel.engine.live_source import PausingSource
from whimbrel.engine.request import Request
from whimbrel.modules.filters.mod_include.document import Piece, beginning
from whimbrel.modules.filters.mod_include.page import Page
from whimbrel.modules.filters.mod_include.renderer import render
from whimbrel.modules.filters.mod_include.settings import IncludeServerConfig

# bytes of an element in a document that is read in pieces; a longer one counts as unfinished, and the bytes
# up to its end are left out
MAX_ELEMENT: Final = 256 * 1024


class Document:
    """A document read from *source* and parsed incrementally.

    Attributes:
        has_pause: the pieces returned last precede a pause of the source, where the output goes on.
    """

    def __init__(self, source: JoinedSource | PausingSource, conf: IncludeServerConfig) -> None:
        self._source = source
        self._start = conf.start
        self._end = conf.end
        self._rest = b""
        self._waiting = bytearray()  # bytes behind `_rest`, in which an element is not complete
        self._skipped: bytes | None = None  # the last bytes of an element that is too long, up to its end
        self.has_pause = False

    @property
    def has_flush(self) -> bool:
        """Return True if the pause is a flush, which goes on behind the output."""
        return self._source.__class__ is PausingSource and self._source.has_flush

    async def beginning(self, count: int) -> tuple[bytes, bool]:
        """Return *count* bytes or more unless a pause or the end is before; True if they are all."""
        data = bytearray()
        while (piece := await self._source.read_or_flush()) is not None:
            data += piece
            self.has_pause = not piece
            if len(data) > count or self.has_pause:
                return bytes(data), False
        return bytes(data), True

    def pieces_of(self, data: bytes) -> tuple[Piece, ...]:
        """Return the pieces that *data* completes, together with the unparsed rest."""
        pieces, self._rest = beginning(self._rest + data, self._start, self._end, last=False)
        if len(self._rest) > MAX_ELEMENT:
            self._skipped = self._rest[-len(self._end) :]
            more, self._rest = beginning(self._rest, self._start, self._end, last=True)
            pieces += more
        return pieces

    def _behind_element(self, data: bytes) -> bytes:
        """Return what follows the end of an element that is too long in *data*."""
        end = self._end.encode("latin-1")
        data = (self._skipped or b"") + data
        at = data.find(end)
        if at < 0:
            self._skipped = data[-len(end) :]
            return b""
        self._skipped = None
        return data[at + len(end) :]

    async def more(self) -> tuple[Piece, ...] | None:
        """Return the next pieces; None at the end."""
        end = self._end.encode("latin-1")
        waiting = self._waiting
        while (data := await self._source.read_or_flush()) is not None:
            searched = max(0, len(waiting) - len(end))
            self.has_pause = not data
            if self.has_pause:
                return ()
            if self._skipped is not None:
                data = self._behind_element(data)
            waiting += data
            if not self._rest or waiting.find(end, searched) >= 0 or len(waiting) > MAX_ELEMENT:
                pieces = self.pieces_of(bytes(waiting))
                waiting.clear()
                return pieces
        if not self._rest and not waiting:
            return None
        pieces, self._rest = beginning(self._rest + waiting, self._start, self._end, last=True)
        waiting.clear()
        return pieces


class PageSource(FlushingSource):
    """The rest of a page; *source* is the document behind it."""

    def __init__(self, page: Page, source: JoinedSource | PausingSource) -> None:
        self._page = page
        self._source = source
        self._ready = JoinedSource(page.ready())
        self._ended = False
        self._draining: asyncio.Task[None] | None = None

    async def read_or_flush(self) -> bytes | None:
        """See Source: flushes are those of the document and of what it includes."""
        document = self._page.document
        while (data := await self._ready.read_or_flush()) is None:
            if self._ended:
                return None
            if document is not None and document.has_pause:
                document.has_pause = False
                if document.has_flush:
                    return b""
            self._ended = await self._page.r.engine.sync_waits.run(render(self._page))
            self._ready = JoinedSource(self._page.ready())
        return data

    async def aclose(self) -> None:
        """Stop the programs that write into the page."""
        self._ended = True
        await self._ready.aclose()
        await self._source.aclose()

    def drop(self) -> None:
        """Execute the rest of the page and discard its output."""
        self._draining = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        r: Request = self._page.r
        end = asyncio.get_running_loop().time() + r.plan.server_core.timeout
        try:
            while await self.read() is not None:
                if asyncio.get_running_loop().time() > end:
                    break
        except ConnectionError:
            pass  # logged at its source
        finally:
            await self.aclose()
