"""Coroutines without a task, as long as nothing waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from whimbrel.engine.coroutines import run_until_suspended


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
