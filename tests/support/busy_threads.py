"""Threads that use the processor when the tests that started them are over.

One of them takes half of the time of all later tests of its process: a loop that reads from a connection, and
does not know its end.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Final

SUSPICIOUS: Final = 0.2
"""Seconds of processor time of other threads since the last check: less is not looked at."""
BUSY: Final = 0.1
"""Seconds of processor time that a thread may need to end."""
TASKS: Final = Path("/proc/self/task")


class BusyThreads:
    """A check at the end of each module; it costs nothing where other threads have done little."""

    def __init__(self) -> None:
        self._before = time_of_others()

    def found(self) -> list[str]:
        """Return where the other threads are, if they go on; an empty list on systems without /proc."""
        begin = time_of_others()
        spent = begin - self._before
        while spent >= SUSPICIOUS and _is_one_runnable() and time_of_others() - begin < BUSY:
            time.sleep(0.005)  # on a busy machine, until it has had its turn
        self._before = time_of_others()
        return _places() if self._before - begin >= BUSY else []


def time_of_others() -> float:
    """Return the processor time of all threads but this one, in seconds."""
    return time.process_time() - time.thread_time()


def _is_one_runnable() -> bool:
    """Return True if another thread runs or waits for a processor."""
    own = str(threading.get_native_id())
    tasks = [task for task in TASKS.iterdir() if task.name != own] if TASKS.is_dir() else []
    return any(_state(task) == "R" for task in tasks)


def _state(task: Path) -> str:
    """Return the letter of the state of a thread; an empty one if it has ended."""
    try:
        return (task / "stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return ""


def _places() -> list[str]:
    """Return names and lines of the other threads."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    own = threading.get_ident()
    return [
        f"{names.get(ident, '?')}: {' '.join(traceback.format_stack(frame)[-1].split())}"
        for ident, frame in sys._current_frames().items()
        if ident != own
    ]
