"""The chain of output filters of one request."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from whimbrel.engine.body import (
    PIECE,
    Aborted,
    FlushingSource,
    JoinedSource,
    Part,
    Source,
    content,
    is_complete,
    size_of,
)
from whimbrel.engine.coroutines import yield_to_loop
from whimbrel.engine.output.filter import FilterError, FilterType, OutputFilter, Transform
from whimbrel.engine.request import Request
from whimbrel.registry.module import Reads

if TYPE_CHECKING:
    from whimbrel.engine.output.filter import Begun

# bytes of output that a filter gives before the head is sent, where the input is complete: responses of up to
# this size can be cached
MAX_GATHERED: Final = 256 * 1024


async def run_output_filters(r: Request, *, after_head: bool = False) -> None:
    """Run the output filters of *r* on `r.body`, in order.

    *after_head* selects those behind httpd's header filter; they see a body whose framing is decided.
    """
    for each in r.output_filters:
        if (each.type > FilterType.PROTOCOL) is after_head:
            await _run(r, each)


async def _run(r: Request, each: OutputFilter) -> None:
    if each.is_computed and is_complete(r.body) and sum(map(size_of, r.body)) > PIECE:
        async with r.engine.runtime.filter_slots:
            await _run_now(r, each)
    else:
        await _run_now(r, each)


async def _run_now(r: Request, each: OutputFilter) -> None:
    begun = each.begin(r)
    if begun is not None and not isinstance(begun, Transform | Source):
        begun = await begun
    if begun is None:
        return
    if each.reads is not Reads.HEAD:  # operations on flags are slow
        if each.reads & (Reads.UNCACHEABLE | Reads.TIME):
            r.set_uncacheable()
        if each.reads & Reads.CLIENT:
            r.deps.on_client = True
    await _apply(r, begun)


async def _apply(r: Request, begun: Begun) -> None:
    """Replace the body of *r* by its transformation."""
    parts = r.body
    if isinstance(begun, Source):
        r.body = [begun]
    elif begun is not None:
        r.body = []  # the input is closed, whether the filter fails or not
        size = sum(map(size_of, parts)) if is_complete(parts) else MAX_GATHERED + 1
        if size <= PIECE or (begun.is_heavy and size <= MAX_GATHERED):
            await _transform_complete(r, begun, content(parts))
        else:
            source = TransformedSource(r, parts, begun)
            r.body = await source.gather(MAX_GATHERED if is_complete(parts) else 1)
            r.chunked = source.early


async def _transform_complete(r: Request, begun: Transform, data: bytes) -> None:
    """Replace the body of *r*, the bytes *data*, by their transformation."""
    out = b""
    failure = None
    try:
        if begun.is_heavy and len(data) > begun.thread_threshold:
            content_bytes, data = data, b""
            out = await r.engine.runtime.compute(lambda: _fed_and_finished(begun, content_bytes))
        elif r.chunked:
            out, data = begun.feed(data), b""
        is_early = bool(out)
        out += begun.end(data)
        r.chunked = is_early if r.chunked else begun.early
    except FilterError as problem:
        failure = problem
        out += problem.passed
        r.chunked = True
    r.body = [out] if out else []
    if failure is not None:
        if not out:
            raise failure
        r.body.append(FailedSource(failure))
        r.set_uncacheable()


def _fed_and_finished(transform: Transform, data: bytes) -> bytes:
    out = transform.feed(data)
    transform.finish()
    return out


async def _called(work: Callable[..., bytes | None], *arguments: bytes) -> bytes | None:
    return work(*arguments)


class FailedSource(Source):
    """The end of a body whose filter failed."""

    __slots__ = ("_failure",)

    def __init__(self, failure: Aborted) -> None:
        self._failure = failure

    async def read(self) -> bytes | None:
        """Raise the failure."""
        raise self._failure


class GatheredSource(FlushingSource):
    """Output of a filter, of which the beginning is gathered before the head is sent.

    Attributes:
        early: True if output went on before the end of the input was known.
    """

    __slots__ = ("_failure", "_first", "_has_flush", "_r", "early")

    def __init__(self, r: Request) -> None:
        self._r = r
        self._first: list[bytes] = []
        self._failure: Aborted | None = None  # raised behind the output that there is
        self._has_flush = False  # it follows the output that was returned, or gathered, last
        self.early = False

    @property
    @abstractmethod
    def has_ended(self) -> bool:
        """Return True if the input has been read."""

    @abstractmethod
    async def _next(self) -> bytes | None:
        """Return the next bytes of the output, b"" for a flush, None at the end; set `_has_flush` if a flush
        follows the bytes. Raise `_failure` if it is set.
        """

    async def gather(self, count: int) -> list[Part]:
        """Read until *count* bytes of output, its end, or a flush are there; return the body: bytes at the
        end, else this source.

        Raises:
            Aborted: the filter failed before it had output.
        """
        size = 0
        try:
            while size < count and not self._has_flush and (data := await self._next()) is not None:
                self._has_flush = self._has_flush or not data
                self._first.append(data)
                size += len(data)
        except Aborted as failure:
            if not self._first:
                await self.aclose()
                raise
            self._failure = failure
            self._r.set_uncacheable()
        except BaseException:
            await self.aclose()
            raise
        if self.has_ended and self._failure is None:
            return [b"".join(self._first)] if self._first else []
        self.early = True
        return [self]

    async def read_or_flush(self) -> bytes | None:
        first = b"".join(self._first)
        self._first.clear()
        if first:
            return first
        if self._failure is not None:
            raise self._failure
        if self._has_flush:
            self._has_flush = False
            return b""
        return await self._next()


class TransformedSource(GatheredSource):
    """The output of *transform* for the input *parts*.

    Large pieces of a heavy transform are computed in a thread. The transform is released when its input has
    ended, as a compressor holds much memory.
    """

    __slots__ = ("_since_flush", "_source", "_transform")

    def __init__(self, r: Request, parts: list[Part], transform: Transform) -> None:
        super().__init__(r)
        self._since_flush = 0  # bytes that were fed since the last flush
        self._transform = transform
        self._source: JoinedSource | None = JoinedSource(parts)

    @property
    def has_ended(self) -> bool:
        return self._source is None

    async def _next(self) -> bytes | None:
        while self._source is not None:
            if self._failure is not None:
                raise self._failure
            data = await self._source.read_or_flush()
            if data is None:
                if self._transform.is_heavy and self._since_flush > self._transform.thread_threshold:
                    await self._r.engine.runtime.compute(self._transform.finish)
                out = await self._call(0, self._transform.end, b"")
                if self._failure is not None:
                    return out
                self.early = self.early or self._transform.early
                self._release()
            elif data:
                out = await self._call(len(data), self._transform.feed, data)
                self._since_flush += len(data)
                self.early = self.early or bool(out)
                await yield_to_loop()
            else:
                out = await self._call(self._since_flush, self._transform.flush)
                self._since_flush = 0
                if out is None:
                    continue
                self.early = True
                self._has_flush = bool(out)
                return out
            if out:
                return out
        return None

    async def _call(self, size: int, work: Callable[..., bytes | None], *arguments: bytes) -> bytes | None:
        """Return the output of *work* on *size* bytes; a failure behind output is raised later."""
        try:
            if self._transform.is_heavy and size >= self._transform.thread_threshold:
                return await self._r.engine.runtime.compute(partial(work, *arguments))
            if self._transform.is_sliced:
                return await self._r.engine.sync_waits.run(_called(work, *arguments))
            return work(*arguments)
        except FilterError as failure:
            if not failure.passed:
                raise
            self._failure = failure
            return failure.passed

    def _release(self) -> None:
        self._source = None
        del self._transform

    def drop(self) -> None:
        """Drop the input."""
        self._first.clear()
        if self._source is not None:
            self._source.drop()
            self._release()

    async def aclose(self) -> None:
        """Close the input."""
        self._first.clear()
        if self._source is not None:
            source = self._source
            self._release()
            await source.aclose()
