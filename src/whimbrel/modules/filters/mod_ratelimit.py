"""mod_ratelimit: limits the bandwidth of response bodies in kibibytes per second.

The filter RATE_LIMIT reads the variables ``rate-limit`` and ``rate-initial-burst``. Responses to Range
requests are not limited, since ranges are cut after the filters. Manual: mod/mod_ratelimit.html.
"""

from __future__ import annotations

import os
from typing import Any

from whimbrel.base.numbers import atoi
from whimbrel.directives.spec import Versions
from whimbrel.engine.input.body import FileSegment, Part, Stream, size_of
from whimbrel.registry.module import Module, Provider

KIBI = 1024
STEP = 0.2  # seconds between two pieces


class ThrottledBody:
    """Throttled body stream: *burst* bytes immediately, then *rate* bytes per second.

    A reader that stops early must close it.
    """

    def __init__(self, parts: list[Part], stream: Stream | None, rate: int, burst: int) -> None:
        self.parts, self.stream, self.step, self.burst = list(parts), stream, max(1, int(rate * STEP)), burst
        self.held = b""
        self.began = False

    def __aiter__(self) -> ThrottledBody:
        return self

    async def __anext__(self) -> bytes:
        from asyncio import sleep  # its import takes 40 ms, which -t must not pay

        size = self.burst if self.burst > 0 else self.step
        self.burst = 0
        while len(self.held) < size and await self._more(size):
            pass
        if not self.held:
            raise StopAsyncIteration
        if self.began:
            await sleep(STEP)
        self.began = True
        piece, self.held = self.held[:size], self.held[size:]
        return piece

    async def _more(self, size: int) -> bool:
        """Read more of the source; return False at the end."""
        if self.parts:
            part = self.parts[0]
            if isinstance(part, bytes):
                self.held += part
                self.parts.pop(0)
                return True
            data = os.pread(part.handle, min(part.length, size), part.offset)
            self.held += data
            if len(data) == part.length or not data:
                os.close(part.handle)
                self.parts.pop(0)
            else:
                self.parts[0] = FileSegment(part.handle, part.offset + len(data), part.length - len(data))
            return True
        if self.stream is None:
            return False
        async for piece in self.stream:
            self.held += piece
            return True
        self.stream = None
        return False

    async def aclose(self) -> None:
        """Close the source: the reader has stopped."""
        close = getattr(self.stream, "aclose", None)
        self._close()
        if close is not None:
            await close()

    def drop(self) -> None:
        """Discard the body."""
        drop = getattr(self.stream, "drop", None)
        self._close()
        if drop is not None:
            drop()

    def _close(self) -> None:
        for part in self.parts:
            if isinstance(part, FileSegment):
                os.close(part.handle)
        self.parts = []


def limit(r: Any) -> None:
    """Replace the body by a throttled one (the filter RATE_LIMIT)."""
    rate = atoi(r.env.get("rate-limit", "")) * KIBI
    if rate <= 0 or r.main is not None or "Range" in r.headers_in:
        return
    r.set_uncacheable()
    if r.stream is None and "Content-Length" not in r.headers_out:
        r.headers_out.set("Content-Length", str(sum(map(size_of, r.body))))
    r.stream = ThrottledBody(r.body, r.stream, rate, max(0, atoi(r.env.get("rate-initial-burst", "")) * KIBI))
    r.body = []


MODULE = Module(
    name="ratelimit_module",
    source="mod_ratelimit.c",
    providers=(Provider("output_filter", "rate_limit", limit),),
    versions=Versions.V24,
)
