"""Cancellation: a task runs its first step before it is cancelled."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from whimbrel.server.worker.cancellation import cancel
from whimbrel.server.worker.runtime import ServerRuntime


def test_a_task_is_cancelled_after_its_first_step() -> None:
    steps = []

    async def work() -> None:
        steps.append("begun")
        try:
            await asyncio.sleep(30)
        finally:
            steps.append("ended")

    async def run() -> None:
        loop = asyncio.get_running_loop()
        task = loop.create_task(work())
        cancel(task, loop)
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert steps == ["begun", "ended"]


@pytest.mark.parametrize("method", ["in_thread", "compute"])
def test_blocking_work_ends_before_its_cancellation_is_raised(method: str) -> None:
    logs: Any = SimpleNamespace(write=None, appender=None)
    runtime, begun, goes_on, ended = ServerRuntime(logs, 2), threading.Event(), threading.Event(), []

    def work() -> None:
        begun.set()
        goes_on.wait(10)
        ended.append(True)

    async def run() -> None:
        task = asyncio.create_task(getattr(runtime, method)(work))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        task.cancel()
        await asyncio.sleep(0.01)
        assert not task.done()
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended

    asyncio.run(run())


def test_one_thread_computes_for_all_requests() -> None:
    logs: Any = SimpleNamespace(write=None, appender=None)
    runtime = ServerRuntime(logs, 8)

    async def run() -> set[str]:
        return {
            *await asyncio.gather(
                *[runtime.compute(lambda: threading.current_thread().name) for _ in range(20)]
            )
        }

    names = asyncio.run(run())
    assert len(names) == 1 and names != {threading.current_thread().name}
