"""Log sinks: files, programs and syslog, opened by the master and written by its workers.

Files get one append of complete lines (O_APPEND: the kernel separates the lines of several processes), pipes
at most PIPE_BUF bytes per write. The lines of one tick are written together at its end.
"""

from __future__ import annotations

import os
import re
import select
import syslog
import time
from collections.abc import Callable, Iterable
from typing import Final

from whimbrel.base.dialect import Dialect
from whimbrel.base.errors import StartError, apr_error
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.lazy_re import compile
from whimbrel.base.numbers import upper
from whimbrel.config.model import LogSink
from whimbrel.engine.log.error_log_line import LEVELS
from whimbrel.server.logs.piped_logs import PipedLog
from whimbrel.server.master.messages import complain, logs_not_opened, with_code

ATOMIC: Final = 4096  # PIPE_BUF: the unit of atomic writes to a pipe, and httpd's buffer under BufferedLogs
# bytes that wait for a full disk or a slow program; then lines are dropped (disk) or the worker waits
# (program)
MAX_WAITING: Final = 1 << 20
RETRY: Final = 0.5  # seconds until a failed write is repeated
# seconds of life up to which a log program restarts after a pause, as one does that could not be started
QUICK_END: Final = 1.0
RESTART_PAUSE: Final = 1.0  # seconds
LAST_WAIT: Final = 3.0  # seconds that the end of a worker waits for a slow program
_DATED: Final = compile(r"\[\w{3} [^\]]* \d{4}\] (?P<text>\[(?:\w*:)?(?P<level>\w+)\] )", re.ASCII)


class LogFile:
    """An open log; *hold* collects lines until they fill a block (BufferedLogs).

    Attributes:
        is_immediate: its lines do not wait for the end of the tick: those of an error log are in the file
            before the client has the response that they explain.
    """

    def __init__(self, handle: int, *, pipe: bool = False, hold: bool = False) -> None:
        self.handle = handle
        self.pipe = pipe
        self.hold = hold
        self.blocked = False
        self.is_immediate = False
        self._lines: list[bytes] = []
        self.add: Callable[[bytes], None] = self._lines.append  # collects complete lines for the next `flush`

    @property
    def _size(self) -> int:
        return sum(map(len, self._lines))

    def flush(self, *, everything: bool = True) -> None:
        """Write the lines that are due; never raise.

        Lines that cannot be written stay (`blocked`) until a call with *everything*, or until too much waits.
        """
        if not self._lines or (
            not everything
            and (self._size < ATOMIC if self.hold else self.blocked and self._size < MAX_WAITING)
        ):
            return
        pieces = grouped(self._lines, ATOMIC) if self.pipe else [b"".join(self._lines)]
        left = self._write(pieces)
        self.blocked = bool(left)
        self._lines[:] = left

    def finish(self, end: float) -> None:
        """Flush for the last time; a slow program gets time until *end* (monotonic)."""
        self.flush()
        while self.pipe and self._lines and (left := end - time.monotonic()) > 0:
            _wait_writable(self.handle, left)
            self.flush()

    def _write(self, pieces: list[bytes]) -> list[bytes]:
        for at, piece in enumerate(pieces):
            rest = piece
            while rest:
                try:
                    written = os.write(self.handle, rest)
                    taken_back = 0 if self.pipe else self._take_back(rest[:written], rest)
                    rest = rest[written - taken_back :]
                    if taken_back:
                        return [_shortened(rest)]
                except BlockingIOError:
                    if self._size < MAX_WAITING:
                        return [rest, *pieces[at + 1 :]]
                    _wait_writable(self.handle, 1.0)
                except OSError:  # full disk: keep the complete lines that fit the bound
                    return [_shortened(rest)]
        return []

    def _take_back(self, written: bytes, data: bytes) -> int:
        """Remove and return the beginning of a line that a full disk cut; other workers' follow."""
        size = len(written) - written.rfind(b"\n") - 1
        if len(written) == len(data) or not size:
            return 0
        try:
            os.ftruncate(self.handle, os.fstat(self.handle).st_size - size)
        except OSError:  # a device
            return 0
        return size


def _wait_writable(handle: int, seconds: float) -> None:
    poller = select.poll()  # select(2) fails on descriptors from 1024 on
    poller.register(handle, select.POLLOUT)
    poller.poll(seconds * 1000)


def _shortened(lines: bytes) -> bytes:
    return lines if len(lines) <= MAX_WAITING else lines[: lines.rfind(b"\n", 0, MAX_WAITING) + 1]


