"""Cancellation of the tasks of requests whose client has gone away."""

from __future__ import annotations

import asyncio
from typing import Protocol

from whimbrel.engine.body import Source


class Cancellable(Protocol):
    """A task, or a coroutine that runs without one."""

    def cancel(self) -> object: ...


def cancel(task: Cancellable, loop: asyncio.AbstractEventLoop, delay: float = 0.0) -> None:
    """Cancel *task* after its first step, and after *delay* seconds if it has to handle an error before.

    A task that is cancelled before its first step runs no code, so it would neither close its sources nor log
    its request.
    """
    if delay:
        loop.call_later(delay, task.cancel)
    else:
        loop.call_soon(task.cancel)


async def close_source(source: Source) -> None:
    """Close *source* in a task that has to go on after its cancellation, as its response is to be logged."""
    try:
        await source.aclose()
    except asyncio.CancelledError:
        await source.aclose()  # the remaining parts
