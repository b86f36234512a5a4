"""The filter Sed for responses and for requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass, field
from whimbrel.engine.input.body import RequestBody
from whimbrel.engine.input.filter import FilteredBody, InputFilter
from whimbrel.engine.output.filter import FilterError, OutputFilter, Transform
from whimbrel.engine.time_slices import Slices
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.syntax.line_reader import LogMessage
from whimbrel.modules.filters.mod_sed.executor import INTERNAL, Executor, RunError
from whimbrel.modules.filters.mod_sed.files import CannotOpen
from whimbrel.modules.filters.mod_sed.parser import Parser
from whimbrel.modules.filters.mod_sed.script import SedScript
from whimbrel.registry.settings import UNSET, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

BUFFER: Final = 8000  # bytes of one bucket of httpd's output
MAX_BUCKETS: Final = 50  # buckets after which httpd passes its output on


@dataclass(slots=True)
class SedDirConfig:
    """Per-directory settings: the scripts of OutputSed and InputSed, and their parsers.

    A section with one of the directives replaces both scripts of the sections around it.
    """

    output: SedScript | None = setting(None)
    input: SedScript | None = setting(None)
    parsers: dict[str, Parser] = field(default_factory=dict)

    def merge_onto(self, base: SedDirConfig) -> SedDirConfig:
        """Return this record; *base* has no effect, unless this record is empty."""
        return base if self.output is UNSET and self.input is UNSET else self


class Buckets:
    """Output in the order of httpd's buckets, which decide when it is passed on.

    Attributes:
        is_full: the output that is here must be passed on.
    """

    __slots__ = ("_count", "_fill", "is_full", "pieces")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self._fill = 0
        self._count = 0
        self.is_full = False

    def write(self, text: str) -> None:
        """Add *text*."""
        self.pieces.append(text)
        self._fill += len(text)
        if self._fill >= BUFFER:
            is_long = self._fill - BUFFER >= BUFFER
            self._count += 2 if is_long else 1
            self._fill = 0 if is_long else self._fill - BUFFER
            if self._count >= MAX_BUCKETS:
                self.is_full = True
                self._count = 0

    def ends_full(self) -> bool:
        """Return True if the output, with its last bucket, is passed on before the end is known."""
        return self.is_full or self._count + (self._fill > 0) >= MAX_BUCKETS

    def take(self) -> bytes:
        """Return the output, and forget it."""
        data = to_bytes("".join(self.pieces))
        self.pieces.clear()
        self.is_full = False
        return data


class SedTransform(Transform):
    """A response body through a script."""

    is_sliced = True
    __slots__ = ("_buckets", "_executor", "_is_brigade", "_r", "early")

    def __init__(self, r: Request, script: SedScript, *, is_brigade: bool) -> None:
        self._buckets = Buckets()
        self._r = r
        self._executor = executor_of(r, script, self._buckets)
        self._is_brigade = is_brigade  # each piece is a brigade of the handler: its output goes on
        self.early = False

    def feed(self, data: bytes) -> bytes:
        """Return the output so far, if httpd passes it on."""
        self._work(data, is_end=False)
        if not self._is_brigade and not self._buckets.is_full:
            return b""
        return self._buckets.take()

    def flush(self) -> bytes:
        """Return the output so far; the script waits for the rest of its line."""
        return self._buckets.take()

    def end(self, data: bytes) -> bytes:
        self._work(data, is_end=True)
        self.early = self._buckets.ends_full()
        self._executor.close()
        return self._buckets.take()

    def _work(self, data: bytes, *, is_end: bool) -> None:
        try:
            self._executor.feed(to_text(data))
            if is_end:
                self._executor.end()
        except RunError as problem:
            self._executor.close()
            log_failure(self._r, "output", "AH10394", problem)
            raise FilterError() from None

    def __del__(self) -> None:
        if hasattr(self, "_executor"):
            self._executor.close()


class SedOutput(OutputFilter):
    """Output filter Sed."""

    is_computed = True
    name = "Sed"

    def begin(self, r: Request) -> Transform | None:
        """Return the transform; None without a script."""
        script = r.dir_config(SedDirConfig).output
        if script is None:
            return None
        if script.reads_files:
            r.set_uncacheable()
        r.headers_out.unset("Content-Length")
        try:
            return SedTransform(r, script, is_brigade=r.chunked)
        except CannotOpen as problem:
            log(r, str(problem))
            raise FilterError() from None


class SedBody(FilteredBody):
    """A request body through a script."""

    __slots__ = ("_buckets", "_executor", "_r")

    def __init__(self, r: Request, source: RequestBody, script: SedScript) -> None:
        super().__init__(source)
        self._buckets = Buckets()
        self._r = r
        self._executor = executor_of(r, script, self._buckets)

    async def read(self) -> bytes:
        executor = self._executor
        buckets = self._buckets
        while not buckets.pieces:
            data = await self.source.read()
            try:
                if data:
                    executor.feed(to_text(data))
                else:
                    executor.end()
                    executor.close()
            except RunError as problem:
                executor.close()
                log_failure(self._r, "input", "AH10395", problem)
                raise _unreadable(str(problem)) from None
            if not data:
                break
        return buckets.take()


class SedInput(InputFilter):
    """Input filter Sed; sub-requests and redirects read the body unchanged."""

    name = "Sed"

    def wrap(self, r: Request, body: RequestBody) -> RequestBody:
        """Return *body* through the script of InputSed."""
        script = r.dir_config(SedDirConfig).input
        if script is None or r.main is not None or r.prev is not None:
            return body
        try:
            return SedBody(r, body, script)
        except CannotOpen as problem:
            log(r, str(problem))
            failed = RequestBody(None)
            failed.fail(_unreadable(INTERNAL))
            return failed


def executor_of(r: Request, script: SedScript, buckets: Buckets) -> Executor:
    """Return the executor for one body of *r*, which pauses for other requests; raise CannotOpen."""
    slices = Slices(r.engine.turns, short=0)
    return Executor(script, buckets.write, lambda text: log(r, text), slices.pause_sync)


def log(r: Request, text: str) -> None:
    """Log an error of the script."""
    r.log("error", text, code="AH02998", module="sed")


def log_failure(r: Request, what: str, code: str, problem: RunError) -> None:
    """Log that the script has failed on a body."""
    r.log("error", f"error evaluating sed on {what}", code=code, module="sed", cause=str(problem))


def _unreadable(reason: str) -> BodyError:
    return BodyError(400, LogMessage("", "", reason, reason))


SED_OUTPUT: Final = SedOutput()
SED_INPUT: Final = SedInput()
