"""Bounded pool of threads that the end of the process does not wait for."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import SimpleQueue
from threading import Semaphore, Thread
from typing import Any, TypeVar

T = TypeVar("T")


class DaemonThreads:
    """Threads that are started when they are needed, at most *size*; further work waits in a queue.

    Unlike those of ThreadPoolExecutor they are daemon threads, since their work may never end. *niceness* is
    what Linux gives to a single thread.
    """

    def __init__(self, size: int, *, niceness: int = 0) -> None:
        self._size = size
        self._count = 0
        self._niceness = niceness
        self._idle = Semaphore(0)
        self._queue: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Return the future result of *work*; called in one thread only."""
        future: Future[T] = Future()
        self._queue.put((future, work))
        if not self._idle.acquire(blocking=False) and self._count < self._size:
            self._count += 1
            Thread(target=self._run, name=f"script_{self._count}", daemon=True).start()
        return future

    def _run(self) -> None:
        if self._niceness:
            with suppress(OSError, AttributeError):  # a system call that a sandbox forbids
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), self._niceness)
        while True:
            _work_off(*self._queue.get())
            self._idle.release()


def _work_off(future: Future[Any], work: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as problem:  # the waiting coroutine handles it
        future.set_exception(problem)
    else:
        future.set_result(result)
