"""A body that is sent in steps: a number of bytes after each pause."""

from __future__ import annotations

from whimbrel.engine.body import PIECE, JoinedSource, Part, Source


class ThrottledSource(Source):
    """The *parts*, throttled: *burst* bytes (0: one step) immediately, then *step* bytes after each *pause*
    in seconds.

    Bytes are passed on as they come, so neither a large burst nor a high rate is held in memory.
    """

    __slots__ = ("_held", "_left", "_pause", "_source", "_step")

    def __init__(self, parts: list[Part], step: int, pause: float, burst: int = 0) -> None:
        self._source = JoinedSource(parts)
        self._step = step
        self._pause = pause
        self._left = burst if burst > 0 else step  # bytes to pass on before the next pause
        self._held = b""

    async def read(self) -> bytes | None:
        """Return the next bytes, after a pause if the present step has none left."""
        from asyncio import sleep  # its import takes 40 ms, which -t must not pay

        data, self._held = self._held or await self._source.read(), b""
        if not data:
            return None
        wanted = min(self._left or self._step, PIECE)
        while len(data) < wanted and (more := self._source.read_now()):
            data += more
        if not self._left:
            await sleep(self._pause)
            self._left = self._step
        piece, self._held = data[: self._left], data[self._left :]
        self._left -= len(piece)
        return piece

    async def aclose(self) -> None:
        """Close the parts."""
        await self._source.aclose()

    def drop(self) -> None:
        """Drop the parts."""
        self._source.drop()
