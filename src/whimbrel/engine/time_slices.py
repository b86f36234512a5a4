"""Long work in slices: after each slice other clients get a tick.

All long work of a worker is queued: one slice runs in each tick, however many requests have long work.
"""

from __future__ import annotations

import asyncio
import os
from collections import deque
from time import perf_counter
from typing import Final

from whimbrel.engine.coroutines import yield_to_loop

SLICE: Final = 0.00025  # seconds
MAX_SHORT: Final = 16  # steps of work that is not sliced
# pieces of work with a large result that run at the same time in one worker; others wait
MAX_LARGE: Final = 2


class Turns:
    """The queue in which work waits for slices of *length* seconds; *large*: for large results."""

    __slots__ = ("_scheduled", "_waiting", "large", "length")

    def __init__(self) -> None:
        self.length = SLICE
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._scheduled = False
        self.large = asyncio.Semaphore(MAX_LARGE)

    async def next(self) -> None:
        """Wait for the next slice; the only piece of long work gets one in each tick."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # the part of a request before its first wait, in a test
            await yield_to_loop()
            return
        if not self._scheduled:
            self._scheduled = True
            try:
                await yield_to_loop()
            finally:
                self._scheduled = bool(self._waiting)
                if self._scheduled:
                    loop.call_soon(self._begin, loop)
            return
        tick = loop.create_future()
        self._waiting.append(tick)
        await tick

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            tick = self._waiting.popleft()
            if not tick.done():
                tick.set_result(None)
                loop.call_soon(self._begin, loop)
                return
        self._scheduled = False


class Slices:
    """Long work that awaits `pause` after each small step; the first *short* steps are one slice."""

    __slots__ = ("_end", "_short", "_steps", "_turns")

    def __init__(self, turns: Turns, short: int = MAX_SHORT) -> None:
        self._turns = turns
        self._short = short
        self._steps = 0
        self._end = perf_counter() + turns.length

    async def pause(self) -> None:
        """Yield to others if the slice is over."""
        self._steps += 1
        if self._steps > self._short and perf_counter() >= self._end:
            await self._turns.next()
            self._end = perf_counter() + self._turns.length

    def pause_sync(self) -> None:
        """`pause` in synchronous code, which goes on at once where it cannot wait."""
        self._steps += 1
        if self._steps > self._short and perf_counter() >= self._end:
            from whimbrel.base.sync_waits import await_only, may_wait  # imports greenlet

            if may_wait():
                await_only(self._turns.next())
                self._end = perf_counter() + self._turns.length


async def names_in(path: bytes, slices: Slices) -> list[bytes]:
    """Return the names in a directory as the system gives them; raises OSError."""
    names = []
    with os.scandir(path) as entries:
        for entry in entries:
            names.append(entry.name)
            if not len(names) & 63:
                await slices.pause()
    return names
