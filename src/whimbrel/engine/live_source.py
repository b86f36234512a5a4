"""Sources that pause: what has arrived reaches the client, or the next filter, while the rest is computed."""

from __future__ import annotations

import asyncio
from abc import abstractmethod

from whimbrel.base.static_typing import Final
from whimbrel.engine.body import FlushingSource, JoinedSource, Part, Source, is_complete

# Seconds without bytes that are a pause. httpd flushes as soon as a socket has no byte; a back end that sends
# its response in two writes would then decide by chance about the length and the coding of the response.
FLUSH_WAIT: Final = 0.005


class LiveSource(Source):
    """Bytes that arrive from elsewhere while the body is sent.

    Attributes:
        flush_wait: seconds without bytes after which httpd passes a FLUSH bucket on; None if it never does.
    """

    __slots__ = ("_has_flushed", "flush_wait")

    def __init__(self, flush_wait: float | None = None) -> None:
        self.flush_wait = flush_wait
        self._has_flushed = False  # since the last bytes

    @abstractmethod
    def read_now(self) -> bytes | None:
        """See Source."""

    @abstractmethod
    async def wait(self) -> None:
        """Wait until `read_now` may have another result, or until `wake` is called."""

    @abstractmethod
    def wake(self) -> None:
        """End the present `wait`."""

    async def read(self) -> bytes | None:
        while (data := self.read_now()) == b"":
            await self.wait()
        return data

    async def read_or_flush(self) -> bytes | None:
        """See Source: one flush for each pause."""
        data = self.read_now()
        if data == b"" and self.flush_wait is not None and not self._has_flushed:
            timer = asyncio.get_running_loop().call_later(self.flush_wait, self.wake)
            try:
                await self.wait()
            finally:
                timer.cancel()
            data = self.read_now()
            if data == b"":
                self._has_flushed = True
                return data
        if data == b"":
            data = await self.read()
        self._has_flushed = False
        return data


class PausingSource(FlushingSource):
    """The bytes of *source*; b"" stands for a flush, and for a pause behind bytes.

    httpd's filters that read without blocking before they block pass on what they have at such a pause. No
    FLUSH bucket goes with it, so the next filters keep what they hold.

    Attributes:
        has_flush: the last b"" was a flush of *source*.
    """

    __slots__ = ("_has_read", "_pending", "_source", "has_flush")

    def __init__(self, source: JoinedSource) -> None:
        self._source = source
        self._pending: asyncio.Task[bytes | None] | None = None  # a read that outlasts a pause
        self._has_read = False  # bytes since the last pause
        self.has_flush = False

    async def read_or_flush(self) -> bytes | None:
        """See Source; b"" for a pause, too."""
        pending = self._pending
        if pending is None:
            pending = asyncio.create_task(self._source.read_or_flush())
            self._pending = pending
        if self._has_read and not (await asyncio.wait((pending,), timeout=FLUSH_WAIT))[0]:
            self._has_read = False
            self.has_flush = False
            return b""
        data = await pending
        self._pending = None
        self._has_read = bool(data)
        self.has_flush = not data
        return data

    def _stop(self) -> None:
        """Cancel the read that outlasts a pause."""
        if self._pending is not None:
            self._pending.cancel()

    def drop(self) -> None:
        """Drop the source."""
        self._stop()
        self._source.drop()

    async def aclose(self) -> None:
        """Close the source; a read that has not ended is cancelled before."""
        if self._pending is not None:
            self._stop()
            await asyncio.wait((self._pending,))
            if not self._pending.cancelled():
                self._pending.exception()  # asyncio logs one that is not retrieved
            self._pending = None
        await self._source.aclose()

    def detach(self) -> None:
        """Leave the parts to their former owner, who closes them."""
        self._source.detach()


def joined(parts: list[Part]) -> JoinedSource | PausingSource:
    """Return *parts* as one source, whose pauses are noticed where it can have some."""
    source = JoinedSource(parts)
    return source if is_complete(parts) else PausingSource(source)
