"""Columns of the progress bar: amount, rate and remaining time, in units or in bytes."""

from __future__ import annotations

from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text


class _Amount(ProgressColumn):
    """Column of the amount that is done, and of all where it is known."""

    def render(self, task: Task) -> Text:
        """Return the cell of *task*."""
        done = _shown(task, task.completed)
        return Text(done if task.total is None else f"{done}/{_shown(task, task.total)}")


class _Rate(ProgressColumn):
    """Column of the amount that is done in a second."""

    def render(self, task: Task) -> Text:
        """Return the cell of *task*, empty until a rate is known."""
        return Text("" if task.speed is None else f"{_shown(task, task.speed)}/s")


def _shown(task: Task, amount: float) -> str:
    return decimal(int(amount)) if task.fields["is_bytes"] else f"{int(amount):,}"


def columns() -> tuple[ProgressColumn, ...]:
    """Return the columns of the bar."""
    return (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        _Amount(),
        _Rate(),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
    )
