"""Waiting in synchronous code: `await_only` suspends the coroutine that has called the code.

Conditions, patterns and formats are evaluated by synchronous functions, because nearly none of them waits.
The few that do (a sub-request that checks a password, a search that takes long) suspend the greenlet that
runs the step of the coroutine.
"""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Coroutine, Generator

from greenlet import getcurrent, greenlet

from whimbrel.base.static_typing import Any, Final, TypeVar, cast

T = TypeVar("T")

MAX_SPARE: Final = 4  # greenlets that wait for their next step; starting one costs more than its step


class _Steps(greenlet):  # type: ignore[misc]  # greenlet has no types
    """A greenlet that runs one step of a coroutine after the other.

    Attributes:
        caller: the greenlet that gets the outcome of the step.
        waits: the owner of this greenlet.
        inner: what synchronous code awaits, None at the end of the step.
        result, problem: what the step has returned or raised.
    """

    caller: greenlet
    waits: SyncWaits
    inner: Awaitable[Any] | None = None
    result: Any = None
    problem: BaseException | None = None

    def run(self, step: Callable[[Any], Any], argument: object) -> None:
        """Run steps until the greenlet is released."""
        while True:
            try:
                self.result = step(argument)
            except BaseException as problem:
                self.problem = problem
            del step, argument  # an idle greenlet keeps no request
            step, argument = self.caller.switch()

    def begin(self, step: Callable[[Any], Any], argument: object) -> None:
        """Run *step* up to its end, or until it waits."""
        caller = getcurrent()
        self.caller = caller
        self.gr_context = caller.gr_context
        self.switch(step, argument)

    def take(self) -> tuple[Any, BaseException | None]:
        """Return what the step has returned, and what it has raised."""
        outcome = self.result, self.problem
        self.result = None
        self.problem = None
        return outcome


class SyncWaits:
    """Runs coroutines whose synchronous code may wait; `search` runs a long search beside the event loop."""

    __slots__ = ("_spare", "search")

    def __init__(self, search: Callable[[Callable[[], Any]], Awaitable[Any]]) -> None:
        self._spare: list[_Steps] = []
        self.search = search

    @types.coroutine
    def run(self, work: Coroutine[Any, Any, T]) -> Generator[Any, Any, T]:
        """Return the result of *work*, in whose synchronous code `await_only` suspends it."""
        spare = self._spare
        step: Callable[[Any], Any] = work.send
        argument: Any = None
        while True:
            if spare:
                steps = spare.pop()
            else:
                steps = _Steps()
                steps.waits = self
            steps.begin(step, argument)
            while (inner := steps.inner) is not None:
                steps.inner = None
                try:
                    value = yield from inner.__await__()
                except BaseException as problem:
                    steps.caller = getcurrent()
                    steps.throw(problem)
                else:
                    steps.caller = getcurrent()
                    steps.switch(value)
            waiting, raised = steps.take()
            if len(spare) < MAX_SPARE:
                spare.append(steps)
            if isinstance(raised, StopIteration):
                result: T = raised.value
                return result
            if raised is not None:
                try:
                    raise raised
                finally:
                    del raised  # whose traceback has this frame
            try:
                argument = yield waiting
            except BaseException as thrown:
                step = work.throw
                argument = thrown
            else:
                step = work.send


def may_wait() -> bool:
    """Return True if `await_only` can be called."""
    return getcurrent().__class__ is _Steps


def await_only(work: Awaitable[T]) -> T:
    """Return the result of *work*, for which the coroutine that runs this code waits."""
    steps = cast(_Steps, getcurrent())
    steps.inner = work
    result: T = steps.caller.switch()
    return result


def search_beside_loop(work: Callable[[], T]) -> T:
    """Return the result of *work*, which releases the GIL; it runs beside the loop if the code may wait."""
    steps = getcurrent()
    if steps.__class__ is not _Steps:
        return work()
    result: T = await_only(steps.waits.search(work))
    return result
