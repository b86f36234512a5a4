"""mod_reflector (2.4): the handler ``reflector`` returns the body of a POST through the output filters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.config.core_config import CoreDirConfig
from whimbrel.directives.spec import Versions
from whimbrel.engine.body import PIECE, Aborted, Source
from whimbrel.engine.input.body import RequestBody
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.support.setters import add_values
from whimbrel.registry.methods import NAMES
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, HANDLER, OK, HookStatus
from whimbrel.registry.settings import prepended, setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

HANDLER_NAME: Final = "reflector"
_POST = NAMES.index("POST")
_OPTIONS = NAMES.index("OPTIONS")
_MICROSECONDS: Final = 1_000_000


@dataclass(slots=True)
class ReflectorDirConfig:
    """Per-directory settings; *headers*: fields of the request with their names in the response."""

    headers: list[tuple[str, str]] = setting(make=list, merge=prepended)


class ReflectedBody(Source):
    """*first*, then the rest of a request body."""

    __slots__ = ("_body", "_first", "_r")

    def __init__(self, r: Request, first: bytes, body: RequestBody) -> None:
        self._r = r
        self._first = first
        self._body = body

    async def read(self) -> bytes | None:
        """Return the next bytes; raise Aborted if the body cannot be read."""
        data, self._first = self._first, b""
        if data:
            return data
        try:
            data = await self._body.read()
        except BodyError as problem:
            reason = problem.reason
            self._r.log(reason.level, reason.text, code=reason.code, module=reason.module, cause=reason.cause)
            raise Aborted(reason.text) from None
        return data or None


async def _reflect(r: Request, headers: list[tuple[str, str]], no_ranges: bool) -> None:
    """Respond with the body of *r*; raise BodyError if its beginning cannot be read."""
    from whimbrel.modules.core.handler import set_last_modified

    out = r.headers_out
    body = r.body_in
    for name, new_name in headers:
        value = r.headers_in.get(name)
        if value is not None:
            out.set(new_name, value)
    if "Last-Modified" not in out:
        r.mtime = max(r.mtime or 0, int(r.time * _MICROSECONDS))
        set_last_modified(r)
    out.set("Accept-Ranges", "none" if no_ranges else "bytes")
    kind = r.headers_in.get("Content-Type")
    if kind is not None:
        r.content_type = kind
    body.check_announced()
    pieces = []
    size = 0
    data = b""
    while size <= PIECE and (data := await body.read()):
        pieces.append(data)
        size += len(data)
    first = b"".join(pieces)
    length = r.headers_in.get("Content-Length")
    r.chunked = bool(first)
    if length is not None and (body.keeps_length if data else length == str(size)):
        out.set("Content-Length", length)  # an input filter may have changed the length
    if data:
        r.body.append(ReflectedBody(r, first, body))
    elif first:
        r.body.append(first)


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler."""
    from whimbrel.modules.core.handler import leaves_body
    from whimbrel.modules.http.methods import options

    headers = scope.dir_config(ReflectorDirConfig).headers
    no_ranges = scope.dir_config(CoreDirConfig).max_ranges == 0

    async def reflect(r: Request) -> HookStatus:
        if r.handler != HANDLER_NAME:
            return DECLINED
        r.allowed = 1 << _POST | 1 << _OPTIONS
        if r.method_number == _OPTIONS:
            return options(r)
        if r.method_number != _POST:
            return 405
        if not leaves_body(r):
            r.set_uncacheable()
            await _reflect(r, headers, no_ranges)
        return OK

    return CompiledHook(reflect, Reads.HEAD, is_async=True, handlers=frozenset((HANDLER_NAME,)))


MODULE = Module(
    name="reflector_module",
    source="mod_reflector.c",
    versions=Versions.V24,
    dir_config=ReflectorDirConfig,
    dir_setters={
        "ReflectorHeader": add_values("headers", lambda _cmd, words: [(words[0], words[-1])]),
    },
    hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),),
)
