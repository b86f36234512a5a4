"""A program started for one request: request body in, output streamed, standard error logged.

No shell is involved.  Pipes are read with the running loop's readers, so any event loop works.  The process
gets SIGTERM when its output is no longer needed, and SIGKILL if it stays.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from typing import Any, Final

from whimbrel.base.numbers import decimal, is_digits
from whimbrel.base.programs import permitted, stand_in
from whimbrel.engine.body import Source
from whimbrel.engine.coroutines import yield_to_loop

PIECE: Final = 65536
# The thread of the event loop reads the output of all programs into it. `os.read` would take PIECE bytes of
# the heap for a short answer, and leave a hole there where another object takes a part of them.
_buffer: Final = memoryview(bytearray(PIECE))
EXIT_TIME: Final = 0.002  # seconds from the end of the output to SIGTERM
KILL_AFTER: Final = 3.0  # seconds between SIGTERM and SIGKILL
MAX_STDERR_LINE: Final = 8191  # bytes of standard error in one message (apr_file_gets)
MAX_COMPLAINTS: Final = 4096  # bytes of standard error logged in one tick
FAIR_SHARE: Final = 256 * 1024  # bytes read before other clients are served
_RESOURCES: Final = {
    "cpu": ("RLIMIT_CPU",),
    "mem": ("RLIMIT_AS", "RLIMIT_DATA"),
    "nproc": ("RLIMIT_NPROC",),
}


class ProgramTimeout(Exception):
    """The program wrote nothing within its time limit."""


def _c_string(value: bytes) -> bytes:
    """Return the bytes before the first NUL, where C text ends."""
    return value.partition(b"\0")[0]


class Program:
    """A running program; *complain* gets each line of its standard error, None discards them.

    Raises OSError if it cannot be started.  *directory* None is that of the server; *limits* are the
    RLimit... values as written.  The program is the file *argv* begins with: PATH is not searched.
    """

    def __init__(
        self,
        argv: list[bytes],
        env: Mapping[bytes, bytes],
        directory: bytes | None,
        limits: Mapping[str, tuple[str, str]],
        complain: Callable[[bytes], None] | None,
    ) -> None:
        named = permitted(argv)
        if named is None:
            # of LD_PRELOAD as well
            named = stand_in()
            env = {}
            directory = b"/"
            limits = {}
        words = [_c_string(word) for word in named]
        (stdin, self._in), (self._out, stdout), *errors = _pipes(2 if complain is None else 3)
        self._err, stderr = errors[0] if errors else (-1, subprocess.DEVNULL)
        try:
            self._process = subprocess.Popen(
                words,
                executable=words[0] if b"/" in words[0] else b"./" + words[0],
                env={name: _c_string(value) for name, value in env.items()},
                cwd=directory,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                bufsize=0,
                preexec_fn=_limiter(limits) if limits else None,
            )
        except BaseException:
            _close(self._in, self._out, self._err)
            raise
        finally:
            _close(stdin, stdout, stderr)
        self._loop = asyncio.get_running_loop()
        self._line = b""
        self._unshared = 0
        self._has_ended = False  # its output has
        self._stderr_closed: asyncio.Future[None] | None = None
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        if complain is not None:
            self._complain = complain
            os.set_blocking(self._err, False)
            self._loop.add_reader(self._err, self._on_error)

    # input
    async def write(
        self, data: bytes, timeout: float | None = None, *, is_limited: Callable[[], bool] | None = None
    ) -> bool:
        """Write *data* to the program; return False when it no longer reads.

        Raises ProgramTimeout when it has read nothing for *timeout* seconds, unless *is_limited* returns
        False then.
        """
        view = memoryview(data)
        while view and self._in >= 0:
            try:
                view = view[os.write(self._in, view) :]
            except BlockingIOError:
                try:
                    await self._until_ready(self._in, timeout, write=True)
                except ProgramTimeout:
                    if is_limited is None or is_limited():
                        raise
            except OSError:
                self.end_input()
        return self._in >= 0

    def end_input(self) -> None:
        """Close the program's standard input."""
        self._in = self._closed(self._in, self._loop.remove_writer)

    # output
    def read_now(self) -> bytes | None:
        """Return what can be read without blocking; None for nothing yet, b"" at the end."""
        if self._out < 0:
            return b""
        try:
            count = os.readv(self._out, [_buffer])
        except BlockingIOError:
            return None
        data = _buffer[:count].tobytes()
        self._has_ended = not data
        return data

    async def read(self, timeout: float) -> bytes:
        """Return the next output, b"" at the end; ProgramTimeout after *timeout* seconds without."""
        while (data := self.read_now()) is None:
            self._unshared = 0
            await self._until_ready(self._out, timeout)
        self._unshared += len(data)
        if self._unshared > FAIR_SHARE:
            self._unshared = 0
            await yield_to_loop()
        return data

    async def exit_status(self, timeout: float) -> int | None:
        """Return the exit status, minus the signal; None if it runs on for *timeout* seconds."""
        if self._process.poll() is None:
            ended: asyncio.Future[None] = self._loop.create_future()
            if forget := self._on_exit(lambda: _set(ended)):
                with contextlib.suppress(asyncio.TimeoutError):
                    await asyncio.wait_for(ended, timeout)
                forget()
        return self._process.poll()

    async def complaints(self, timeout: float) -> None:
        """Wait until standard error is closed, at most *timeout* seconds."""
        if self._err < 0:
            return
        closed = self._loop.create_future()
        self._stderr_closed = closed
        late = self._loop.call_later(timeout, _set, closed)
        try:
            await closed
        finally:
            late.cancel()

    def _cut(self, line: bytes) -> bytes:
        """Log the beginning of a line that is too long for one message; return its rest."""
        while len(line) >= MAX_STDERR_LINE:
            self._complain(line[:MAX_STDERR_LINE])
            line = line[MAX_STDERR_LINE:]
        return line

    def _on_error(self) -> None:
        try:
            data = os.read(self._err, MAX_COMPLAINTS)
        except BlockingIOError:
            return
        *lines, self._line = (self._line + data).split(b"\n")
        if not data and self._line:
            lines, self._line = [self._line], b""
        for line in lines:
            self._complain(self._cut(line))
        self._line = self._cut(self._line)
        if not data:
            self._err = self._closed(self._err, self._loop.remove_reader)
            if self._stderr_closed is not None and not self._stderr_closed.done():
                self._stderr_closed.set_result(None)

    # end
    def stop(self, *, listen: bool = False) -> None:
        """Close the pipes and end the process: SIGTERM, then SIGKILL if it stays. A process whose output has
        ended gets some time to exit.

        *listen*: log standard error until its last writer closes it, which may be a child of the process.
        """
        self.end_input()
        self._out = self._closed(self._out, self._loop.remove_reader)
        if listen and self._err >= 0:
            self._on_error()  # log what was written so far with this request
        else:
            self._err = self._closed(self._err, self._loop.remove_reader)
        if self._process.poll() is not None or self._loop.is_closed():
            return
        if self._has_ended:
            self._loop.call_later(EXIT_TIME, self._terminate)
        else:
            self._terminate()

    def _terminate(self) -> None:
        if self._process.poll() is not None:
            return
        self._signal(signal.SIGTERM)
        killer = self._loop.call_later(KILL_AFTER, self._signal, signal.SIGKILL)

        def gone() -> None:
            self._process.poll()
            killer.cancel()
            if forget is not None:
                forget()

        forget = self._on_exit(gone)
        if forget is None:
            killer.cancel()

    def _on_exit(self, ended: Callable[[], None]) -> Callable[[], None] | None:
        """Call *ended* at the process's end, until the result is called; None if it was reaped."""
        try:
            watch = os.pidfd_open(self._process.pid)
        except ProcessLookupError:
            return None

        def forget() -> None:
            if not self._loop.is_closed():
                self._loop.remove_reader(watch)
            os.close(watch)

        self._loop.add_reader(watch, ended)
        return forget

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            self._process.send_signal(number)

    def _closed(self, handle: int, forget: Callable[[int], Any]) -> int:
        if handle >= 0:
            if not self._loop.is_closed():
                forget(handle)
            os.close(handle)
        return -1

    async def _until_ready(self, handle: int, timeout: float | None, *, write: bool = False) -> None:
        ready: asyncio.Future[None] = self._loop.create_future()
        add, remove = (
            (self._loop.add_writer, self._loop.remove_writer)
            if write
            else (self._loop.add_reader, self._loop.remove_reader)
        )
        add(handle, _set, ready)
        late = None if timeout is None else self._loop.call_later(timeout, _fail, ready)
        try:
            await ready
        finally:
            if late is not None:
                late.cancel()
            # `stop` may have closed the handle, whose number may be another's by now
            if handle in (self._in, self._out) and not self._loop.is_closed():
                remove(handle)


