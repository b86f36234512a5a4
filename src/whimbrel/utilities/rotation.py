"""The log files of rotatelogs: names, times of rotation, and the change from one to the next.

Manual: programs/rotatelogs.html.  If the next file cannot be opened, the open one is truncated and gets a
line with the number of lost messages.
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from typing import Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.programs import require_programs
from whimbrel.utilities.options import Exit, write_stderr

_NEW: Final = "Open a new file"
_TIME: Final = "Time interval expired"
_SIZE: Final = "Maximum size reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class RotationSchedule:
    """The command line's settings; *seconds* and *size* (bytes) are 0 if unused, *offset* is in seconds."""

    name: str
    seconds: int = 0
    size: int = 0
    offset: int = 0
    local: bool = False
    pattern: bool = False
    force: bool = False
    parents: bool = False
    verbose: bool = False
    empty: bool = False
    echo: bool = False
    truncate: bool = False
    truncate_next: bool = False
    files: int = 0
    link: str | None = None
    program: str = ""


class Rotation:
    """The open file and its state."""

    def __init__(self, schedule: RotationSchedule) -> None:
        self.schedule = schedule
        self.handle = -1
        self.path = ""
        self.end = 0
        self.number = -1
        self.messages = 0

    def now(self) -> int:
        """Return seconds since the epoch, plus the rotation offset."""
        now = int(time.time())
        return now + (time.localtime(now).tm_gmtoff if self.schedule.local else self.schedule.offset)

    def seconds_left(self) -> int:
        """Return the seconds until the next rotation."""
        return self.end - self.now() if self.end else self.schedule.seconds

    def write(self, data: bytes) -> None:
        """Write *data*, after rotating if that is due.  Raises Exit."""
        if self.handle < 0:
            self._rotate(_NEW)
        reason = self._reason()
        if reason:
            self._rotate(reason)
        try:
            _write(self.handle, data)
            self.messages += 1
        except OSError as problem:
            self._reset("error writing to log", problem)

    def _rotate(self, reason: str) -> None:
        self._log_verbose(f"File rotation needed, reason: {reason}\n")
        self.open()

    def _reason(self) -> str:
        schedule = self.schedule
        if schedule.size > 0 and os.fstat(self.handle).st_size > schedule.size:
            return _SIZE
        return _TIME if schedule.seconds and self.now() >= self.end else ""

    def open(self) -> None:
        """Open the next file and close the previous one.  Raises Exit."""
        schedule = self.schedule
        now = self.now()
        begin = now // schedule.seconds * schedule.seconds if schedule.seconds else now
        self.end = begin + schedule.seconds if schedule.seconds else 0
        path = self._next_name(begin)
        if schedule.parents:
            self._make_parents(path)
        self._log_verbose(f"Opening file {path}\n")
        is_reopening = self.handle >= 0 and (schedule.files > 0 or schedule.truncate_next)
        flags = (
            os.O_WRONLY | os.O_CREAT | os.O_APPEND | (os.O_TRUNC if schedule.truncate or is_reopening else 0)
        )
        try:
            handle = os.open(to_bytes(path), flags, 0o666)
        except OSError as problem:
            self._on_open_error(path, problem)
            return
        before = (self.handle, self.path)
        self.handle = handle
        self.path = path
        self._after_opening(*before)

    def _after_opening(self, before: int, before_path: str) -> None:
        if self.schedule.link is not None:
            self._link()
        if self.schedule.program:
            self._call(before_path)
        if before >= 0:
            self._log_verbose(f"Closing file {before_path}\n")
            os.close(before)
        self.messages = 0

    def _next_name(self, begin: int) -> str:
        schedule = self.schedule
        if schedule.pattern:
            return to_text(
                os.fsencode(time.strftime(os.fsdecode(to_bytes(schedule.name)), time.gmtime(begin)))
            )
        if schedule.files:
            self.number = (self.number + 1) % schedule.files
            return f"{schedule.name}.{self.number}" if self.number else schedule.name
        return schedule.name if schedule.truncate else f"{schedule.name}.{begin:010}"

    def _make_parents(self, path: str) -> None:
        directory = path.rpartition("/")[0]
        if directory and not os.path.isdir(to_bytes(directory)):
            self._log_verbose(f"Creating directory tree {directory}\n")
            try:
                os.makedirs(to_bytes(directory), exist_ok=True)
            except OSError as problem:
                raise Exit(
                    2, f"Could not create directory '{directory}' ({_error_text(problem)})\n"
                ) from None

    def _on_open_error(self, path: str, problem: OSError) -> None:
        if self.handle < 0:
            raise Exit(2, f"Could not open log file '{path}' ({_error_text(problem)})\n")
        self._reset("error opening new log file", problem)

    def _reset(self, what: str, problem: OSError) -> None:
        """Truncate the open file, and write the number of lost messages to it.  Raises Exit."""
        try:
            os.ftruncate(self.handle, 0)
        except OSError:
            raise Exit(2, f"Error truncating the file {self.path}\n") from None
        line = (
            f"Resetting log file due to {what}, {self.messages:10} messages lost: "
            f"{_error_text(problem)[:25]:<25}\n"
        )
        self.messages = 0
        try:
            _write(self.handle, to_bytes(line))
        except OSError:
            raise Exit(2, f"Error writing to the file {self.path}\n") from None

    def _link(self) -> None:
        link = self.schedule.link or ""
        self._log_verbose(f"Linking {self.path} to {link}\n")
        try:
            with suppress(OSError):
                os.unlink(to_bytes(link))
            os.link(to_bytes(self.path), to_bytes(link))
        except OSError as problem:
            raise Exit(2, f"Error linking file {self.path} to {link} ({_error_text(problem)})\n") from None

    def _call(self, before: str) -> None:
        program = self.schedule.program  # resolved against the working directory, not PATH
        self._log_verbose(f"Calling post-rotate program: {program}\n")
        try:
            require_programs()
            subprocess.Popen(
                [to_bytes(word) for word in (program, self.path, before) if word],
                executable=to_bytes(os.path.join(".", program)),
            )
        except OSError as problem:
            write_stderr(f"Could not spawn post-rotate process '{program}': {_error_text(problem)}\n")

    def _log_verbose(self, line: str) -> None:
        if self.schedule.verbose:
            write_stderr(line)


def _write(handle: int, data: bytes) -> None:
    while data:
        data = data[os.write(handle, data) :]


def _error_text(problem: OSError) -> str:
    return os.strerror(problem.errno or 0)
