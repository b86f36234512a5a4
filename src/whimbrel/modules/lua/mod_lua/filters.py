"""Filters of scripts: LuaOutputFilter and LuaInputFilter (lua_output_filter_handle, lua_input_filter_handle).

A filter function is a coroutine: its first yield may prepend to the output, each further one answers the
piece in the global `bucket`, and the last one, with bucket nil, may append.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.engine.body import JoinedSource, Source
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.input.filter import FilteredBody, InputFilter
from whimbrel.engine.output.filter import FilterError, FilterType, OutputFilter
from whimbrel.engine.request import Request
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.syntax.line_reader import LogMessage
from whimbrel.modules.lua.mod_lua.arguments import lua_text
from whimbrel.modules.lua.mod_lua.calls import FILTER, CallFailed, ScriptCall
from whimbrel.modules.lua.mod_lua.machine import text_of
from whimbrel.modules.lua.mod_lua.request_api import MODULE_NAME, RequestApi
from whimbrel.modules.lua.mod_lua.settings import LuaFunction
from whimbrel.registry.module import Reads

FAILED: Final = LogMessage("trace8", "", "an input filter failed")
T = TypeVar("T")
Step = Callable[[str | None], tuple[bool, Any, bool]]


class ScriptCoroutine:
    """The coroutine of one use of a filter.

    Attributes:
        has_left: the function returned: the filter is no longer in the chain.
        is_broken: it ended with an error, which is logged.
        is_running: a thread runs it at present.
    """

    def __init__(self, r: Request, function: LuaFunction, *, is_input: bool = False) -> None:
        self._call = ScriptCall(r, function, FILTER)
        self._is_input = is_input
        self.is_running = False
        self._api = RequestApi(r)
        self._step: Step | None = None
        self._is_released = False
        self.has_left = False
        self.is_broken = False

    def _next(self, bucket: str | None, *, is_first: bool) -> tuple[bool, Any, bool]:
        if is_first:
            machine, found = self._call.machine(self._api)
            self._step = machine.start(found)
        assert self._step is not None
        return self._step(bucket)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        self.is_running = True
        try:
            runtime = self._call.r.engine.runtime
            return await runtime.in_script_thread(work, self._api.abandon, is_input=self._is_input)
        finally:
            self.is_running = False
            if self._is_released:
                self._step = None
                self._call.lease.release()

    async def resume(self, bucket: bytes | None, *, is_first: bool = False) -> bytes:
        """Run the function to its next yield and return what it yielded. Raises CallFailed in the first run,
        if there is no such function.
        """
        given = None if bucket is None else to_text(bucket)
        try:
            is_run, value, has_ended = await self._in_thread(partial(self._next, given, is_first=is_first))
        except CallFailed:
            self.release()
            raise
        if not is_run:
            self._fail(text_of(value))
        elif has_ended:
            self.has_left = True
            self.release()
        return (
            to_bytes(lua_text(value))
            if is_run and not has_ended and isinstance(value, (str, int, float))
            else b""
        )

    def _fail(self, message: str) -> None:
        self.is_broken = True
        text = f"lua: Error while executing filter: {message}"
        self._call.r.log("error", text, code="AH02663", module=MODULE_NAME)
        self.release()

    def release(self) -> None:
        """Return the machine, after the present step."""
        self._is_released = True
        if not self.is_running:
            self._step = None
            self._call.lease.release()


class LuaOutputFilter(OutputFilter):
    """An output filter that runs a function."""

    __slots__ = ("_function", "name", "reads", "type")

    def __init__(self, name: str, function: LuaFunction) -> None:
        self.name = name
        self._function = function
        self.type = FilterType.RESOURCE
        self.reads = Reads.HEAD | Reads.UNCACHEABLE

    async def begin(self, r: Request) -> Source | None:
        """Run the function to its first yield; leave the chain if it returns."""
        try:
            coroutine = ScriptCoroutine(r, self._function)
            first = await coroutine.resume(b"", is_first=True)
        except CallFailed:
            raise FilterError(500) from None
        if coroutine.is_broken:
            raise FilterError(500)
        if coroutine.has_left:
            return None
        for name in ("Content-Length", "Content-MD5", "ETag"):
            r.headers_out.unset(name)
        r.chunked = True
        return ScriptFilterSource(coroutine, JoinedSource(r.body), first)


class ScriptFilterSource(Source):
    """The output of a filter function over the output of the handler."""

    __slots__ = ("_coroutine", "_first", "_has_ended", "_input")

    def __init__(self, coroutine: ScriptCoroutine, source: JoinedSource, first: bytes) -> None:
        self._coroutine = coroutine
        self._input = source
        self._first = first
        self._has_ended = False

    async def read(self) -> bytes | None:
        """Return the next output. Raises FilterError, an Aborted, if the function fails."""
        if self._first:
            first, self._first = self._first, b""
            return first
        while not self._has_ended:
            piece = await self._input.read()
            if self._coroutine.has_left:
                if piece is None:
                    self._has_ended = True
                    return None
                return piece
            out = await self._coroutine.resume(piece)
            if self._coroutine.is_broken:
                raise FilterError(500)
            if piece is None:
                self._has_ended = True
                self._coroutine.release()
            if out:
                return out
        return None

    def drop(self) -> None:
        """Release the machine and the input."""
        self._has_ended = True
        self._coroutine.release()
        self._input.drop()

    async def aclose(self) -> None:
        """Release the machine and the input."""
        self._coroutine.release()
        await self._input.aclose()


class LuaInputFilter(InputFilter):
    """An input filter that runs a function."""

    __slots__ = ("_function", "name", "type")

    def __init__(self, name: str, function: LuaFunction) -> None:
        self.name = name
        self._function = function
        self.type = FilterType.RESOURCE

    def wrap(self, r: Request, body: RequestBody) -> RequestBody:
        """Read the body through the function."""
        return ScriptBody(r, self._function, body)


class ScriptBody(FilteredBody):
    """A request body that a filter function changes."""

    __slots__ = ("_coroutine", "_function", "_has_ended", "_r")

    def __init__(self, r: Request, function: LuaFunction, source: RequestBody) -> None:
        super().__init__(source)
        self.length = None
        self._r = r
        self._function = function
        self._has_ended = False
        self._coroutine: ScriptCoroutine | None = None

    async def read(self) -> bytes:
        """Return the next bytes of the output, b"" at the end; raise BodyError if the function fails."""
        coroutine = self._coroutine
        if coroutine is None:
            try:
                coroutine = ScriptCoroutine(self._r, self._function, is_input=True)
                self._coroutine = coroutine
                await coroutine.resume(b"", is_first=True)
            except CallFailed:
                raise BodyError(500, FAILED) from None
        while not self._has_ended:
            if coroutine.is_broken or coroutine.is_running:  # a filter cannot read its own output
                raise BodyError(500, FAILED)
            piece = await self.read_source()
            if coroutine.has_left:
                return piece
            out = await coroutine.resume(piece or None)
            if not piece:
                self._has_ended = True
                coroutine.release()
            if out:
                return out
        return b""

    def close(self) -> None:
        """Release the machine."""
        if self._coroutine is not None:
            self._coroutine.release()
        super().close()
