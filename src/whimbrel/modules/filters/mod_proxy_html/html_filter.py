"""The output filter proxy-html: parses a document and writes it with mapped URLs, in time slices."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from lxml import etree

from whimbrel.base.lazy_re import compile
from whimbrel.engine.body import JoinedSource, Part, Source, is_complete
from whimbrel.engine.output.filter import FilterError
from whimbrel.engine.output.filters import MAX_GATHERED, FailedSource
from whimbrel.engine.time_slices import Slices
from whimbrel.modules.filters.mod_proxy_html.markup import Decoder, Marker, Splitter
from whimbrel.modules.filters.mod_proxy_html.writer import RAW, RAW_HTML5, Writer

if TYPE_CHECKING:
    from whimbrel.engine.request import Request
    from whimbrel.modules.filters.charset_conversion import Encoding
    from whimbrel.modules.filters.mod_proxy_html.settings import ProxyHtmlDirConfig
    from whimbrel.modules.filters.mod_proxy_html.url_map import Rewriter

STEP: Final = 2048  # bytes that are parsed without a pause
MAX_HELD: Final = 8000  # bytes that httpd's ap_fwrite collects before it passes them on
# bytes of one tag behind which its end is parsed in a thread: libxml2's time is quadratic in the attributes
MAX_PENDING: Final = 16 * 1024
MAX_TAG: Final = 64 << 20  # bytes of one tag, which the parser keeps; the rest of the document is dropped
MAX_FED: Final = 1 << 20  # bytes after which a parser is replaced
MAX_REPLAYED: Final = 256  # open elements that a new parser is given
_END_TAG: Final = compile(rb"</([a-z][a-z0-9]*)>")
_SCRIPT: Final = compile(rb"(?i)<(?:script|style)")
_HTML5: Final = etree.LIBXML_VERSION >= (2, 14)


class Document:
    """One document in the parser: bytes in, bytes out.

    libxml2 since 2.12 keeps all that it has been fed. So a parser is replaced from time to time, behind an
    end tag in the body; the start tags of the open elements bring the next one into the same state.

    Attributes:
        is_over: True if the rest of the document is dropped.
        pending: bytes fed since the last ``>``.
    """

    __slots__ = ("_decoder", "_fed", "_marker", "_parser", "_splitter", "_writer", "is_over", "pending")

    def __init__(self, charset: str, writer: Writer) -> None:
        self._decoder = Decoder(charset)
        self._marker = Marker()
        self._writer = writer
        self._splitter = Splitter()
        self._parser = _new_parser(writer)
        self._fed = 0
        self.pending = 0
        self.is_over = False

    def feed(self, data: bytes) -> bytes:
        """Return the output for the next bytes."""
        if not self.is_over:
            end = data.rfind(b">")
            self.pending = self.pending + len(data) if end < 0 else len(data) - end
            if self.pending > MAX_TAG:
                self.is_over = True
                return self._writer.take()
            self._parse(self._splitter.split(self._marker.mark(self._decoder.feed(data))))
            self.is_over = self.is_over or self._decoder.failed
        return self._writer.take()

    def end(self) -> bytes:
        """Return the rest of the output."""
        if not self.is_over:
            rest = self._marker.mark(self._decoder.feed(b"", True)) + self._marker.end()
            self._parse(self._splitter.split(rest) + self._splitter.end())
            if not self.is_over:
                try:
                    self._parser.close()
                except etree.LxmlError:
                    pass  # nothing to parse, or nothing that the parser goes on with
        return self._writer.take()

    def _parse(self, data: bytes) -> None:
        if not data:
            return
        self._fed += len(data)
        try:
            if self._fed > MAX_FED and not self._writer.is_raw and not _SCRIPT.search(data):
                data = self._fed_to_end_tag(data)
            if data:
                self._parser.feed(data)
        except etree.LxmlError:
            self.is_over = True

    def _fed_to_end_tag(self, data: bytes) -> bytes:
        """Feed *data* up to its first end tag, where an idle parser is replaced; return the rest."""
        match = _END_TAG.search(data)
        if match is None:
            return data
        self._parser.feed(data[: match.start()])
        self._writer.ended = ""
        self._parser.feed(match[0])
        if self._writer.ended.encode() == match[1]:
            self._renew()
        return data[match.end() :]

    def _renew(self) -> None:
        """Replace the parser if another one can be brought into its state."""
        names = self._writer.open
        if "body" in names and len(names) <= MAX_REPLAYED:
            parser = _new_parser(self._writer)
            tags = "".join(f"<{name}>" for name in names).encode("utf-8", "replace")
            if self._writer.muted(lambda: parser.feed(tags)) == names:
                self._writer.muted(self._parser.close)  # which releases its input
                self._parser = parser
                self._fed = 0


def _new_parser(writer: Writer) -> Any:
    """Return a parser with httpd's options; `huge_tree`, as its libxml2 drops no attribute of 10 MB."""
    return etree.HTMLParser(
        target=writer,
        encoding="utf-8",
        recover=True,
        no_network=True,
        remove_blank_text=True,
        huge_tree=True,
    )


