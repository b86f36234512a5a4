"""Coroutines without a task, as long as nothing waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Iterator
from typing import Any

import pytest

from whimbrel.engine.coroutines import Completion, Suspended, drive, run_until_suspended


async def at_once(value: int) -> int:
    return value + 1


async def later(value: int) -> int:
    await asyncio.sleep(0.001)
    return value + 1


async def failing_later() -> int:
    await asyncio.sleep(0)
    raise LookupError("gone")


def test_what_does_not_wait_is_there_at_once_outside_any_loop() -> None:
    assert run_until_suspended(at_once(1)) == 2


def test_what_waits_becomes_an_awaitable() -> None:
    async def ask() -> int:
        result = run_until_suspended(later(1))
        assert isinstance(result, Awaitable)
        return await result

    assert asyncio.run(ask()) == 2


def test_a_failure_after_the_wait_arrives_where_it_is_awaited() -> None:
    async def ask() -> int:
        result = run_until_suspended(failing_later())
        assert isinstance(result, Awaitable)
        return await result

    with pytest.raises(LookupError, match="gone"):
        asyncio.run(ask())


def test_a_failure_before_any_wait_is_raised_at_once() -> None:
    async def failing() -> int:
        raise LookupError("at once")

    with pytest.raises(LookupError, match="at once"):
        run_until_suspended(failing())


class Driven:
    """A coroutine under a `Driver`, with what became of it."""

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any]) -> None:
        self.ends: list[tuple[Any, BaseException | None]] = []
        started = run_until_suspended(work)
        assert isinstance(started, Suspended)
        self.driver = drive(started, loop, lambda result, problem: self.ends.append((result, problem)))


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


async def add(first: Completion[int], second: Completion[int]) -> int:
    return await first + await second


def test_a_completion_resumes_a_driven_coroutine_in_the_stack_of_its_caller(
    loop: asyncio.AbstractEventLoop,
) -> None:
    first, second = Completion[int](), Completion[int]()
    driven = Driven(loop, add(first, second))
    first.set(1)
    assert driven.ends == []
    second.set(2)
    assert driven.ends == [(3, None)]
    second.set(5)  # has ended
    assert driven.ends == [(3, None)]


def test_a_completion_that_ended_before_it_is_awaited_does_not_suspend() -> None:
    first, second = Completion[int](), Completion[int]()
    first.set(1)
    second.set(2)
    assert run_until_suspended(add(first, second)) == 3


def test_a_failed_completion_raises_in_the_coroutine(loop: asyncio.AbstractEventLoop) -> None:
    first = Completion[int]()
    driven = Driven(loop, add(first, Completion[int]()))
    problem = OSError("reset")
    first.fail(problem)
    assert driven.ends == [(None, problem)]


def test_a_driver_is_cancelled_at_a_completion(loop: asyncio.AbstractEventLoop) -> None:
    driven = Driven(loop, add(Completion[int](), Completion[int]()))
    driven.driver.cancel()
    assert isinstance(driven.ends[0][1], asyncio.CancelledError)
    driven.driver.cancel()
    assert len(driven.ends) == 1


def test_a_driver_makes_a_task_where_a_future_is_awaited(loop: asyncio.AbstractEventLoop) -> None:
    completion, future = Completion[int](), loop.create_future()

    async def work() -> tuple[int, int, bool]:
        first = await completion
        second = await future
        return first, second + await completion, asyncio.current_task() is not None

    driven = Driven(loop, work())
    completion.set(1)
    future.set_result(2)
    loop.run_until_complete(asyncio.sleep(0.01))
    assert driven.ends == [((1, 3, True), None)]


def test_a_task_awaits_and_cancels_a_completion(loop: asyncio.AbstractEventLoop) -> None:
    async def work(completion: Completion[int]) -> int:
        return await completion

    async def both() -> tuple[int, bool]:
        completion, other = Completion[int](), Completion[int]()
        task, cancelled = asyncio.create_task(work(completion)), asyncio.create_task(work(other))
        await asyncio.sleep(0)
        completion.set(4)
        cancelled.cancel()
        value = await task
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        return value, other.done()

    assert loop.run_until_complete(both()) == (4, True)


def test_an_error_of_the_end_is_not_raised_where_the_completion_is_set(
    loop: asyncio.AbstractEventLoop,
) -> None:
    reports: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _loop, context: reports.append(context))
    completion = Completion[int]()
    started = run_until_suspended(add(completion, completion))
    assert isinstance(started, Suspended)

    def fails(_result: int | None, _problem: BaseException | None) -> None:
        raise ValueError

    drive(started, loop, fails)
    completion.set(1)
    assert isinstance(reports[0]["exception"], ValueError)
