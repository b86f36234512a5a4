"""Output of a command to its terminal: colors on request, and a pager for what exceeds the screen."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from whimbrel.base.programs import programs_permitted, require_programs
from whimbrel.base.terminal_text import shown, terminal_bytes
from whimbrel.cli.closed_output import drop_unread_output

if TYPE_CHECKING:
    from whimbrel.report.page.model import ReportPage

DEFAULT_PAGER: Final = "less -FRX"
_NO_PAGER: Final = ("", "cat")
_PIECE: Final = 1 << 16

NoPager = Annotated[
    bool,
    typer.Option(
        "--no-pager",
        help="Print long output at once. Default: show it in $PAGER, or less, on a terminal. "
        "Example: --no-pager",
    ),
]


def write_text(text: str, *, may_page: bool = True) -> None:
    """Write shown text as `write_bytes` does."""
    write_bytes(terminal_bytes(text), may_page=may_page)


def write_bytes(data: bytes, *, may_page: bool = True) -> None:
    """Write *data* to standard output, through a pager if a terminal has fewer lines.

    A pager that cannot be started or that fails loses nothing: the data is written without it. A reader that
    has ended, as ``head`` does, is no error: the command goes on to its own exit code.
    """
    try:
        sys.stdout.flush()
        if may_page and _exceeds_screen(data) and _was_paged(data):
            return
        for at in range(0, len(data), _PIECE):
            sys.stdout.buffer.write(data[at : at + _PIECE])
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        drop_unread_output()


def write_page(page: ReportPage) -> None:
    """Write the document of *page* to standard output, and its result in one line to standard error."""
    from whimbrel.report.page.texts import result_line
    from whimbrel.report.page.writing import write

    write_bytes(write(page).encode(), may_page=False)
    sys.stderr.flush()
    sys.stderr.buffer.write(terminal_bytes(f"{shown(result_line(page))}\n"))
    sys.stderr.flush()


def open_closed_files() -> None:
    """Open standard files that are closed, as by ``>&-``: no file of the command gets the output."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            if handle != number:
                os.dup2(handle, number)
                os.close(handle)
            setattr(sys, name, open(number, "w" if number else "r"))


def _exceeds_screen(data: bytes) -> bool:
    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return False
    try:
        return data.count(b"\n") >= os.get_terminal_size(sys.stdout.fileno()).lines
    except OSError:
        return False


def _was_paged(data: bytes) -> bool:
    """Return True if the user's pager has shown *data*."""
    try:
        command = shlex.split(os.environ.get("PAGER", DEFAULT_PAGER))
        if not command or command[0] in _NO_PAGER:
            return False
        with programs_permitted():  # the user's own pager
            require_programs()
            pager = subprocess.Popen(command, stdin=subprocess.PIPE)
    except (OSError, ValueError):
        return False
    return _finished(pager, data) == 0


def _finished(pager: subprocess.Popen[bytes], data: bytes) -> int:
    """Write *data* to the pager and return its exit code; its Ctrl-C does not end the command."""
    while True:
        try:
            pager.communicate(data if pager.returncode is None else None)
            return pager.returncode
        except KeyboardInterrupt:
            continue
