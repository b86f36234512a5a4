"""OPTIONS and TRACE (httpd's http_core.c)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.latin1 import to_bytes
from whimbrel.base.numbers import lower
from whimbrel.config.core_config import CoreServerConfig
from whimbrel.engine.redirect_chain import first_request
from whimbrel.http.http1.chunked import BodyError
from whimbrel.registry.methods import NAMES
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, DONE, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_NUMBER = {name: number for number, name in enumerate(NAMES)}
# Methods that the default handler supports.
DELIVERED = 1 << _NUMBER["GET"] | 1 << _NUMBER["OPTIONS"] | 1 << _NUMBER["POST"]
_TRACE = _NUMBER["TRACE"]
_OPTIONS = _NUMBER["OPTIONS"]
TRACE_BODY_LIMIT = 65536


def options(r: Request) -> HookStatus:
    """Respond without a body, with the methods in Allow (ap_send_http_options)."""
    if r.assbackwards:
        return DECLINED
    # a slow import that a check of a configuration must not pay
    from whimbrel.engine.pipeline.error import (
        allow_value,
    )

    r.headers_out.set("Allow", allow_value(r))
    return OK


def make_options_star(_scope: Scope) -> CompiledHook:
    """Make the hook that answers OPTIONS * before any translation."""

    def options_star(r: Request) -> HookStatus:
        if r.method_number != _OPTIONS or r.uri != "*":
            return DECLINED
        r.headers_out.set("Content-Length", "0")
        return DONE

    return CompiledHook(options_star, Reads.FIELDS, methods=1 << _OPTIONS)


def make_trace(scope: Scope) -> CompiledHook:
    """Make the TRACE handler, which returns the request's head.

    With TraceEnable extended it returns the body too (ap_send_http_trace).
    """
    mode = scope.server_config(CoreServerConfig).trace_enable
    level = "error" if scope.dialect.missing_is_error else "info"

    async def trace(r: Request) -> HookStatus:
        if r.method_number != _TRACE:
            return DECLINED
        first = first_request(r)
        if mode == 0:
            first.notes["error-notes"] = "TRACE denied by server configuration"
            return 405
        coding = r.headers_in.get_list("Transfer-Encoding")
        if coding is not None and lower(coding) != "chunked":
            r.log(level, f"Unknown Transfer-Encoding {coding}", code="AH01592", module="http")
            return 501
        if mode != 2 and (
            coding is not None or not r.body_in.ended or r.body_in.buffered or r.body_in.failure is not None
        ):
            r.log(level, f"TRACE with body is not allowed for {r.uri}", code="AH01595", module="http")
            return 413
        try:
            r.body_in.limit = min(r.body_in.limit or TRACE_BODY_LIMIT, TRACE_BODY_LIMIT)
            body = await r.body_in.read_all()
        except BodyError as problem:
            if problem.status == 413:
                first.notes["error-notes"] = "Extended TRACE request bodies cannot exceed 64k\n"
            return problem.status
        r.content_type = "message/http"
        r.body.append(to_bytes(_head(first)) + body)
        r.chunked = True
        r.set_uncacheable()
        return DONE

    return CompiledHook(trace, Reads.FIELDS, is_async=True, methods=1 << _TRACE)


def _head(r: Request) -> str:
    lines = [f"{name}: {value}\r\n" for name, value in r.headers_in.items()]
    return f"{r.the_request}\r\n{''.join(lines)}\r\n"
