"""The reason why a server of `whimbrel serve` ended, on the terminal.

While a server runs, standard error is its error log; with a temporary one the reason would vanish.
"""

from __future__ import annotations

import os
import select
from typing import Final

from whimbrel.base.errors import StartError
from whimbrel.base.latin1 import to_bytes, to_system
from whimbrel.base.lazy_re import compile
from whimbrel.config.model import LogSink

MAX_READ: Final = 1 << 16
"""Bytes at the end of the error log that are searched."""
MAX_LINES: Final = 10
_HEAD: Final = b"whimbrel serve: the server has ended; from its error log:"
_MINOR: Final = compile(rb"\[[^\]]*\d{4}\] \[(?:\w*:)?(?:warn|notice|info|debug|trace\d)\] ")


class FailureReport:
    """Standard error of the terminal, and where the lines of this server begin in its error log."""

    def __init__(self) -> None:
        self._terminal = os.dup(2)
        self._is_terminal = os.isatty(2)
        self._log: LogSink | None = None
        self._begin = 0

    def begin(self, log: LogSink | None) -> None:
        """Take the error log that is about to be opened."""
        self._log = log
        self._begin = _size(log)

    def require_terminal(self) -> None:
        """Raise StartError if the terminal has been closed: its SIGHUP is no order to restart."""
        poller = select.poll()
        poller.register(self._terminal, 0)
        if self._is_terminal and any(events & select.POLLHUP for _handle, events in poller.poll(0)):
            raise StartError("whimbrel serve: the terminal has been closed")

    def print(self, log: LogSink | None = None) -> None:
        """Give standard error back to the terminal, and print the last severe lines of *log*: the one that
        was opened last.
        """
        os.dup2(self._terminal, 2)
        log = log or self._log
        lines = severe_lines(log, self._begin if log == self._log else 0)
        if lines:
            try:
                os.write(2, b"\n".join([_HEAD, *lines, b""]))
            except OSError:
                return  # the terminal has been closed


def severe_lines(log: LogSink | None, begin: int) -> list[bytes]:
    """Return the last lines of the file *log* from *begin* on that are errors or no lines of httpd's form;
    the last line if there is none.
    """
    size = _size(log)
    if log is None or size <= begin:
        return []
    try:
        with open(to_bytes(log.target), "rb") as file:
            file.seek(max(begin, size - MAX_READ))
            lines = file.read(MAX_READ).splitlines()
    except OSError:
        return []
    return [line for line in lines if _MINOR.match(line) is None][-MAX_LINES:] or lines[-1:]


def _size(log: LogSink | None) -> int:
    """Return the size of a log that is a file; 0 for others."""
    if log is None or log.piped or log.syslog:
        return 0
    path = to_system(log.target)
    try:
        return os.path.getsize(path) if os.path.isfile(path) else 0
    except OSError:
        return 0
