"""mod_asis: files that contain their own header fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.errors import apr_error
from whimbrel.base.file_reading import read_regular
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.modules.support.cgi.script_head import SHOWN, ScriptHead
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import DECLINED, HANDLER, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_log = module_log("asis")

HANDLERS = ("send-as-is", "httpd/send-as-is")
_GET = 0
_MAX_BYTES = 1 << 30


def read_head(r: Request, data: bytes) -> bytes:
    """Read the fields at the beginning of *data* into the response; return the rest.

    Errors are logged and cause an empty response.
    """
    head = ScriptHead(r, "asis")
    at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        line = to_text(data[at:end].removesuffix(b"\n").removesuffix(b"\r"))
        at = end
        if line and ":" not in line:
            # 2.4 has read on before it logs this
            head.malformed(line[:SHOWN] if r.plan.dialect.wire_22 else "")
            return b""
        if head.line(line) is not None:
            return data[at:]
    head.ended()
    return b""


def make_handler(_scope: Scope) -> CompiledHook:
    """Make the handler send-as-is, which responds with the file."""

    async def handler(r: Request) -> HookStatus:
        if r.handler not in HANDLERS:
            return DECLINED
        r.allowed |= 1 << _GET
        if r.method_number != _GET:
            return DECLINED
        if r.finfo is None:
            _log(r, "error", "AH01233", f"File does not exist: {r.filename}")
            return 404
        try:
            data = read_regular(to_bytes(r.deps.on_disk(r.filename or "")), _MAX_BYTES)
        except OSError as problem:
            r.set_uncacheable()
            _log(
                r,
                "error",
                "AH01234",
                f"file permissions deny server access: {r.filename}",
                apr_error(problem),
            )
            return 403
        rest = read_head(r, data)
        location = r.headers_out.get("Location")
        if location is not None and location.startswith("/") and (r.status == 200 or 300 <= r.status < 400):
            r.status = 200
            return await r.engine.internal_redirect(location, r)
        if not r.header_only:
            r.write(rest)
        return OK

    return CompiledHook(handler, Reads.HEAD | Reads.FILES, is_async=True, handlers=frozenset(HANDLERS))


MODULE = Module(name="asis_module", source="mod_asis.c", hooks=(Hook(HANDLER, make_handler, Order.MIDDLE),))
