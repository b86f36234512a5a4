"""mod_ratelimit: limits the bandwidth of response bodies in kibibytes per second.

The filter RATE_LIMIT reads the variables ``rate-limit`` and ``rate-initial-burst``. Manual:
mod/mod_ratelimit.html.
"""

from __future__ import annotations

from typing import Any, Final

from whimbrel.base.numbers import atoi
from whimbrel.directives.spec import Versions
from whimbrel.engine.body import PIECE, JoinedSource, Part, Source
from whimbrel.engine.output.filter import FilterType, OutputFilter
from whimbrel.registry.module import Module, Provider, Reads

KIBI: Final = 1024
STEP: Final = 0.2  # seconds between two pieces


class ThrottledSource(Source):
    """The *parts*, throttled: *burst* bytes immediately, then *rate* bytes per second.

    Bytes are passed on as they come, so neither a large burst nor a high rate is held in memory.
    """

    __slots__ = ("_held", "_left", "_source", "_step")

    def __init__(self, parts: list[Part], rate: int, burst: int) -> None:
        self._source, self._step = JoinedSource(parts), max(1, int(rate * STEP))
        self._left = burst if burst > 0 else self._step  # bytes to pass on before the next pause
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
            await sleep(STEP)
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


class RateLimit(OutputFilter):
    """Output filter RATE_LIMIT, behind the header filter."""

    __slots__ = ()
    name, type = "RATE_LIMIT", FilterType.PROTOCOL + 3
    reads = Reads.UNCACHEABLE

    def begin(self, r: Any) -> Source | None:
        """Return the throttled body; None without a limit."""
        rate = atoi(r.env.get("rate-limit", "")) * KIBI
        if rate <= 0 or r.main is not None or not r.body:
            return None
        return ThrottledSource(r.body, rate, max(0, atoi(r.env.get("rate-initial-burst", "")) * KIBI))


MODULE = Module(
    name="ratelimit_module",
    source="mod_ratelimit.c",
    providers=(Provider("output_filter", "rate_limit", RateLimit()),),
    versions=Versions.V24,
)
