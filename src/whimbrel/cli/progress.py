"""Progress bar on standard error; nothing is shown if that is no terminal."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import Any, Final

_REFRESH_SECONDS: Final = 0.1
"""Seconds between two looks at the bar."""


class ProgressBar:
    """Progress line, removed when the work is done: files while they are read, then a bar for each step.

    ``on_file`` and ``on_step`` are the callbacks of `upgrade.source`.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._files = 0
        self._shown = 0.0

    def __enter__(self) -> ProgressBar:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                SpinnerColumn,
                TextColumn,
                TimeElapsedColumn,
            )

            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("reading", total=None)
            self._bar.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _value: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.stop()

    def on_file(self, path: str) -> None:
        """Show one file or directory that is read."""
        self._files += 1
        self._show(f"reading {os.path.basename(path)}", self._files, None)

    def on_step(self, what: str, done: int, total: int) -> None:
        """Show *done* of *whole* units of one step."""
        self._show(what, done, total)

    def _show(self, what: str, done: int, total: int | None) -> None:
        if self._bar is None or time.monotonic() - self._shown < _REFRESH_SECONDS:
            return
        self._shown = time.monotonic()
        self._bar.tasks[0].total = total  # where update has None for "as it was"
        self._bar.update(self._task, description=what, completed=done, refresh=True)

    def stop(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
