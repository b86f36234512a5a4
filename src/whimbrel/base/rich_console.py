"""Consoles of rich for texts of configurations: `:100:` of a place is a line number and no emoji."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rich.console import Console


def file_console(file: IO[str], *, is_colored: bool, width: int | None = None) -> Console:
    """Return a console that writes texts as they are to *file*; without *width* no line is wrapped."""
    from rich.console import Console

    system: Literal["standard"] | None = "standard" if is_colored else None
    return Console(
        file=file,
        width=width,
        force_terminal=is_colored,
        no_color=not is_colored,
        color_system=system,
        markup=False,
        emoji=False,
        highlight=False,
        soft_wrap=width is None,
        legacy_windows=False,
    )


def terminal_console(
    *, to_stderr: bool = False, no_color: bool | None = None, soft_wrap: bool = False, highlight: bool = True
) -> Console:
    """Return the console of standard output or of standard error."""
    from rich.console import Console

    return Console(stderr=to_stderr, no_color=no_color, soft_wrap=soft_wrap, highlight=highlight, emoji=False)