def _set(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)


def _fail(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_exception(ProgramTimeout())


class Output(Source):
    """The output of *program*.

    *late* is called if the program writes nothing for *timeout* seconds; the output then ends. While the
    program runs, the output is one of *opened*, the open sources of the connection.
    """

    def __init__(
        self, program: Program, timeout: float, late: Callable[[], None], opened: set[Any] | None = None
    ) -> None:
        self.program = program
        self.timeout = timeout
        self.late = late
        self._draining: asyncio.Task[None] | None = None
        self._opened: set[Any] = set() if opened is None else opened
        self._opened.add(self)

    def _stop(self) -> None:
        self._opened.discard(self)
        self.program.stop()

    async def read(self) -> bytes | None:
        """Return the next bytes of the output."""
        data = await self._read()
        if data:
            return data
        self._stop()
        return None

    async def _read(self) -> bytes:
        try:
            data = await self.program.read(self.timeout)
            if not data:
                await self.program.complaints(self.timeout)
        except ProgramTimeout:
            self.late()
            return b""
        return data

    async def aclose(self) -> None:
        """End the program."""
        self._stop()

    def drop(self) -> None:
        """Discard the output while the program finishes."""
        self._draining = asyncio.get_running_loop().create_task(self._drain())

    async def _drain(self) -> None:
        end = asyncio.get_running_loop().time() + self.timeout
        try:
            while asyncio.get_running_loop().time() < end and await self._read():
                pass
        finally:
            self._stop()


def _pipes(count: int) -> list[tuple[int, int]]:
    """Return *count* pipes, which no other program inherits."""
    pipes: list[tuple[int, int]] = []
    try:
        while len(pipes) < count:
            pipes.append(os.pipe())
    except OSError:
        for pair in pipes:
            _close(*pair)
        raise
    return pipes


def _close(*handles: int) -> None:
    for handle in handles:
        if handle >= 0:
            os.close(handle)


def _limiter(limits: Mapping[str, tuple[str, str]]) -> Callable[[], None]:
    """Return the function that sets the limits in the child before exec; ``max`` is the hard limit."""
    import resource  # a tool that reads RLimitCPU may run where this does not exist

    wanted = [(getattr(resource, kind), pair) for name, pair in limits.items() for kind in _RESOURCES[name]]

    def limit() -> None:
        for kind, (soft, hard) in wanted:
            _now, most = resource.getrlimit(kind)
            top = most if hard == "max" else _number(hard, most)
            resource.setrlimit(kind, (min(top, _number(soft, top)) if top >= 0 else _number(soft, top), top))

    return limit


def _number(word: str, most: int) -> int:
    return most if word == "max" or not is_digits(word) else decimal(word)
