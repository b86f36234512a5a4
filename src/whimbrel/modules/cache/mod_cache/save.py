"""Store the body of a response: at once if it is complete, else while it is sent."""

from __future__ import annotations

import os
from collections.abc import Awaitable

from whimbrel.base.static_typing import Final
from whimbrel.engine.body import PIECE, FileSegment, JoinedSource, Source, sized
from whimbrel.engine.request import Request
from whimbrel.modules.cache.mod_cache.request import CacheRequest, log
from whimbrel.modules.cache.store import EntryWriter, StoreError

AT_ONCE: Final = 4 * PIECE  # bytes that are copied without a thread


def _failed(r: Request, problem: StoreError) -> None:
    if problem.text:
        r.log(problem.level, problem.text, code=problem.code, module=problem.module)
    log(r, "AH00765", f"cache: Cache provider's store_body failed for URI {r.uri}")


async def store_complete(r: Request, cache: CacheRequest, writer: EntryWriter) -> None:
    """Store the body of *r*, which has no source; the response to the client stays as it is."""

    def copy() -> None:
        for part in sized(r.body):
            if isinstance(part, FileSegment):
                _copy_file(part, writer)
            else:
                writer.write(part)

    try:
        size = sum(part.length if isinstance(part, FileSegment) else len(part) for part in sized(r.body))
        if size > AT_ONCE:
            await r.engine.runtime.in_thread(copy)
        else:
            copy()
        await writer.commit(r)
    except StoreError as problem:
        _failed(r, problem)
    except BaseException:
        writer.abort()
        raise
    finally:
        cache.unlock()


def _copy_file(part: FileSegment, writer: EntryWriter) -> None:
    done = 0
    while done < part.length:
        data = os.pread(part.handle, min(PIECE, part.length - done), part.offset + done)
        if not data:
            writer.abort()
            raise StoreError
        writer.write(data)
        done += len(data)


class SavingSource(Source):
    """The body of a response that is stored while the client gets it.

    What cannot be stored does not change what the client gets. A body that ends early is not stored.
    """

    __slots__ = ("_cache", "_r", "_source", "_writer")

    def __init__(self, r: Request, cache: CacheRequest, writer: EntryWriter) -> None:
        self._r = r
        self._cache = cache
        self._writer: EntryWriter | None = writer
        self._source = JoinedSource(r.body)

    async def read(self) -> bytes | None:
        """Return the next bytes, which are stored; store the response at the end."""
        return await self._saved(self._source.read())

    async def read_or_flush(self) -> bytes | None:
        """See `read`; pass flushes on."""
        return await self._saved(self._source.read_or_flush())

    async def _saved(self, reading: Awaitable[bytes | None]) -> bytes | None:
        try:
            data = await reading
        except BaseException:
            self._abort()
            raise
        if data is not None:
            self._save(data)
        elif self._writer is not None:
            writer, self._writer = self._writer, None
            try:
                await writer.commit(self._r)
            except StoreError as problem:
                _failed(self._r, problem)
            finally:
                self._cache.unlock()
        return data

    def read_now(self) -> bytes | None:
        """Return the bytes that are there; the end is found by `read`, since storing may wait."""
        data = self._source.read_now()
        if data:
            self._save(data)
        return b"" if data is None else data

    def _save(self, data: bytes) -> None:
        if self._writer is None:
            return
        try:
            self._writer.write(data)
        except StoreError as problem:
            self._writer = None
            _failed(self._r, problem)
            self._cache.unlock()

    def _abort(self) -> None:
        if self._writer is not None:
            self._writer.abort()
            self._writer = None
        self._cache.unlock()

    def drop(self) -> None:
        """Drop the body; a response without its body is not stored."""
        self._abort()
        self._source.drop()

    async def aclose(self) -> None:
        """Close the body; what was stored of it is dropped."""
        self._abort()
        await self._source.aclose()
