"""Cancellation of the tasks of requests whose client has gone away."""

from __future__ import annotations

import asyncio
from typing import Any


def cancel(task: asyncio.Task[Any], loop: asyncio.AbstractEventLoop, delay: float = 0.0) -> None:
    """Cancel *task* after its first step, and after *delay* seconds if it has to handle an error before.

    A task that is cancelled before its first step runs no code, so it would neither close its sources nor log
    its request.
    """
    if delay:
        loop.call_later(delay, task.cancel)
    else:
        loop.call_soon(task.cancel)