class Syslog(LogFile):
    """The system's log: it adds its own times, and each line's level is its priority."""

    def __init__(self) -> None:
        super().__init__(-1)

    def _write(self, pieces: list[bytes]) -> list[bytes]:
        for line in b"".join(pieces).decode("latin-1").split("\n")[:-1]:
            match = _DATED.match(line)
            level = LEVELS.get(match["level"], syslog.LOG_DEBUG) if match is not None else syslog.LOG_ERR
            syslog.syslog(
                min(level, syslog.LOG_DEBUG), line[match.start("text") :] if match is not None else line
            )
        return []


def grouped(lines: Iterable[bytes], size: int) -> list[bytes]:
    """Join *lines* into blocks of up to *size* bytes; a longer line is a block of its own."""
    out: list[bytes] = []
    for line in lines:
        if out and len(out[-1]) + len(line) <= size:
            out[-1] += line
        else:
            out.append(line)
    return out


class Logs:
    """The open logs of one generation of workers, by sink.

    After `attach`, `write` collects lines until the end of the tick. Before (in the master) it writes every
    line immediately.
    """

    def __init__(self, dialect: Dialect, program: str, server_root: str = "") -> None:
        self.dialect = dialect
        self.program = program
        self.server_root = server_root
        self.outputs: dict[LogSink, LogFile] = {}
        self.programs: list[PipedLog] = []
        self.restart_at: float | None = None  # when a log program is due to be restarted (monotonic)
        self.report: Callable[[str], None] = lambda text: None
        self._soon: Callable[[Callable[[], None]], object] | None = None
        self._later: Callable[[float, Callable[[], None]], object] | None = None
        self._retrying = False
        self._due: list[LogFile] = []
        self._by_id: dict[int, tuple[LogSink, LogFile]] = {}

    # opening ----------------------------------------------------------------------------------
    def open_error_log(self, sink: LogSink) -> None:
        """Open the main error log and redirect standard error to it; raise StartError."""
        if sink.syslog:
            self._open_syslog(sink)
            return
        output = self._open_program(sink, error_log=True) if sink.piped else self._open_file(sink)
        output.is_immediate = True
        os.dup2(output.handle, 2)

    def open(self, sinks: Iterable[LogSink], *, hold: bool = False, error_log: bool = False) -> None:
        """Open further logs; raise StartError."""
        for sink in sinks:
            if sink in self.outputs:
                continue
            if sink.syslog:
                self._open_syslog(sink)
            elif sink.piped:
                self._open_program(sink, error_log=error_log).is_immediate = error_log
            elif error_log:
                self._open_file(sink).is_immediate = True
            else:
                self._open_transfer_log(sink).hold = hold

    def _open_file(self, sink: LogSink) -> LogFile:
        try:
            return self._append_to(sink)
        except OSError as problem:
            text = f"{self.program}: could not open error log file {sink.target}."
            raise logs_not_opened(self.dialect, "AH00091", text, apr_error(problem)) from None

    def _open_transfer_log(self, sink: LogSink) -> LogFile:
        """Open a transfer log; a failure is logged in the error log, which is open by now."""
        try:
            return self._append_to(sink)
        except OSError as problem:
            self.report(
                with_code(
                    self.dialect,
                    "AH00649",
                    f"could not open transfer log file {sink.target}.",
                    apr_error(problem),
                )
            )
            raise StartError(with_code(self.dialect, "AH00015", "Unable to open logs")) from None

    def _append_to(self, sink: LogSink) -> LogFile:
        return self._keep(
            sink, LogFile(os.open(to_bytes(sink.target), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644))
        )

    def _open_program(self, sink: LogSink, *, error_log: bool) -> LogFile:
        program = None
        try:
            program = PipedLog(sink, self.server_root)
            program.start()
        except OSError as problem:
            if program is not None:
                program.close()
            raise self._not_started(sink, problem, error_log) from None
        self.programs.append(program)
        return self._keep(sink, LogFile(program.write_end, pipe=True))

    def _not_started(self, sink: LogSink, problem: OSError, error_log: bool) -> StartError:
        new = self.dialect.messages_24
        if error_log:
            return logs_not_opened(
                self.dialect,
                "AH00089",
                "Couldn't start ErrorLog process" + (f" '{sink.target}'." if new else ""),
                apr_error(problem),
            )
        text = f"unable to start piped log program '{sink.target}'"
        if new:
            return logs_not_opened(self.dialect, "AH00104", text, apr_error(problem))
        return logs_not_opened(self.dialect, "", f"{text}: {os.strerror(problem.errno or 0)}")

    def _open_syslog(self, sink: LogSink) -> None:
        facility, _, tag = sink.target.partition(":")
        number: int | None = getattr(
            syslog,
            f"LOG_{upper(facility) or 'LOCAL7'}",
            None if self.dialect.messages_24 else syslog.LOG_LOCAL7,
        )
        if number is None:
            text = f"{self.program}: could not open syslog error log {sink.target}."
            raise logs_not_opened(
                self.dialect,
                "AH10036",
                text,
                "(20024)The given path is misformatted or contained invalid characters",
            )
        syslog.openlog(tag or self.program, syslog.LOG_PID, number)
        self._keep(sink, Syslog())

    def _keep(self, sink: LogSink, output: LogFile) -> LogFile:
        self.outputs[sink] = output
        return output

    # writing ----------------------------------------------------------------------------------
    def attach(
        self,
        soon: Callable[[Callable[[], None]], object],
        later: Callable[[float, Callable[[], None]], object] | None = None,
    ) -> None:
        """Collect lines; *soon* calls a function at the end of the tick, *later* some seconds on."""
        self._soon = soon
        self._later = later

    def write(self, sink: LogSink, data: bytes) -> None:
        """Append complete lines to a log."""
        known = self._by_id.get(id(sink))
        output = known[1] if known is not None else self._find(sink)
        output.add(data)
        if self._soon is None:
            output.flush()
            return
        if output.is_immediate:
            output.flush(everything=False)
        # an access log may be the same file: its lines follow through `appender`
        if not self._due:
            self._soon(self.flush_tick)
        if output not in self._due:
            self._due.append(output)

    def appender(self, sink: LogSink) -> Callable[[bytes], None]:
        """Return a fast `write` of whole lines to an open log, for ticks that already wrote it."""
        known = self._by_id.get(id(sink))
        return (known[1] if known is not None else self._find(sink)).add

    def flush_tick(self) -> None:
        """Write the lines of this tick."""
        due, self._due = self._due, []
        for output in due:
            output.flush(everything=False)
            if output.blocked:
                self._retry_later()

    def _retry_later(self) -> None:
        if self._later is not None and not self._retrying:
            self._retrying = True
            self._later(RETRY, self._retry)

    def _retry(self) -> None:
        self._retrying = False
        for output in self.outputs.values():
            if output.blocked:
                output.flush()
                if output.blocked:
                    self._retry_later()

    def flush(self) -> None:
        """Write everything, held lines too."""
        for output in self.outputs.values():
            output.flush()

    def finish(self) -> None:
        """Flush for the last time in a worker."""
        end = time.monotonic() + LAST_WAIT
        for output in self.outputs.values():
            output.finish(end)

    def _find(self, sink: LogSink) -> LogFile:
        """Return the open log of *sink*; open an unannounced one now, or fall back to the main error log."""
        output = self.outputs.get(sink)
        if output is None:
            try:
                self.open([sink])
                output = self.outputs[sink]
            except StartError:
                output = next(iter(self.outputs.values()), LogFile(2))
                self.outputs[sink] = output
        self._by_id[id(sink)] = (sink, output)
        return output

    # programs ---------------------------------------------------------------------------------
    def program_ended(self, pid: int) -> None:
        """Restart the log program with this process ID, after a pause if it has only just started."""
        for program in self.programs:
            if program.pid == pid:
                program.ended()
                complain(
                    with_code(
                        self.dialect,
                        "AH00106",
                        f"piped log program '{program.sink.target}' failed unexpectedly",
                    )
                )
                if time.monotonic() - program.started < QUICK_END:
                    self.restart_at = self.restart_at or time.monotonic() + RESTART_PAUSE
                else:
                    self._restart(program)

    def restart_programs(self) -> None:
        """Start the log programs whose pause is over."""
        if self.restart_at is not None and self.restart_at <= time.monotonic():
            self.restart_at = None
            for program in self.programs:
                if not program.pid and not program.ending:
                    self._restart(program)

    def _restart(self, program: PipedLog) -> None:
        try:
            program.start()
        except OSError as problem:
            target = program.sink.target
            why = apr_error(problem)
            complain(
                with_code(self.dialect, "AH00104", f"unable to start piped log program '{target}'", why)
                + "\n"
                + with_code(
                    self.dialect, "AH00107", f"piped_log_maintenance: unable to respawn '{target}'", why
                )
            )
            self.restart_at = self.restart_at or time.monotonic() + RESTART_PAUSE

    # the end ----------------------------------------------------------------------------------
    def close(self) -> None:
        """Close the logs of a previous generation; programs end with their last writer."""
        for sink, output in self.outputs.items():
            if output.handle > 2 and not sink.piped:
                os.close(output.handle)
        for program in self.programs:
            program.close()
        self.outputs.clear()
        self._by_id.clear()

    def end(self) -> None:
        """Write the rest and give programs a moment to read it, because the server ends."""
        self.flush()
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)
        self.close()
        limit = time.monotonic() + 1.0
        for program in self.programs:
            while program.runs() and time.monotonic() < limit:
                time.sleep(0.02)
            if program.process is not None and program.runs():
                program.process.terminate()
