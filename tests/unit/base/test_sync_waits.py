"""Waiting in synchronous code."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import pytest

from whimbrel.base.sync_waits import MAX_SPARE, SyncWaits, await_only, may_wait, search_beside_loop


async def _awaited(work: Any) -> Any:
    return await work


async def search(work: Callable[[], Any]) -> Any:
    await asyncio.sleep(0)
    return work()


def waited(value: int) -> int:
    """A plain function that waits."""

    async def later() -> int:
        await asyncio.sleep(0.001)
        return value

    return await_only(later())


async def added(value: int) -> int:
    await asyncio.sleep(0)
    first = waited(value)
    await asyncio.sleep(0)
    return first + waited(1)


def test_plain_functions_wait() -> None:
    waits = SyncWaits(search)

    async def main() -> list[int]:
        return await asyncio.gather(*[waits.run(added(number)) for number in range(9)])

    assert asyncio.run(main()) == list(range(1, 10))
    assert len(waits._spare) <= MAX_SPARE


def test_a_coroutine_that_does_not_wait_needs_no_loop() -> None:
    async def plain() -> bool:
        return may_wait()

    with pytest.raises(StopIteration) as end:
        SyncWaits(search).run(plain()).send(None)
    assert end.value.value is True
    assert not may_wait()


def test_errors_and_cancellations_reach_the_plain_function() -> None:
    waits, seen = SyncWaits(search), []

    async def work() -> None:
        try:
            waited(1)
            raise KeyError("x")
        except BaseException as problem:
            seen.append(type(problem))
            raise

    async def main() -> None:
        with pytest.raises(KeyError):
            await waits.run(work())
        task = asyncio.ensure_future(waits.run(work()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        left = waits.run(work())
        left.send(None)
        left.close()

    asyncio.run(main())
    assert seen == [KeyError, asyncio.CancelledError, GeneratorExit]


def test_context_variables_are_those_of_the_caller() -> None:
    variable: ContextVar[int] = ContextVar("variable", default=0)

    async def work() -> int:
        waited(1)
        return variable.get()

    async def main() -> int:
        variable.set(5)
        return await SyncWaits(search).run(work())

    assert asyncio.run(main()) == 5


def test_an_idle_greenlet_keeps_nothing() -> None:
    class Held:
        pass

    waits = SyncWaits(search)

    async def work(held: Held) -> Held:
        return held

    held = Held()
    reference = weakref.ref(held)
    with pytest.raises(StopIteration):
        waits.run(work(held)).send(None)
    del held
    gc.collect()
    assert reference() is None
    assert len(waits._spare) == 1


def test_a_search_runs_beside_the_loop_where_the_code_may_wait() -> None:
    calls = []

    async def counted(work: Callable[[], Any]) -> Any:
        calls.append(1)
        return work()

    async def work() -> int:
        return search_beside_loop(lambda: 3)

    assert asyncio.run(_awaited(SyncWaits(counted).run(work()))) == 3
    assert search_beside_loop(lambda: 4) == 4
    assert calls == [1]
