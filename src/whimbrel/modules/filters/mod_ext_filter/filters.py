"""The filters that ExtFilterDefine registers: conditions, start of the program, failures to start it."""

from __future__ import annotations

import errno
import os
from collections.abc import Awaitable
from typing import TYPE_CHECKING

from whimbrel.base.errors import apr_error
from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import lower
from whimbrel.base.programs import may_start_programs, report
from whimbrel.engine.body import Aborted, Source, is_complete, size_of, sized
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.input.filter import FilteredBody, InputFilter
from whimbrel.engine.output.filter import FilterError, OutputFilter
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.syntax.line_reader import LogMessage
from whimbrel.modules.filters.mod_ext_filter.definition import (
    ExtFilterDefinition,
    ExtFilterDirConfig,
    ExtFilterServerConfig,
)

if TYPE_CHECKING:
    from whimbrel.engine.output.filter import Begun
    from whimbrel.engine.request import Request
    from whimbrel.modules.filters.mod_ext_filter.program_source import ProgramSource

MODULE_NAME = "ext_filter"
_EINVAL = "(22)Invalid argument"


class ExtOutputFilter(OutputFilter):
    """An output filter; the definition of a name may differ from server to server."""

    __slots__ = ("name", "type")

    def __init__(self, defined: ExtFilterDefinition) -> None:
        self.name = defined.name
        self.type = defined.type

    def begin(self, r: Request) -> Begun | Awaitable[Begun]:
        """Return the output of the program, or None if a condition excludes the response."""
        return self.begin_in(r, self.name)

    def begin_in(self, r: Request, name: str) -> Begun | Awaitable[Begun]:
        """Do as `begin`, with the definition of *name*: httpd looks for that of the smart filter."""
        defined = _definition(r, name)
        if defined is not None and not _applies(r, defined, r.content_type):
            _trace(r, defined, "NOT ")
            return None
        return self._start(r, name, defined)

    async def _start(self, r: Request, name: str, defined: ExtFilterDefinition | None) -> Begun:
        from whimbrel.engine.live_source import joined  # slow import that -t must not pay

        r.set_uncacheable()
        if defined is not None and _is_only_named(defined):
            _describe(r, defined)
            return None
        source = joined(r.body)
        program = None
        try:
            program = await start(r, defined, source, name, "AH01467", "output")
        finally:
            if program is None:
                source.detach()
        if program is None or defined is None:
            return None
        length = sum(map(size_of, sized(r.body))) if is_complete(r.body) else None
        r.body = []
        _describe(r, defined)
        _trace(r, defined, "")
        try:
            # httpd passes on what the program has written where its input flushes: bytes, or nothing, which
            # reach a client of HTTP/2 with the head and stay in the buffer of a connection of HTTP/1
            gathered = await program.gather(to_flush=r.connection.is_http2)
        except Aborted:
            raise FilterError(500) from None
        if gathered is not None:
            r.body = [gathered] if gathered else []
            return None
        r.chunked = True
        if defined.preserves_length and length is not None and "Content-Length" in r.headers_out:
            program.expected = length
        return program


class ExtInputFilter(InputFilter):
    """An input filter; the definition of a name may differ from server to server."""

    __slots__ = ("name", "type")

    def __init__(self, defined: ExtFilterDefinition) -> None:
        self.name = defined.name
        self.type = defined.type

    def wrap(self, r: Request, body: RequestBody) -> RequestBody:
        """Return the body that is read through the program, or *body* if a condition excludes it."""
        defined = _definition(r, self.name)
        if defined is not None and not _applies(r, defined, r.headers_in.get("Content-Type")):
            _trace(r, defined, "NOT ")
            return body
        return ProgramBody(r, body, self.name, defined)


class ProgramBody(FilteredBody):
    """Request body that is read through a program, which starts when the body is read."""

    __slots__ = ("_defined", "_is_started", "_name", "_program", "_request")

    def __init__(
        self, r: Request, source: RequestBody, name: str, defined: ExtFilterDefinition | None
    ) -> None:
        super().__init__(source)
        self._request = r
        self._name = name
        self._defined = defined
        self._program: ProgramSource | None = None
        self._is_started = False
        if (
            source.length == 0
            and not (defined is not None and os.access(to_bytes(defined.command), os.X_OK))
            and not r.dir_config(ExtFilterDirConfig).is_removed
        ):
            self.failure = _refusal("(500)Unknown error 500")  # httpd reads an absent body too

    async def read(self) -> bytes:
        """Return the next bytes; raise BodyError if the program fails."""
        if not self._is_started:
            self._is_started = True
            if self._defined is not None and _is_only_named(self._defined):
                return await self.read_source()
            try:
                self._program = await start(
                    self._request, self._defined, BodySource(self), self._name, "AH01470", "input"
                )
            except FilterError:
                raise self.refused(_refusal("(500)Unknown error 500")) from None
        if self._program is None:
            return await self.read_source()
        try:
            return await self._program.read() or b""
        except Aborted:
            raise self.refused(_refusal("(70014)End of file found")) from None

    def close(self) -> None:
        """End the program."""
        if self._program is not None:
            self._program.stop()
        super().close()


