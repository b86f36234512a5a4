"""Fork of a process that keeps programs for all workers: signals, descriptors and user of its own."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from whimbrel.base.numbers import decimal

if TYPE_CHECKING:
    from whimbrel.server.master.generation import Generation


def fork_program(
    generation: Generation, become_user: Callable[[], bool], work: Callable[[], None], keep: Iterable[int]
) -> int:
    """Run *work* in a new process; return its number.  Raises OSError."""
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, signal.valid_signals())
        logs = [output.handle for output in generation.logs.outputs.values()]
        _close_others({0, 1, 2, *logs, *keep})
        generation.runtime.after_fork()
        if become_user():
            work()
            status = 0
    except BaseException as problem:
        generation.log("crit", "".join(traceback.format_exception(problem)).rstrip("\n"))
    finally:
        generation.logs.flush()
        os._exit(status)


def _close_others(keep: set[int]) -> None:
    """Close all descriptors except *keep*."""
    for handle in map(decimal, os.listdir("/proc/self/fd")):
        if handle not in keep:
            try:
                os.close(handle)
            except OSError:
                pass  # the directory's own
