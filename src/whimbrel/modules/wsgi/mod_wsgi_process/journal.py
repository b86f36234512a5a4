"""What an application logs: lines of a request, lines without one, standard output and error."""

from __future__ import annotations

import io
import os
import socket
import sys
import threading
import types
from collections.abc import Callable
from typing import TYPE_CHECKING

from .records import MAX_LINE

if TYPE_CHECKING:
    Buffer = bytes | bytearray | memoryview

OWN_DIRECTORY = os.path.dirname(__file__)
count_references: Callable[[object], int] = getattr(sys, "getrefcount", lambda _object: 0)


class Reports:
    """Lines without a request, and signs of life, as datagrams to the keeper."""

    def __init__(self, handle: int) -> None:
        self._socket = socket.socket(fileno=handle) if handle >= 0 else None
        if self._socket is not None:
            self._socket.set_inheritable(False)

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
        is_used: something was written.
    """

    def __init__(self, name: str, write_line: Callable[[bytes], None]) -> None:
        self.name = name
        self.write_line = write_line
        self._rest = b""
        self.is_expired = False
        self.is_used = False

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Buffer) -> int:  # type: ignore[override]
        """Take bytes of the log."""
        if self.is_expired:
            raise RuntimeError("log object has expired")
        self.is_used = True
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


class ErrorStreams:
    """wsgi.errors of the requests of a thread, one after the other.

    A stream that an application has neither written to nor kept serves the next request, too, which saves a
    tenth of the time of a small request.
    """

    def __init__(self) -> None:
        self._lines: LogLines | None = None
        self._stream: io.TextIOWrapper | None = None

    def begin(self, write_line: Callable[[bytes], None]) -> tuple[io.TextIOWrapper, LogLines]:
        """Return the stream of a request whose lines *write_line* takes, and what is below it."""
        lines = self._lines
        stream = self._stream
        if lines is None or stream is None:
            lines = LogLines("<wsgi.errors>", write_line)
            stream = text_stream(lines)
            self._lines = lines
            self._stream = stream
        else:
            lines.write_line = write_line
        return stream, lines

    def end(self) -> None:
        """End the request; the caller has no reference to its streams."""
        if self._is_pristine():
            return
        lines = self._lines
        stream = self._stream
        self._lines = None
        self._stream = None
        if lines is not None and stream is not None:
            try:
                stream.flush()
            except ValueError:
                pass  # the application has closed it
            lines.expire()

    def _is_pristine(self) -> bool:
        """Return True if only this object knows the streams, and they are as they were made."""
        stream = self._stream
        lines = self._lines
        if stream is None or lines is None or lines.is_used or stream.__dict__:
            return False
        try:
            if stream.closed:
                return False
        except ValueError:
            return False  # the application has detached it
        if (stream.encoding, stream.errors, stream.line_buffering) != ("utf-8", "replace", True):
            return False
        del stream, lines
        # a reference of this object and one of the call; `_stream` has one to `_lines`
        return count_references(self._stream) == 2 and count_references(self._lines) == 3


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
