"""Bodies of requests to HTTP back ends: prefetching, framing, spooling (ap_proxy_http_prefetch,
stream_reqbody, ap_proxy_spool_input).
"""

from __future__ import annotations

import os
from typing import IO, Final

from whimbrel.backends.connection import BackendConnection
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.http1.response import LAST_CHUNK, chunk
from whimbrel.http.syntax.line_reader import LogMessage

MAX_PREFETCH: Final = 16384  # MAX_MEM_SPOOL: bytes that are read before the framing is chosen
_ENOUGH: Final = MAX_PREFETCH - 80
PIECE: Final = 65536  # bytes of a spooled body that are sent in one step
_MODULE: Final = "proxy_http"
_CHUNKED: Final = ("proxy-sendchunks", "proxy-sendchunked")


class UnsupportedCoding(ValueError):
    """A transfer coding of the request that cannot be passed on; it is logged."""


@dataclass(slots=True)
class OutgoingBody:
    """The body of a request to a back end.

    Attributes:
        framing: the field line that announces it, b"" for no body.
        data: its first bytes. `has_more`: the rest comes from the client.
        is_chunked: it is sent in chunks.
        length: its bytes in all, None if they are not known.
        file: the bytes behind *data*, if they were spooled.
        extra: bytes behind it (proxy-sendextracrlf).
    """

    framing: bytes = b""
    data: bytes = b""
    has_more: bool = False
    is_chunked: bool = False
    length: int | None = 0
    file: IO[bytes] | None = None
    extra: bytes = b""

    def first(self) -> bytes:
        """Return the bytes that are sent with the head."""
        data = self.data
        if self.is_chunked:
            return chunk(data) if self.has_more else chunk(data) + LAST_CHUNK + self.extra
        return data if self.has_more or self.file is not None else data + self.extra

    def close(self) -> None:
        """Remove the spooled part."""
        if self.file is not None:
            self.file.close()


def has_body(r: Request) -> bool:
    """Return True if the request has a body, or a field that announces one."""
    entries = r.headers_in.entries()
    return r.body_in.length != 0 or "content-length" in entries or "transfer-encoding" in entries


async def prefetch(r: Request, *, is_waiting: bool, force10: bool) -> OutgoingBody:
    """Read the beginning of the body and choose its framing; *is_waiting*: the client awaits 100 Continue, so
    nothing is read.

    Raises UnsupportedCoding, BodyError.
    """
    if r.main is not None:
        return OutgoingBody()  # sub-requests have no body
    entries = r.headers_in.entries()
    extra = b"\r\n" if "proxy-sendextracrlf" in r.env else b""
    coding = entries.get("transfer-encoding")
    length = entries.get("content-length")
    if coding is not None and lower(coding[1]) != "chunked":
        text = f"{coding[1]} Transfer-Encoding is not supported"
        r.log(
            "error", text if r.plan.dialect.messages_24 else f"proxy: {text}", code="AH01093", module=_MODULE
        )
        raise UnsupportedCoding(text)
    # a client may await 100 Continue without a body
    data = b""
    is_complete = r.body_in.length == 0
    if not is_waiting:
        data, is_complete = await _read_beginning(r)
    if is_complete:
        announces = coding is not None or length is not None or data
        return OutgoingBody(
            _length_line(len(data)) if announces else b"", data, length=len(data), extra=extra
        )
    if _is_spooled(r, coding is not None, force10):
        return await _spool(r, data, extra)
    if coding is not None or r.body_in.is_filtered:
        framing = b"Transfer-Encoding: chunked\r\n"
        return OutgoingBody(framing, data, has_more=True, is_chunked=True, length=None, extra=extra)
    size = r.body_in.length or 0
    return OutgoingBody(_length_line(size), data, has_more=size > 0, length=size, extra=extra)


def _length_line(size: int) -> bytes:
    return b"Content-Length: %d\r\n" % size


def _is_spooled(r: Request, is_chunked: bool, force10: bool) -> bool:
    """Return True if the length has to be known before the head is sent (RB_SPOOL_CL)."""
    env = r.env
    prefers_chunks = any(name in env for name in _CHUNKED)
    if is_chunked:
        return force10 or ("proxy-sendcl" in env and not prefers_chunks)
    if not r.body_in.is_filtered:
        return False
    return force10 or not prefers_chunks or "proxy-sendcl" in env


async def _read_beginning(r: Request) -> tuple[bytes, bool]:
    """Return the first bytes of the body, and True if these are all."""
    pieces: list[bytes] = []
    size = 0
    while size < _ENOUGH:
        piece = await r.body_in.read()
        if not piece:
            return b"".join(pieces), True
        pieces.append(piece)
        size += len(piece)
        if not r.body_in.is_filtered and r.body_in.ended and not r.body_in.buffered:
            return b"".join(pieces), True
    return b"".join(pieces), False


async def _spool(r: Request, data: bytes, extra: bytes) -> OutgoingBody:
    """Read the rest of the body into a temporary file."""
    from tempfile import TemporaryFile  # rare

    file = TemporaryFile(prefix="modproxy.tmp.")
    size = len(data)
    try:
        while piece := await r.body_in.read():
            size += len(piece)
            file.write(piece)
    except BaseException:
        file.close()
        raise
    file.flush()
    return OutgoingBody(_length_line(size), data, length=size, file=file, extra=extra)


async def send_rest(r: Request, connection: BackendConnection, body: OutgoingBody) -> int:
    """Send what follows the first bytes of *body*; return the number of bytes.

    Ends early if the back end answers. Raises BodyError, BackendError.
    """
    count = 0
    await connection.drain()
    if body.file is not None:
        offset = 0
        while piece := os.pread(body.file.fileno(), PIECE, offset):
            connection.write(piece)
            offset += len(piece)
            await connection.drain()
        connection.write(body.extra)
        return offset
    left = None if body.length is None else body.length - len(body.data)
    while left is None or left > 0:
        piece = await r.body_in.read()
        if not piece:
            break
        count += len(piece)
        if left is not None:
            left -= len(piece)
            if left < 0:
                break
        connection.write(chunk(piece) if body.is_chunked else piece)
        await connection.drain()
    if left:
        raise _mismatch(r, body, len(body.data) + count, left)
    connection.write((LAST_CHUNK if body.is_chunked else b"") + body.extra)
    return count


def _mismatch(r: Request, body: OutgoingBody, count: int, left: int) -> BodyError:
    """Return the error of a body that a filter has made longer or shorter than announced."""
    word = "more" if left < 0 else "less"
    text = f"read {word} bytes of request body than expected (got {count}, expected {body.length})"
    if not r.plan.dialect.messages_24:
        return BodyError(500, LogMessage("error", "", f"proxy: {text}", module=_MODULE))
    return BodyError(500, LogMessage("error", "AH01086", text, module=_MODULE))
