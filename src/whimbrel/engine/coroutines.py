"""Running `async def` code without a task while nothing in it really waits."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")


def run_until_suspended(work: Coroutine[Any, Any, T]) -> T | Awaitable[T]:
    """Return the result of *work* when it needs no waiting, else an awaitable that gives it.

    The part up to the first wait runs outside any task: code that asks for the current task must not come
    before it.
    """
    try:
        waiting = work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    return _rest(work, waiting)


@types.coroutine
def yield_to_loop() -> Generator[None, None, None]:
    """Let others have their tick before a long piece of work goes on."""
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
