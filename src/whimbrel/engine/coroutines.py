"""Run coroutines without a task as long as they do not suspend."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


def run_until_suspended(work: Coroutine[Any, Any, T]) -> T | Awaitable[T]:
    """Return the result of *work* if it does not suspend, else an awaitable of the result.

    The part up to the first suspension runs outside any task, so code that needs the current task must come
    later.
    """
    try:
        waiting = work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    return _rest(work, waiting)


@types.coroutine
def yield_to_loop() -> Generator[None, None, None]:
    """Yield one tick to other tasks before a long piece of work continues."""
    yield


async def _rest(work: Coroutine[Any, Any, T], waiting: Any) -> T:
    return await _resumed(work, waiting)


@types.coroutine
def _resumed(work: Coroutine[Any, Any, T], waiting: Any) -> Generator[Any, Any, T]:
    """Go on with *work*, which has already yielded *waiting*."""
    while True:
        try:
            try:
                value = yield waiting
            except BaseException as problem:
                waiting = work.throw(problem)
            else:
                waiting = work.send(value)
        except StopIteration as end:
            result: T = end.value
            return result
