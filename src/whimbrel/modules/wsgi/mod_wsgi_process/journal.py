"""What an application logs: lines of a request, lines without one, standard output and error."""

from __future__ import annotations

import io
import os
import socket
import threading
import types
from collections.abc import Callable
from typing import TYPE_CHECKING

from .records import MAX_LINE

if TYPE_CHECKING:
    Buffer = bytes | bytearray | memoryview

OWN_DIRECTORY = os.path.dirname(__file__)


class Reports:
    """Lines without a request, and signs of life, as datagrams to the keeper."""

    def __init__(self, handle: int) -> None:
        self._socket = socket.socket(fileno=handle) if handle >= 0 else None

    def _send(self, text: str) -> None:
        if self._socket is not None:
            try:
                self._socket.send(text[:MAX_LINE].encode("utf-8", "replace"), socket.MSG_DONTWAIT)
            except OSError:
                pass  # the keeper is busy or gone; a request must not wait for that

    def log(self, level: str, text: str) -> None:
        """Write a line."""
        self._send("%d %s %s" % (os.getpid(), level, text))

    def beat(self) -> None:
        """Report that the interpreter runs Python code."""
        self._send("%d alive" % os.getpid())


class LogLines(io.RawIOBase):
    """Binary stream of a log: complete lines are written at once, the rest at the end.

    Attributes:
        write_line: function of the text of a line, in bytes.
    """

    def __init__(self, name: str, write_line: Callable[[bytes], None]) -> None:
        self.name = name
        self.write_line = write_line
        self._rest = b""
        self.is_expired = False

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Buffer) -> int:  # type: ignore[override]
        """Take bytes of the log."""
        if self.is_expired:
            raise RuntimeError("log object has expired")
        data = bytes(data)
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self.write_line(line)
        return len(data)

    def flush(self) -> None:
        """Write an unfinished line."""
        rest, self._rest = self._rest, b""
        if rest and not self.is_expired:
            self.write_line(rest)

    def expire(self) -> None:
        """End the stream: later writes fail."""
        self.flush()
        self.is_expired = True

    def fileno(self) -> int:
        """Raise OSError."""
        raise OSError("Apache/mod_wsgi log object is not associated with a file descriptor.")


def text_stream(buffer: io.RawIOBase) -> io.TextIOWrapper:
    """Return a text stream on *buffer*, which passes all text on at once."""
    return io.TextIOWrapper(
        buffer,  # type: ignore[arg-type]
        encoding="utf-8",
        errors="replace",
        newline="",
        line_buffering=True,
        write_through=True,
    )


class SwitchedLog(io.RawIOBase):
    """Standard output and error: the log of the request of the present thread, else that of the process."""

    def __init__(self, name: str, current: threading.local, reports: Reports) -> None:
        self.name = name
        self._current = current
        self._own = LogLines(name, lambda line: reports.log("error", line.decode("utf-8", "replace")))

    def _target(self) -> LogLines:
        target: LogLines | None = getattr(self._current, "log", None)
        return target or self._own

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Buffer) -> int:  # type: ignore[override]
        """Take bytes of the log."""
        return self._target().write(data)

    def flush(self) -> None:
        """Write an unfinished line."""
        self._target().flush()


def own_frames_left_out(found: types.TracebackType | None) -> types.TracebackType | None:
    """Return a traceback without the frames of this package, which mod_wsgi has in C."""
    frames = []
    while found is not None:
        if os.path.dirname(found.tb_frame.f_code.co_filename) != OWN_DIRECTORY:
            frames.append(found)
        found = found.tb_next
    out = None
    for each in reversed(frames):
        out = types.TracebackType(out, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return out