class HtmlSource(Source):
    """The output of a document: *parts* are its input, *encoding* its conversion to another charset.

    Attributes:
        size: bytes of output so far.
    """

    __slots__ = ("_document", "_encoding", "_held", "_r", "_slices", "_source", "size")

    def __init__(self, r: Request, parts: list[Part], document: Document, encoding: Encoding | None) -> None:
        self._source: JoinedSource | None = JoinedSource(parts)
        self._slices = Slices(r.engine.turns)
        self._r = r
        self._document: Document | None = document
        self._held: list[bytes] = []
        self._encoding = encoding
        self.size = 0

    async def gather(self, count: int) -> list[Part]:
        """Return the body, computed up to *count* bytes of output, to its end, or to the first wait of its
        source (httpd passes a FLUSH bucket on there).

        Raises:
            FilterError: httpd has passed nothing on when the output fails.
        """
        source = self._source
        assert source is not None
        data = await source.read()
        while True:
            try:
                await self._step(data)
            except FilterError as failure:
                if self.size <= MAX_HELD:
                    raise
                self._r.set_uncacheable()
                return [b"".join(self._held), FailedSource(failure)]
            if data is None or self.size >= count:
                break
            data = source.read_now()
            if data == b"" and not self.size:
                data = await source.read()
            elif data == b"":
                break
        if self._source is not None:
            return [self]
        out = b"".join(self._held)
        return [out] if out else []

    async def read(self) -> bytes | None:
        while self._source is not None and not self._held:
            await self._step(await self._source.read())
        return self._take()

    async def read_or_flush(self) -> bytes | None:
        """See Source; text within an unfinished tag waits in the parser."""
        while self._source is not None and not self._held:
            data = await self._source.read_or_flush()
            if data == b"":
                return data
            await self._step(data)
        return self._take()

    def read_now(self) -> bytes | None:
        data = self._take()
        return data if data is not None or self._source is None else b""

    def _take(self) -> bytes | None:
        data = b"".join(self._held)
        self._held.clear()
        return data or None

    async def _step(self, data: bytes | None) -> None:
        """Parse one piece of the input, or its end."""
        assert self._document is not None
        if data is None:
            self._add(self._document.end())
            self._source = None
            self._document = None
            if self._encoding is not None:
                self._encoding.end()
            return
        document = self._document
        for start in range(0, len(data), STEP):
            piece = data[start : start + STEP]
            if document.pending > MAX_PENDING and b">" in piece:
                self._add(await self._r.engine.runtime.in_thread(partial(document.feed, piece)))
            else:
                self._add(document.feed(piece))
            await self._slices.pause()

    def _add(self, data: bytes) -> None:
        if data:
            self._held.append(data if self._encoding is None else self._encoding.feed(data))
            self.size += len(self._held[-1])

    def drop(self) -> None:
        """Drop the input."""
        self._held.clear()
        if self._source is not None:
            source, self._source, self._document = self._source, None, None
            source.drop()

    async def aclose(self) -> None:
        """Close the input."""
        self._held.clear()
        if self._source is not None:
            source, self._source, self._document = self._source, None, None
            await source.aclose()


async def replace_body(
    r: Request, conf: ProxyHtmlDirConfig, rewriter: Rewriter, charset: str, encoding: Encoding | None
) -> None:
    """Replace the body of *r* by the document with mapped URLs."""
    module = "proxy_html"
    writer = Writer(
        conf,
        rewriter,
        RAW_HTML5 if _HTML5 else RAW,
        lambda code, text: r.log("debug", text, code=code, module=module),
    )
    complete = is_complete(r.body)
    source = HtmlSource(r, r.body, Document(charset, writer), encoding)
    r.body = await source.gather(MAX_GATHERED if complete else MAX_HELD + 1)
    r.chunked = source.size > MAX_HELD or r.body == [source]
