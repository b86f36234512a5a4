"""Bodies: sequences of parts, each of which is bytes, a segment of an open file, or a source.

One type serves handlers, sub-requests, filters and both protocols.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.portability import pread
from whimbrel.base.static_typing import Final

PIECE: Final = 60 * 1024  # bytes of a file that are read in one step; see server/worker/memory.py


@dataclass(frozen=True, slots=True)
class FileSegment:
    """*length* bytes of an open file from *offset*; the caller that sends it closes *handle*.  *path*: of a
    part that is all of the file.
    """

    handle: int
    offset: int
    length: int
    path: str = ""

    def read(self) -> bytes:
        """All of it; for tests and small parts."""
        out = b""
        while len(out) < self.length:
            data = pread(self.handle, self.length - len(out), self.offset + len(out))
            if not data:
                break
            out += data
        return out


class Aborted(ConnectionAbortedError):
    """The source of a body ended early, which is logged.

    The response ends without its last chunk, or with RST_STREAM, so that the client detects the truncation.
    """


class Truncated(Aborted):
    """A file became shorter while it was sent; the protocol logs it."""

    def __init__(self) -> None:
        super().__init__("the file became shorter")


class Source:
    """Part of a body produced while it is sent; the consumer reads it all, closes it, or drops it."""

    __slots__ = ()

    @abstractmethod
    async def read(self) -> bytes | None:
        """Return the next bytes, never empty; None at the end.

        Raises:
            Aborted: the source failed after it had begun; the failure is logged.
        """

    def read_now(self) -> bytes | None:
        """Return the bytes that are available without waiting, b"" if there are none; None at the end."""
        return b""

    async def read_or_flush(self) -> bytes | None:
        """Return the next bytes, b"" for a flush, None at the end.

        A flush is httpd's FLUSH bucket: the client is to get all that precedes it now, so that each filter
        passes on what it holds. Sources without flushes only `read`.
        """
        return await self.read()

    def drop(self) -> None:
        """Let the source finish its work without its bytes, as for HEAD, and release itself."""

    async def aclose(self) -> None:
        """Stop producing and release files and programs."""


class FlushingSource(Source):
    """A source with flushes: `read_or_flush` is its own."""

    __slots__ = ()

    async def read(self) -> bytes | None:
        while (data := await self.read_or_flush()) == b"":
            pass
        return data


class PipedBytes(bytes):
    """Output of a program that has ended: a pipe in httpd, which does not read it to find ranges."""

    __slots__ = ()


def is_piped(parts: Iterable[Part]) -> bool:
    """Return True if a part is the output of a program that no filter has read."""
    return any(isinstance(part, PipedBytes) for part in parts)


SizedPart = bytes | FileSegment
Part = SizedPart | Source


def size_of(part: Part) -> int:
    """Return the number of bytes of *part*, which is no source."""
    return part.length if isinstance(part, FileSegment) else len(part)  # type: ignore[arg-type]


def sized(parts: list[Part]) -> list[SizedPart]:
    """Return *parts*, which have no source among them."""
    return parts  # type: ignore[return-value]


def is_complete(parts: Iterable[Part]) -> bool:
    """Return True if the length of the body is known: it has no source."""
    for part in parts:
        if part.__class__ is not bytes and isinstance(part, Source):
            return False
    return True


def release(part: Part) -> None:
    """Release *part*, whose bytes are not sent: close a file, drop a source."""
    if isinstance(part, FileSegment):
        os.close(part.handle)
    elif isinstance(part, Source):
        part.drop()


def content(parts: Iterable[Part]) -> bytes:
    """Return the bytes of complete *parts*; files in them are closed."""
    out = []
    for part in parts:
        if isinstance(part, FileSegment):
            out.append(part.read())
            os.close(part.handle)
        else:
            out.append(part)  # type: ignore[arg-type]
    return out[0] if len(out) == 1 else b"".join(out)


class JoinedSource(Source):
    """The *parts* one after the other; files are read in pieces of `PIECE` bytes."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Iterable[Part]) -> None:
        self._parts = deque(parts)

    async def read(self) -> bytes | None:
        """Return the next bytes; a file that is not in the page cache is read in a thread."""
        parts = self._parts
        while parts:
            part = parts[0]
            if isinstance(part, Source):
                data = await part.read()
                if data is None:
                    parts.popleft()
            else:
                data = self._take(part)
                if data is None:
                    from asyncio import to_thread  # slow import that -t must not pay

                    assert isinstance(part, FileSegment)
                    data = self._taken(part, await to_thread(_pread, part))
            if data:
                return data
        return None

    async def read_or_flush(self) -> bytes | None:
        """See Source: the flushes are those of the sources among the parts."""
        parts = self._parts
        while parts and isinstance(part := parts[0], Source):
            data = await part.read_or_flush()
            if data is not None:
                return data
            parts.popleft()
        return await self.read()

    def read_now(self) -> bytes | None:
        """Return the next bytes if they are available."""
        parts = self._parts
        while parts:
            part = parts[0]
            if isinstance(part, Source):
                data = part.read_now()
                if data is not None:
                    return data
                parts.popleft()
            else:
                data = self._take(part)
                if data is None:
                    return b""
                if data:
                    return data
        return None

    def _take(self, part: SizedPart) -> bytes | None:
        """Return the first bytes of *part*, the first of the parts, and remove them from it; None if the disk
        has to be read for them.
        """
        if isinstance(part, bytes):
            self._parts.popleft()
            return part
        buffer = bytearray(min(PIECE, part.length))
        try:
            count = os.preadv(part.handle, [buffer], part.offset, os.RWF_NOWAIT)
        except BlockingIOError:
            return None
        except (OSError, AttributeError):  # the file system, or the system, has no RWF_NOWAIT
            return self._taken(part, _pread(part))
        return self._taken(part, bytes(buffer) if count == len(buffer) else bytes(buffer[:count]))

    def _taken(self, part: FileSegment, data: bytes) -> bytes:
        """Remove *data* from the front of *part*; raise Aborted if the file has become shorter."""
        if not data and part.length:
            raise Truncated
        if len(data) == part.length:
            self._parts.popleft()
            os.close(part.handle)
        else:
            self._parts[0] = FileSegment(part.handle, part.offset + len(data), part.length - len(data))
        return data

    def detach(self) -> None:
        """Leave the parts to their former owner, who closes them."""
        self._parts.clear()

    def __del__(self) -> None:
        """Close the files of a source that was neither closed nor dropped, as its request was cancelled."""
        for part in self._parts:
            if isinstance(part, FileSegment):
                os.close(part.handle)

    def drop(self) -> None:
        """Close the files; the sources finish their work."""
        while self._parts:
            release(self._parts.popleft())

    async def aclose(self) -> None:
        """Close files and sources."""
        while self._parts:
            part = self._parts.popleft()
            if isinstance(part, Source):
                await part.aclose()
            elif isinstance(part, FileSegment):
                os.close(part.handle)


def _pread(part: FileSegment) -> bytes:
    return pread(part.handle, min(PIECE, part.length), part.offset)
