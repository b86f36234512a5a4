"""mod_request (2.4): retains request bodies, so that several readers can read them.

A body longer than KeptBodySize is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.spec import Versions
from whimbrel.engine.input.body import RequestBody, ready_body
from whimbrel.engine.input.filter import FilteredBody
from whimbrel.http.http1.chunked import BodyError
from whimbrel.http.syntax.line_reader import LogMessage
from whimbrel.modules.support.setters import set_size
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Scope
from whimbrel.registry.phases import INSERT_FILTER, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_MODULE = "request"


@dataclass(slots=True)
class RequestDirConfig:
    """Per-directory settings; *keep* in bytes, 0 retains nothing."""

    keep: int = setting(0)


class RetainedBody(FilteredBody):
    """Body that is read through this object, which retains up to *limit* bytes and refuses more."""

    __slots__ = ("_limit", "_request", "kept_body")

    def __init__(self, source: RequestBody, limit: int, r: Request) -> None:
        super().__init__(source)
        self._limit = limit
        self._request = r
        self.kept_body = b""

    async def read(self) -> bytes:
        """Return the next bytes; raise BodyError(413) above the limit."""
        if self.length is not None and self.length > self._limit:
            raise self._refusal("AH01412", self.length, self._limit)
        data = await self.read_source()
        self.kept_body += data
        if len(self.kept_body) > self._limit:
            raise self._refusal("AH01413", len(self.kept_body), 0)
        return data

    def _refusal(self, code: str, size: int, limit: int) -> BodyError:
        """Return the error to raise; it is logged in this module's name, so its own text is not used."""
        line = f"Requested content-length of {size} is larger than the configured limit of {limit}"
        self._request.log("error", line, code=code, module=_MODULE)
        return self.refused(BodyError(413, LogMessage("trace8", "", line)))


def make_keep(scope: Scope) -> CompiledHook | None:
    """Make the hook that retains the body of the client's request for sub-requests."""
    limit = scope.dir_config(RequestDirConfig).keep

    def keep(r: Request) -> HookStatus:
        main = r.main
        if main is None and limit and r.body_in.length != 0 and not isinstance(r.body_in, RetainedBody):
            r.body_in = RetainedBody(r.body_in, limit, r)
        elif main is not None and isinstance(main.body_in, RetainedBody) and main.body_in.kept_body:
            r.body_in = ready_body(main.body_in.kept_body)
        return OK

    return CompiledHook(keep)


MODULE = Module(
    name="request_module",
    source="mod_request.c",
    versions=Versions.V24,
    dir_config=RequestDirConfig,
    dir_setters={
        "KeptBodySize": set_size(
            "keep", 0, "KeptBodySize must be a valid size in bytes, or zero.", must_end=True
        ),
    },
    hooks=(Hook(INSERT_FILTER, make_keep, Order.LAST),),
)
