"""A program as a source: one task writes the input to it, while its reader takes the output.

The output is read as the client takes it.  A program whose output is not read stops reading its input, so the
input waits too.
"""

from __future__ import annotations

import asyncio
from typing import Final

from whimbrel.base.latin1 import to_bytes
from whimbrel.config.core_config import CoreDirConfig, CoreServerConfig
from whimbrel.engine.body import Aborted, Source
from whimbrel.engine.coroutines import yield_to_loop
from whimbrel.engine.output.filters import MAX_GATHERED
from whimbrel.engine.request import Request
from whimbrel.http.syntax.url import escape_shell, unescape_loose
from whimbrel.modules.filters.mod_ext_filter.definition import ExtFilterDefinition, ExtFilterDirConfig
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars, environment, overlap
from whimbrel.modules.support.cgi.program import FAIR_SHARE, Program, ProgramTimeout
from whimbrel.modules.support.cgi.raw_stderr import stderr_writer

MODULE: Final = "ext_filter"
PIPE_SIZE: Final = 64 * 1024  # bytes that a pipe buffers
_TIMEOUT: Final = "(70007)The timeout specified has expired"
GRACE: Final = 1.0  # seconds for the program to end, and its standard error to be closed, behind its output


async def environment_of(r: Request) -> dict[bytes, bytes]:
    """Return the variables of a filter program: those of CGI, and those of mod_include's document."""
    await add_cgi_vars(r)
    add_common_vars(r)
    more = {"DOCUMENT_URI": r.uri, "DOCUMENT_PATH_INFO": r.path_info or ""}
    if r.args:
        more["QUERY_STRING_UNESCAPED"] = escape_shell(unescape_loose(r.args))
    overlap(r.env, more)
    return environment(r)


