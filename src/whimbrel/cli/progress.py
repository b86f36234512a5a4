"""How far long work has come, as a bar on standard error; nothing where that is no terminal."""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType
from typing import Any, Final

_REFRESH_SECONDS: Final = 0.1
"""Seconds between two looks at the bar."""


class ProgressBar:
    """A line that goes away when the work is done: files while they are read, then what is worked out, with a bar.

    ``look`` is a `reading.Progress`, ``step`` an `estate.Step`.
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
        """Called for each file and folder."""
        self._files += 1
        self._show(f"reading {os.path.basename(path)}", self._files, None)

    def on_step(self, what: str, done: int, total: int) -> None:
        """Called when *done* of *whole* are done of some work."""
        self._show(what, done, total)

    def _show(self, what: str, done: int, total: int | None) -> None:
        if self._bar is None or time.monotonic() - self._shown < _REFRESH_SECONDS:
            return
        self._shown = time.monotonic()
        self._bar.tasks[0].total = total  # where update has None for "as it was"
        self._bar.update(self._task, description=what, completed=done, refresh=True)

    def stop(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None
