"""Signals of the processes that a command starts to share its work."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Block SIGINT during the block, and for good in the processes that are started in it.

    A terminal sends a Ctrl-C to all processes of a command; the first one ends the others. The tracker of
    multiprocessing runs before: its start, within that of a first process, would unblock the signal.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