class ProgramSource(Source):
    """The output of a program that filters *source*; it raises OSError if it cannot be started.

    Attributes:
        expected: the length that was announced to the client; None without one.
    """

    def __init__(
        self, r: Request, defined: ExtFilterDefinition, source: Source, variables: dict[bytes, bytes]
    ) -> None:
        self._r = r
        self._source = source
        self._logs = r.dir_config(ExtFilterDirConfig).log_stderr
        self._command = defined.command
        self._program = Program(
            [to_bytes(word) for word in defined.argv or ("",)],
            variables,
            None,
            r.dir_config(CoreDirConfig).limits,
            stderr_writer(r, r.server) if self._logs else None,
        )
        self._timeout: float = r.server_conf(CoreServerConfig).timeout
        self._first = b""
        self._failure: Exception | None = None  # why the input cannot be read
        self._is_fed = False
        self._is_waiting = False
        self._has_ended = False
        self._moved = 0
        self._count = 0
        self.expected: int | None = None
        self._flushed = asyncio.Event()  # set at the first flush of the input
        self._has_flush = False  # one follows `_first`, as `gather` has stopped there
        self._pending: asyncio.Task[bytes | None] | None = None  # a `_read` that `gather` has begun
        self._feeder = asyncio.create_task(self._feed())

    async def gather(self, *, to_flush: bool = False) -> bytes | None:
        """Return the whole output if it has at most `MAX_GATHERED` bytes; else None, and `read` begins with
        what was gathered.

        *to_flush*: gather no longer than to the first flush of the input.
        """
        pieces: list[bytes] = []
        size = 0
        try:
            while not to_flush or await self._is_before_flush():
                data = await self.read()
                if data is None:
                    return b"".join(pieces)
                pieces.append(data)
                size += len(data)
                if size > MAX_GATHERED:
                    break
        except BaseException:
            self.stop()
            raise
        else:
            self._has_flush = True
        self._first = b"".join(pieces)
        return None

    async def _is_before_flush(self) -> bool:
        """Wait for output or its end, and return True; return False if the input flushes before."""
        self._pending = asyncio.create_task(self._read())
        flush = asyncio.create_task(self._flushed.wait())
        try:
            await asyncio.wait((self._pending, flush), return_when=asyncio.FIRST_COMPLETED)
        finally:
            flush.cancel()
        return self._pending.done()

    async def read(self) -> bytes | None:
        """Return the next bytes of the output.

        Raises:
            Aborted: the program failed, or its output has another length than announced.
            Exception: that of the input.
        """
        data, self._first = self._first, b""
        if data or self._has_ended:
            return data or None
        pending, self._pending = self._pending, None
        return await (self._read() if pending is None else pending)

    async def read_or_flush(self) -> bytes | None:
        """See Source: the flush at which `gather` has stopped."""
        if self._has_flush and not self._first:
            self._has_flush = False
            return b""
        return await self.read()

    async def _read(self) -> bytes | None:
        data = await self._next()
        self._count += len(data)
        if not data:
            await self._end()
        expected = self.expected
        if expected is not None and (self._count > expected or (not data and self._count < expected)):
            raise self._failed(f"the filter program {self._command} changed the length of the content")
        return data or None

    async def _next(self) -> bytes:
        """Return the next bytes of the program, b"" at the end.

        The time limit runs while the program has input and neither reads nor writes.
        """
        while True:
            moved = self._moved
            try:
                return await self._program.read(self._timeout)
            except ProgramTimeout:
                if self._moved == moved and not self._is_waiting:
                    words = "apr_file_read(child output), len 0"
                    self._r.log("error", words, code="AH01466", module=MODULE, cause=_TIMEOUT)
                    raise self._failed("ef_unified_filter() failed", "AH01468", _TIMEOUT) from None

    async def _feed(self) -> None:
        """Write the input to the program until it ends or the program no longer reads.

        Input that fits into the pipe counts as read, whether the program ends before or after it is written.
        """
        unshared = 0
        total = 0
        try:
            while not self._is_fed:
                self._is_waiting = True
                data = await self._source.read_or_flush()
                self._is_waiting = False
                if data == b"":
                    self._flushed.set()
                    continue
                total += len(data or b"")
                if data is None:
                    self._is_fed = True
                elif not await self._program.write(data):
                    self._is_fed = total <= PIPE_SIZE and await self._source.read() is None
                    break
                else:
                    self._moved += 1
                    unshared += len(data)
                    if unshared > FAIR_SHARE:
                        unshared = 0
                        await yield_to_loop()
        except Exception as problem:  # it is raised again where the output is read
            self._failure = problem
        finally:
            self._is_waiting = False
            self._program.end_input()

    async def _end(self) -> None:
        """Release the program, whose output has ended; raise if the output may be incomplete.

        A program that has read its input may end with any status, as in httpd.
        """
        status = await self._program.exit_status(GRACE)
        if self._logs:
            await self._program.complaints(GRACE)
        if status:  # the feeder may still have input to write
            await asyncio.wait((self._feeder,), timeout=GRACE)
        failure = self._failure
        is_fed = self._is_fed
        self.stop()
        await self._close_input()
        if failure is not None:
            raise failure
        words = ""
        if status is None:
            words = "" if is_fed else "closed its output before it had read its input"
        elif status < 0:
            words = f"was ended by signal {-status}"
        elif status and not is_fed:
            words = f"ended with status {status}"
        if words:
            raise self._failed(f"the filter program {self._command} {words}")

    def _failed(self, words: str, code: str = "", cause: str = "") -> Aborted:
        """Log why the output is incomplete, and return the exception to raise."""
        self._r.log("error", words, code=code, module=MODULE, cause=cause)
        return Aborted(words)

    # end
    def stop(self) -> None:
        """End the program; its output is not read any further."""
        self._has_ended = True
        self._first = b""
        self._feeder.cancel()
        if self._pending is not None:
            self._pending.cancel()
        self._program.stop(listen=self._logs)

    async def _close_input(self) -> None:
        """Wait for the feeder and close the input, also if the waiting task is cancelled."""
        await asyncio.shield(self._closed())

    async def _closed(self) -> None:
        await asyncio.wait((self._feeder,))
        await self._source.aclose()

    async def aclose(self) -> None:
        """End the program and close the input."""
        self.stop()
        await self._close_input()

    def drop(self) -> None:
        """End the program and drop the input: the head has been built."""
        self.stop()
        self._source.drop()