class BodySource(Source):
    """The request body that a program filters."""

    __slots__ = ("_body",)

    def __init__(self, body: FilteredBody) -> None:
        self._body = body

    async def read(self) -> bytes | None:
        """Return the next bytes; raise BodyError."""
        return await self._body.read_source() or None


def _refusal(cause: str) -> BodyError:
    """Return the error that readers of the body get; its reason was logged in this module's name."""
    return BodyError(400, LogMessage("trace8", "", "an input filter failed", cause))


def _definition(r: Request, name: str) -> ExtFilterDefinition | None:
    """Return the definition of this server, or of the main server."""
    key = name.lower()
    found = r.server_conf(ExtFilterServerConfig).definitions.get(key)
    return found or r.engine.main.config(ExtFilterServerConfig).definitions.get(key)


def _applies(r: Request, defined: ExtFilterDefinition, media_type: str | None) -> bool:
    """Return True if media type and variables admit the filter."""
    if defined.intype and lower((media_type or "").partition(";")[0]) != lower(defined.intype):
        return False
    if defined.enable_env and defined.enable_env not in r.env:
        return False
    return not (defined.disable_env and defined.disable_env in r.env)


def _is_only_named(defined: ExtFilterDefinition) -> bool:
    """Return True if a tool shows what is filtered as it is, since it runs no program, and the file of this
    one could be run.

    Raises:
        ProgramReported: see `base/programs.py`.
    """
    if may_start_programs() or not os.access(to_bytes(defined.command), os.X_OK):
        return False
    report(defined.command, makes_response=False)
    return True


def _describe(r: Request, defined: ExtFilterDefinition) -> None:
    """Set the fields that describe the output of the program."""
    if defined.outtype:
        r.content_type = defined.outtype
    if not defined.preserves_length:
        r.headers_out.unset("Content-Length")


async def start(
    r: Request, defined: ExtFilterDefinition | None, source: Source, name: str, code: str, kind: str
) -> ProgramSource | None:
    """Start the program of a filter; return None under Onfail=remove if that fails.

    Raises:
        FilterError: it cannot be started; both reasons are logged.
    """
    from whimbrel.modules.filters.mod_ext_filter.program_source import ProgramSource, environment_of

    cause = _EINVAL
    if defined is None:
        r.log("error", f"couldn't find definition of filter '{name}'", code="AH01459", module=MODULE_NAME)
    else:
        variables = await environment_of(r)
        try:
            if not may_start_programs():  # and the file cannot be run
                os.stat(to_bytes(defined.command))
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return ProgramSource(r, defined, source, variables)
        except OSError as problem:
            cause = apr_error(problem)
            words = f"couldn't create child process to run `{defined.command}'"
            r.log("error", words, code="AH01458", module=MODULE_NAME, cause=cause)
    is_removed = r.dir_config(ExtFilterDirConfig).is_removed
    words = f"can't initialise {kind} filter {name}: {'removing' if is_removed else 'aborting'}"
    r.log("error", words, code=code, module=MODULE_NAME, cause=cause)
    if is_removed:
        return None
    raise FilterError(500, is_bucket=True)


def _trace(r: Request, defined: ExtFilterDefinition, negation: str) -> None:
    """Log what is filtered: at trace1, in 2.2 at debug under DebugLevel."""
    conf = r.dir_config(ExtFilterDirConfig)
    old = not r.plan.dialect.messages_24
    if old and conf.debug_level < 1:
        return
    settings = (
        f"ExtFilterOptions {f'DebugLevel={conf.debug_level} ' if old else ''}"
        f"{'LogStderr' if conf.log_stderr else 'NoLogStderr'} "
        f"{'PreservesContentLength' if defined.preserves_length else '!PreserveContentLength'} "
        f"ExtFilterInType {defined.intype or '*/*'} ExtFilterOuttype {defined.outtype or '(unchanged)'}"
    )
    words = (
        f"{negation}filtering `{r.uri or r.filename}' of type `{r.content_type or '(unspecified)'}' "
        f"through `{defined.command}', cfg {settings}"
    )
    r.log("debug" if old else "trace1", words, module=MODULE_NAME)
