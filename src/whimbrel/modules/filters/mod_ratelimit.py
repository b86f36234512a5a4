"""mod_ratelimit: limits the bandwidth of response bodies in kibibytes per second.

The filter RATE_LIMIT reads the variables ``rate-limit`` and ``rate-initial-burst``. Manual:
mod/mod_ratelimit.html.
"""

from __future__ import annotations

from typing import Any, Final

from whimbrel.base.numbers import atoi
from whimbrel.directives.spec import Versions
from whimbrel.engine.body import JoinedSource, Part, Source
from whimbrel.engine.output.filter import FilterType, OutputFilter
from whimbrel.registry.module import Module, Provider, Reads

KIBI: Final = 1024
STEP: Final = 0.2  # seconds between two pieces


class ThrottledSource(Source):
    """The *parts*, throttled: *burst* bytes immediately, then *rate* bytes per second."""

    __slots__ = ("_began", "_burst", "_held", "_source", "_step")

    def __init__(self, parts: list[Part], rate: int, burst: int) -> None:
        self._source, self._step, self._burst = JoinedSource(parts), max(1, int(rate * STEP)), burst
        self._held = b""
        self._began = False

    async def read(self) -> bytes | None:
        """Return the next bytes, after their delay."""
        from asyncio import sleep  # its import takes 40 ms, which -t must not pay

        size = self._burst if self._burst > 0 else self._step
        self._burst = 0
        while len(self._held) < size and (data := await self._source.read()) is not None:
            self._held += data
        if not self._held:
            return None
        if self._began:
            await sleep(STEP)
        self._began = True
        piece, self._held = self._held[:size], self._held[size:]
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
