"""The bytes of a cached response: a head with slots (Date, the Keep-Alive count), and a body."""

from __future__ import annotations

from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.engine.body import FileSegment
from whimbrel.engine.deps.files import StatSignature, stat_signature
from whimbrel.engine.output.field_slots import ClockValue, HeadPiece, KeepAliveCount, LengthValue, joined
from whimbrel.engine.response import DATE_BYTES, Framing, Response
from whimbrel.http.http1.response import LAST_CHUNK, chunk

# bytes of a body that is written apart from its head, so that it is there once however many clients are slow
LARGE_THRESHOLD: Final = 8 * 1024
CHUNK_COST: Final = 4 + len(LAST_CHUNK)  # bytes beside a body that is one chunk, and its size
Pieces = tuple[HeadPiece, ...]
CachedFile = tuple[bytes, StatSignature]  # the path of a file, and its signature


class ResponseTemplate:
    """The head of a response around Date, and its body.

    Attributes:
        prefix: the head up to Date; `texts`: what follows it: one text, or those around the Keep-Alive count.
        most: the count of the first response of a connection; None without one.
        pieces: `texts` in pieces, if some depend on the clock or on the size of the body; else empty.
        head_size: bytes of the head without the digits of the count.
        date, sent_head: the last Date, and the bytes of the head with it, up to the count.
        body: its bytes, of which there are `size`; `payload`: as HTTP/1 sends it, with `framing` more bytes.
        file: the file in place of a body.
        is_chunked: the body is one chunk; `is_large`: it is written apart from the head.
        close: the connection ends with the response.
    """

    __slots__ = (
        "body",
        "close",
        "date",
        "file",
        "framing",
        "head_size",
        "is_chunked",
        "is_large",
        "most",
        "payload",
        "pieces",
        "prefix",
        "sent_head",
        "size",
        "texts",
    )

    def __init__(self, response: Response, body: bytes, file: FileSegment | None) -> None:
        r = response.request
        at = next((i for i, piece in enumerate(response.slots) if isinstance(piece, KeepAliveCount)), None)
        self.prefix = response.head_prefix
        self.most: int | None = None
        self.texts: tuple[bytes, ...] = (response.head_suffix,)
        pieces: tuple[Pieces, ...] = (response.slots,)
        if at is not None:
            pieces = (response.slots[:at], response.slots[at + 1 :])
            self.texts = tuple([joined(part) for part in pieces])
            self.most = r.keepalive_max + r.connection.served
        is_variable = any(isinstance(piece, ClockValue | LengthValue) for part in pieces for piece in part)
        self.pieces = pieces if is_variable else ()
        self.close = response.close
        self.is_chunked = response.framing is Framing.CHUNKED
        self.file: CachedFile | None = None
        if file is not None:
            assert r.finfo is not None
            self.file = (to_bytes(file.path), stat_signature(r.finfo))
        self._count_head()
        self._set_body(body)
        if file is not None:
            self.size = file.length

    def _count_head(self) -> None:
        self.head_size = len(self.prefix) + DATE_BYTES + sum(map(len, self.texts))
        self.date = b""
        self.sent_head = b""

    def _set_body(self, body: bytes) -> None:
        self.body = body
        self.payload = chunk(body) + LAST_CHUNK if self.is_chunked else body
        self.size = len(body)
        self.framing = len(self.payload) - len(body)
        self.is_large = len(self.payload) >= LARGE_THRESHOLD

    @property
    def suffix(self) -> bytes:
        """Return what follows Date in the first response of a connection."""
        return self.texts[0] if self.most is None else b"%b%d%b" % (self.texts[0], self.most, self.texts[1])

    def count(self, served: int) -> int:
        """Return the Keep-Alive count after *served* requests; 0 if the head has none."""
        return 0 if self.most is None else self.most - served

    def digits(self, served: int) -> int:
        """Return the number of digits of `count`; 0 if the head has none."""
        return 0 if self.most is None else len(str(self.most - served))

    def replace_body(self, body: bytes) -> None:
        """Replace the body of a page that is rebuilt."""
        if len(body) != self.size:
            self.date = b""
        self._set_body(body)

    def set_size(self, size: int) -> None:
        """Let a chunked response have a body of *size* bytes, which is elsewhere."""
        self.framing = len(b"%x" % size) + CHUNK_COST
        self.size = size

    def drop_body(self) -> None:
        """Release the body, which is elsewhere; its size stays."""
        self.body = b""
        self.payload = b""

    def refresh(self, date: bytes, now: float) -> None:
        """Compute what depends on the clock, which is at *now*, or *date*, or on the size of the body."""
        if date == self.date:
            return
        if self.pieces:
            self.texts = tuple([self._rendered(part, now) for part in self.pieces])
            self._count_head()
        self.date = date
        self.sent_head = b"%b%b%b" % (self.prefix, date, self.texts[0])

    def _rendered(self, pieces: Pieces, now: float) -> bytes:
        out = []
        for piece in pieces:
            if isinstance(piece, bytes):
                out.append(piece)
            elif isinstance(piece, ClockValue):
                out.append(to_bytes(piece.render(int(now))))
            else:
                out.append(b"%d" % self.size)
        return b"".join(out)

    def serialize_head(self, served: int, date: bytes, now: float) -> bytes:
        """Return the head as it goes out at *now*, which is *date*, after *served* requests."""
        self.refresh(date, now)
        if self.most is None:
            return self.sent_head
        return b"%b%d%b" % (self.sent_head, self.most - served, self.texts[1])

    def serialize(self, served: int, date: bytes, now: float) -> bytes:
        """Return head and body; see `serialize_head`."""
        if date != self.date:
            self.refresh(date, now)
        if self.most is None:
            return self.sent_head + self.payload
        return b"%b%d%b%b" % (self.sent_head, self.most - served, self.texts[1], self.payload)

    def with_content(self, texts: list[bytes], body: bytes, file: CachedFile | None) -> ResponseTemplate:
        """Return a copy with other `texts` and another body, of a response that is not chunked and has no
        other slots; without a *body* it is *file*.
        """
        copy: ResponseTemplate = object.__new__(ResponseTemplate)
        copy.prefix = self.prefix
        copy.most = self.most
        copy.texts = tuple(texts)
        copy.pieces = ()
        copy.close = self.close
        copy.is_chunked = False
        copy.file = file
        copy._count_head()
        copy._set_body(body)
        if file is not None and file[1] is not None:
            copy.size = file[1][1]
        return copy
