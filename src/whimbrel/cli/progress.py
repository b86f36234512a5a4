"""Progress bar on standard error; nothing is shown if that is no terminal."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_REFRESH_SECONDS: Final = 0.1
"""Seconds between two looks at the bar."""
_READING: Final = "reading"


class ProgressBar:
    """Progress line, removed when the work is done: files while they are read, then a bar for each step with
    rate and remaining time.

    ``on_file`` and ``on_step`` are the callbacks of `upgrade.source` and `verify`.
    """

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._step = _READING
        self._files = 0
        self._shown = 0.0

    def __enter__(self) -> ProgressBar:
        if sys.stderr.isatty():
            from rich.progress import Progress

            from whimbrel.base.rich_console import terminal_console
            from whimbrel.cli.progress_columns import columns

            self._bar = Progress(*columns(), console=terminal_console(to_stderr=True), transient=True)
            self._task = self._bar.add_task(_READING, total=None, is_bytes=False)
            self._bar.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    def on_file(self, path: str) -> None:
        """Show one file or directory that is read."""
        self._files += 1
        self._show(_READING, self._files, None, f"{_READING} {os.path.basename(path)}")

    def on_step(self, what: str, done: int, total: int) -> None:
        """Show *done* of *total* units of one step; a *total* of 0 is not known."""
        self._show(what, done, total or None, what)

    def byte_counter(self, what: str, total: int) -> Callable[[int], None]:
        """Return a function that adds bytes to those of one step that are done."""
        done = 0

        def add(size: int) -> None:
            nonlocal done
            done += size
            self._show(what, done, total or None, what, is_bytes=True)

        add(0)
        return add

    def _show(
        self, step: str, done: int, total: int | None, description: str, *, is_bytes: bool = False
    ) -> None:
        if self._bar is None or self._task is None:
            return
        is_new = step != self._step
        if not is_new and time.monotonic() - self._shown < _REFRESH_SECONDS:
            return
        self._shown = time.monotonic()
        if is_new:  # the rate of a step says nothing about the next one
            self._step = step
            self._bar.reset(self._task, is_bytes=is_bytes)
        self._bar.tasks[0].total = total  # where update has None for "as it was"
        self._bar.update(self._task, description=description, completed=done, refresh=True)

    def stop(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
