"""Execution of CGI scripts, shared by mod_cgi and mod_cgid, which differ in their messages.

RFC 3875; manual: howto/cgi.html, mod/mod_cgi.html.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from select import PIPE_BUF
from stat import S_ISDIR
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from whimbrel.backends.script_lines import MAX_LINE, next_line
from whimbrel.base.errors import apr_error
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.programs import may_start_programs, report
from whimbrel.config.core_config import OPT_EXECCGI, CoreDirConfig, CoreServerConfig
from whimbrel.engine.body import Aborted, PipedBytes, Source
from whimbrel.engine.input.body import level_of
from whimbrel.engine.log.error_log_line import LogLine
from whimbrel.engine.output.filter import FilterType
from whimbrel.engine.request import Request
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.semantics.headers import Headers
from whimbrel.http.syntax.url import unescape_loose
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars, environment
from whimbrel.modules.support.cgi.program import Program, ProgramTimeout
from whimbrel.modules.support.cgi.script_head import NphHead, ScriptHead
from whimbrel.modules.support.stand_in_answer import stand_in_answer
from whimbrel.registry.module import Scope
from whimbrel.registry.phases import DECLINED, OK, HookFn, HookStatus

if TYPE_CHECKING:
    from whimbrel.modules.support.cgi.script_log import ScriptLog

HANDLERS: Final = ("cgi-script", "application/x-httpd-cgi")
MAX_ARGUMENTS: Final = 4095
HELD_BACK: Final = (
    1 << 20
)  # bytes of output buffered until the request body ends, or until its place in a page is reached
# bytes of output without a valid head that are written to the script log
MAX_LOGGED_OUTPUT: Final = 64 * 1024
_SHELL: Final = frozenset("&;`'\"|*?~<>^()[]{}$\\\n\xff")


@dataclass(frozen=True, slots=True)
class CgiVariant:
    """The differences of the two modules.

    Its short name, the AH numbers of refusals in the order of `refusal`, and the target of standard error.
    *waits_for_errors*: a response ends when standard error is closed, not with standard output.
    """

    module: str
    codes: tuple[str, str, str, str, str]
    complain: Callable[[Any, str], None]
    exec_code: str
    waits_for_errors: bool


class Script(Source):
    """One script run for one request."""

    def __init__(self, r: Request, variant: CgiVariant, log: ScriptLog, timeout: float) -> None:
        self.r = r
        self.variant = variant
        self.log = log
        self.timeout = timeout
        self._is_taking = False  # all output is read while the request body is written
        self.program: Program | None = None
        self.noted = b""  # the beginning of the request body, for the script log
        self.held = bytearray()  # output that was read and not yet passed on
        self.ended = False
        self._feeder: asyncio.Task[None] | None = None
        self._draining: asyncio.Task[None] | None = None

    # start
    def start(self) -> None:
        """Start the program; a failure to start is logged like its standard error, as in httpd."""
        r = self.r
        path = to_bytes(r.filename or "")
        command = [path, *arguments(r.args)]
        wrap = r.engine.configuration.provider("suexec", "wrap")
        limits = r.dir_config(CoreDirConfig).limits
        try:
            self.program = Program(
                (wrap and wrap(r, command)) or command,
                environment(r),
                os.path.dirname(path) or b"/",
                limits,
                self._complaint,
            )
            r.connection.open_sources.add(self)
        except OSError as problem:
            self._not_executed(f"exec of '{r.filename}' failed", apr_error(problem))
            self.ended = True

    def _complaint(self, line: bytes) -> None:
        words = to_text(line)
        self.variant.complain(self.r, words)
        if self.variant.module == "cgi":
            self.log.error(self.r, self.r.status, words)

    def _not_executed(self, words: str, cause: str) -> None:
        """Log a failed exec: mod_cgid's daemon knows no client, mod_cgi's child writes to its own stderr."""
        r = self.r
        code = self.variant.exec_code
        if code:
            line = LogLine("error", words, code, self.variant.module, cause)
            r.engine.error_log.about_server(r.server, line)
        else:
            self._complaint(to_bytes(f"{cause}: {words}"))

    # request body
    async def feed(self) -> None:
        """Write the request body to the program; raises BodyError.

        When the program stops reading, or reads nothing for `timeout` seconds, the rest of the body is read
        and discarded.
        """
        reads = self.program is not None
        while data := await self.r.body_in.read():
            if len(self.noted) < self.log.buffer:
                self.noted = (self.noted + data)[: self.log.buffer]
            if reads and self.program is not None:
                reads = await self._write(self.program, data)
        if self.program is not None:
            self.program.end_input()

    async def _write(self, program: Program, data: bytes) -> bool:
        """Write *data* to the program; return False, and log it, when it no longer reads.

        The time limit holds while all output is read: a program that waits for a slow client may not read.
        After it, what the program has written counts, and nothing more is awaited.
        """
        cause = "(32)Broken pipe"
        try:
            if await program.write(data, self.timeout, is_limited=lambda: self._is_taking):
                return True
        except ProgramTimeout:
            self.timeout = 0.0
            cause = "(70007)The timeout specified has expired"
        if not self.r.plan.dialect.wire_22:
            self.r.log(
                "error",
                f"Error writing request body to script {self.r.filename}",
                code="AH02651",
                module=self.variant.module,
                cause=cause,
            )
        return False

    async def take_body(self) -> None:
        """Run `feed` while the beginning of the output is read.

        Returns with the end of the body, or when more than `HELD_BACK` bytes of output are buffered.
        """
        body = self.r.body_in
        if body.ended and (not body.buffered or (body.buffered <= PIPE_BUF and not body.is_filtered)):
            await self.feed()  # a pipe takes as much as this without a reader
            return
        self._is_taking = True
        self._feeder = asyncio.create_task(self.feed())
        while not self._feeder.done() and len(self.held) < HELD_BACK and not self.ended:
            reader = asyncio.create_task(self._more())
            try:
                await asyncio.wait({self._feeder, reader}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not reader.done():
                    reader.cancel()
            await asyncio.wait({reader})
            if not reader.cancelled() and not isinstance(reader.exception(), ProgramTimeout | None):
                reader.result()
        if self._feeder.done() or self.ended:
            await self._feeder
        self._is_taking = False

    # output
    async def _more(self) -> bool:
        """Read more output into `held`; return False at its end."""
        if self.program is None or self.ended:
            return False
        data = await self.program.read(self.timeout)
        self.held += data
        self.ended = not data
        return not self.ended

    async def line(self) -> str | None:
        """Return the next line of output without its line end; None where the end of output, or `MAX_LINE`
        bytes, come before a line end.
        """
        while (line := next_line(self.held)) is None and len(self.held) < MAX_LINE:
            if not await self._more():
                break
        return line

    async def head(self, reader: ScriptHead) -> HookStatus:
        """Read the script head; return OK or the error status."""
        try:
            while (line := await self.line()) is not None:
                answer = reader.line(line)
                if answer is not None:
                    return answer
        except ProgramTimeout:
            self._late()
            return reader.timed_out()
        await self.drain_stderr()
        unfinished = to_text(bytes(self.held[:MAX_LINE]))
        del self.held[:MAX_LINE]
        return reader.ended(unfinished)

    def _late(self) -> None:
        if self.variant.module == "cgi":
            self.r.log(
                "warn",
                f"Timeout waiting for output from CGI script {self.r.filename}",
                code="AH01220",
                module="cgi",
            )

    def at_once(self) -> bytes | None:
        """Return the whole rest of the output if it is buffered, else None."""
        while self.program is not None and not self.ended and len(self.held) < HELD_BACK:
            data = self.program.read_now()
            if data is None:
                return None
            self.held += data
            self.ended = not data
        return bytes(self.held) if self.ended or self.program is None else None

    async def discard(self, count: int = 0) -> bytes:
        """Read the rest of the output for at most `timeout` seconds, so that the program can finish; return
        its first *count* bytes.
        """
        end = monotonic() + self.timeout
        first = bytes(self.held[:count])
        self.held.clear()
        with contextlib.suppress(ProgramTimeout):
            while monotonic() < end and await self._more():
                first += self.held[: count - len(first)]
                self.held.clear()
        return first

    async def drain_stderr(self) -> None:
        """Wait for the end of standard error, which modules read after the output (not mod_cgid)."""
        if self.program is not None and self.ended and self.variant.waits_for_errors:
            await self.program.complaints(self.timeout)

    def stop(self) -> None:
        """Stop the program."""
        if self._feeder is not None and not self._feeder.done():
            self._feeder.cancel()
        self.r.connection.open_sources.discard(self)
        if self.program is not None:
            self.program.stop(listen=not self.variant.waits_for_errors)
            self.program = None

    # output as a source
    async def read(self) -> bytes | None:
        """Return the next bytes of the output; raise Aborted at the time limit."""
        try:
            if not self.held and not await self._more():
                await self.drain_stderr()
                self.stop()
                return None
        except ProgramTimeout:
            self._late()
            cause = "(70007)The timeout specified has expired"
            self.r.log(
                "error", "ap_content_length_filter: apr_bucket_read() failed", code="AH00574", cause=cause
            )
            self.stop()
            raise Aborted("a script took too long") from None
        piece = bytes(self.held)
        self.held.clear()
        return piece

    async def aclose(self) -> None:
        """Stop the program: the output is no longer read."""
        self.stop()

    def drop(self) -> None:
        """Discard the body (HEAD) while the program finishes."""
        self._draining = asyncio.get_running_loop().create_task(self._finish())

    async def _finish(self) -> None:
        try:
            await self.discard()
            await self.drain_stderr()
        finally:
            self.stop()


def arguments(query: str | None) -> list[bytes]:
    """Return the arguments of a query without ``=``, escaped for a shell (RFC 3875, 4.4)."""
    if not query or "=" in query:
        return []
    words = query.split("+")[:MAX_ARGUMENTS]
    return [
        to_bytes("".join("\\" + c if c in _SHELL else c for c in unescape_loose(w))).partition(b"\0")[0]
        for w in words
    ]


def refusal(r: Request, included: bool) -> tuple[int, int, str] | None:
    """Return why the script is not run: number of the reason, status, message (in mod_cgi.c's order)."""
    conf = r.dir_config(CoreDirConfig)
    if not conf.options.value & OPT_EXECCGI and r.notes.get("alias-forced-type", "").lower() != "cgi-script":
        return 0, 403, "Options ExecCGI is off in this directory"
    if included and (r.filename or "").rpartition("/")[2].startswith("nph-"):
        return 1, 403, "attempt to include NPH CGI script"
    if r.finfo is None:
        return 2, 404, "script not found or unable to stat"
    if S_ISDIR(r.finfo.st_mode):
        return 3, 403, "attempt to invoke directory as script"
    if r.used_path_info == 0 and r.path_info:
        return 4, 404, "AcceptPathInfo off disallows user's path"
    return None


def make_runner(variant: CgiVariant, log: ScriptLog, timeout: float) -> HookFn:
    """Return the handler for one merged configuration; *timeout* in seconds."""

    async def run(r: Request) -> HookStatus:
        if r.handler not in HANDLERS:
            return DECLINED
        old = r.plan.dialect.wire_22
        refused = refusal(r, r.protocol == "INCLUDED")
        if refused is not None:
            number, status, words = refused
            r.log(
                "error",
                f"{words}: {r.filename}" if old else f"stderr from {r.filename}: {words}",
                code=variant.codes[number],
                module=variant.module,
            )
            log.error(r, status, words)
            return status
        report("", makes_response=r.main is None)
        r.set_uncacheable()
        add_common_vars(r)
        await add_cgi_vars(r)
        if not may_start_programs():
            return stand_in_answer(r, "text/plain")
        script = Script(r, variant, log, timeout)
        script.start()
        try:
            return await _answer(script)
        except BaseException:
            script.stop()
            raise

    return run


async def _answer(script: Script) -> HookStatus:
    r = script.r
    try:
        await script.take_body()
    except BodyError as problem:
        return _unreadable(script, problem)
    if (r.filename or "").rpartition("/")[2].startswith("nph-"):
        if not r.connection.is_http2:
            r.assbackwards = True
            r.output_filters[:] = [each for each in r.output_filters if each.type >= FilterType.CONNECTION]
            return await _respond(script)
        nph_head = NphHead(r, script.variant.module)
        status = await script.head(nph_head)
        return await _failed(script, nph_head, status) if status != OK else await _respond(script)
    reader = ScriptHead(r, script.variant.module)
    status = await script.head(reader)
    if status != OK:
        return await _failed(script, reader, status)
    location = r.headers_out.get("Location")
    if location is not None and r.status == 200:
        await script.discard()
        await script.drain_stderr()
        script.stop()
        return await redirect_to(r, location)
    return await _respond(script)


def _unreadable(script: Script, problem: BodyError) -> HookStatus:
    script.stop()
    r = script.r
    reason = problem.reason
    old = r.plan.dialect.wire_22
    if not old:
        r.err_headers_out = Headers()  # httpd begins the error response twice
    level = level_of(reason, version22=old)
    if level:
        r.log(level, reason.text, code=reason.code, module=reason.module, cause=reason.cause)
    code = "AH01225" if script.variant.module == "cgi" else "AH01270"
    module = script.variant.module
    answered = (
        "(-3)Unknown error -3" if old else "(-102)Unknown error -102"
    )  # APR's name of a finished response
    r.log(
        "error",
        "Error reading request entity data",
        code=code,
        module=module,
        cause=answered if not reason.cause or (problem.chunk and not old) else reason.cause,
    )
    return problem.status


async def _failed(script: Script, reader: ScriptHead, status: int) -> HookStatus:
    """Finish a script whose head could not be read, or that has responded already."""
    r = script.r
    rest = b""
    if status != 504:
        rest = await script.discard(MAX_LOGGED_OUTPUT if script.log.path and status != 304 else 0)
        await script.drain_stderr()
    script.stop()
    if status == 304:
        r.status = 304
        return OK
    script.log.failure(r, status, to_text(script.noted), reader.bad, to_text(rest))
    return status


async def redirect_to(r: Request, location: str) -> HookStatus:
    """Handle Location without a status: a local path internally, other URLs by a redirect."""
    if not location.startswith("/"):
        if not r.plan.dialect.wire_22:
            r.status_line = None
        return 302
    r.method = "GET"
    r.method_number = 0
    r.headers_in = r.headers_in.copy()
    r.headers_in.unset("Content-Length")
    return await r.engine.internal_redirect(location, r)


async def _respond(script: Script) -> HookStatus:
    """Set the response body: bytes if the output has ended, else the script as a source."""
    r = script.r
    body = script.at_once()
    if body is None:
        r.body.append(script)
        return OK
    await script.drain_stderr()
    script.stop()
    if body:
        r.body.append(PipedBytes(body))
    return OK


def timeout_of(scope: Scope, module_timeout: float) -> float:
    """Return the module's own limit in seconds, or TimeOut."""
    return module_timeout or scope.server_config(CoreServerConfig).timeout
