"""Run coroutines without a task as long as they do not suspend, or wait for nothing but completions."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Coroutine, Generator

from whimbrel.base.static_typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import asyncio
    from contextvars import Context

T = TypeVar("T")


class Completion(Generic[T]):
    """The end of an operation that one coroutine awaits, as an asyncio future.

    `set` and `fail` resume the coroutine in the stack of their caller if `drive` runs it. In a task, the
    coroutine is resumed in the next tick.
    """

    __slots__ = ("_asyncio_future_blocking", "_has_ended", "_problem", "_resume", "_value")
    _value: T

    def __init__(self) -> None:
        self._has_ended = False
        self._asyncio_future_blocking = False
        self._problem: BaseException | None = None
        self._resume: Callable[[Completion[T]], object] | None = None

    def __await__(self) -> Generator[Any, None, T]:
        if not self._has_ended:
            self._asyncio_future_blocking = True
            yield self
        return self.result()

    def done(self) -> bool:
        """Return True if the operation has ended."""
        return self._has_ended

    def set(self, value: T) -> None:
        """End the operation with *value*, unless it has ended."""
        if not self._has_ended:
            self._value = value
            self._end()

    def fail(self, problem: BaseException) -> None:
        """End the operation with an exception, unless it has ended."""
        if not self._has_ended:
            self._problem = problem
            self._end()

    def _end(self) -> None:
        self._has_ended = True
        resume, self._resume = self._resume, None
        if resume is not None:
            resume(self)

    def resume_with(self, resume: Callable[[Completion[T]], object]) -> None:
        """Call *resume* when the operation ends."""
        self._resume = resume

    # what asyncio.Task uses of a future -----------------------------------------------------------
    def result(self) -> T:
        """Return the value, or raise the exception."""
        if self._problem is not None:
            raise self._problem
        return self._value

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return the running loop."""
        from asyncio import get_running_loop  # slow import that -t must not pay

        return get_running_loop()

    def add_done_callback(
        self, callback: Callable[[Completion[T]], object], *, context: Context | None = None
    ) -> None:
        """Schedule *callback* for the tick after the end."""
        loop = self.get_loop()

        def resume(ended: Completion[T]) -> None:
            loop.call_soon(callback, ended, context=context)

        self._resume = resume
        if self._has_ended:
            self._end()

    def cancel(self, msg: object = None) -> bool:
        """Raise CancelledError in the coroutine, unless the operation has ended."""
        from asyncio import CancelledError  # slow import that -t must not pay

        if self._has_ended:
            return False
        self.fail(CancelledError() if msg is None else CancelledError(msg))
        return True


class Suspended(Generic[T]):
    """A coroutine that has suspended: `await` it, or `drive` it."""

    __slots__ = ("waiting", "work")

    def __init__(self, work: Coroutine[Any, Any, T], waiting: object) -> None:
        self.work = work
        self.waiting = waiting

    def __await__(self) -> Generator[Any, Any, T]:
        """Go on with the coroutine, which has already yielded `waiting`."""
        work = self.work
        waiting = self.waiting
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


def run_until_suspended(work: Coroutine[Any, Any, T]) -> T | Suspended[T]:
    """Return the result of *work* if it does not suspend, else the suspended coroutine.

    The part up to the first suspension, and all of it while it awaits nothing but completions, runs outside
    any task. Code that needs the current task first awaits `yield_to_loop`.
    """
    try:
        waiting = work.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    return Suspended(work, waiting)


@types.coroutine
def yield_to_loop() -> Generator[None, None, None]:
    """Yield one tick to other tasks before a long piece of work continues."""
    yield


class Driver(Generic[T]):
    """Runs a suspended coroutine: in its callers' stacks while it awaits completions, else in a task.

    *ended* is called once, with the result or with the exception of the coroutine.
    """

    __slots__ = ("_ended", "_loop", "_task", "_waiting", "_work")

    def __init__(
        self,
        suspended: Suspended[T],
        loop: asyncio.AbstractEventLoop,
        ended: Callable[[T | None, BaseException | None], object],
    ) -> None:
        self._work = suspended.work
        self._loop = loop
        self._ended = ended
        self._task: asyncio.Task[None] | None = None
        self._wait(suspended.waiting)

    def _wait(self, waiting: object) -> None:
        if waiting.__class__ is Completion:
            waiting._asyncio_future_blocking = False  # as a task leaves it
            self._waiting = waiting
            waiting.resume_with(self._resume)
        else:
            self._task = self._loop.create_task(self._finish(waiting))

    def _resume(self, _completion: Completion[Any]) -> None:
        try:
            waiting = self._work.send(None)
        except StopIteration as end:
            self._end(end.value, None)
        except BaseException as problem:
            self._end(None, problem)
        else:
            self._wait(waiting)

    def _end(self, result: T | None, problem: BaseException | None) -> None:
        """Call `ended`; its errors are not those of the operation that the coroutine awaited."""
        try:
            self._ended(result, problem)
        except Exception as failure:
            self._loop.call_exception_handler({"message": "end of a coroutine", "exception": failure})

    async def _finish(self, waiting: object) -> None:
        try:
            result = await Suspended(self._work, waiting)
        except BaseException as problem:
            self._ended(None, problem)
        else:
            self._ended(result, None)

    def cancel(self) -> None:
        """Raise CancelledError in the coroutine, unless it has ended."""
        if self._task is not None:
            self._task.cancel()
        else:
            self._waiting.cancel()


def drive(
    waiting: Awaitable[T],
    loop: asyncio.AbstractEventLoop,
    ended: Callable[[T | None, BaseException | None], object],
) -> Driver[T]:
    """Run *waiting*, a result of `run_until_suspended`; see `Driver`."""
    assert isinstance(waiting, Suspended)
    return Driver(waiting, loop, ended)
