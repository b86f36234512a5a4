"""End of a command by Ctrl-C: one sentence, exit code 130, and no process that stays behind."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

EXIT_INTERRUPTED: Final = 130
"""Exit code of a program that SIGINT ended, as shells have it."""

_REPEAT_SECONDS: Final = 0.01
"""Seconds after which a lost KeyboardInterrupt is raised again."""


def repeat_lost_interrupts() -> None:
    """Raise a KeyboardInterrupt again that was lost because the signal came in a finalizer or a callback."""
    report = sys.unraisablehook

    def repeat(lost: sys.UnraisableHookArgs) -> None:
        if not issubclass(lost.exc_type, KeyboardInterrupt):
            report(lost)
            return
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, _REPEAT_SECONDS)

    sys.unraisablehook = repeat


def end_interrupted() -> NoReturn:
    """Say that the command was interrupted and whether files have changed; end the process at once.

    The interpreter is not taken down in order: freeing a million objects of a configuration takes seconds.
    """
    from whimbrel.base import file_writing

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_children()
    what = "files were written before" if file_writing.has_written() else "no file was changed"
    line_end = "\n" if os.isatty(2) else ""  # the terminal has written ^C
    os.write(2, f"{line_end}interrupted: {what}\n".encode())
    os._exit(EXIT_INTERRUPTED)


def end_children() -> None:
    """End the processes that multiprocessing has started for this one."""
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is not None:
        children = multiprocessing.active_children()
        for child in children:
            child.kill()
        for child in children:
            child.join()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let a Ctrl-C during the block have no effect: what is written in it is written to its end."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
