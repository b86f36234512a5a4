"""The handler ``dav-handler``: the table of methods, and the responses to their failures."""

from __future__ import annotations

from whimbrel.base.programs import may_start_programs
from whimbrel.base.programs import report as report_program
from whimbrel.engine.request import Request
from whimbrel.modules.dav.mod_dav.errors import DavError, Refusal, page, report
from whimbrel.modules.dav.mod_dav.lock_methods import lock, unlock
from whimbrel.modules.dav.mod_dav.methods import copy, delete, mkcol, move, put
from whimbrel.modules.dav.mod_dav.options import options
from whimbrel.modules.dav.mod_dav.propfind import propfind
from whimbrel.modules.dav.mod_dav.proppatch import proppatch
from whimbrel.modules.dav.mod_dav.settings import CHANGING_METHODS, HANDLER_NAME, DavDirConfig
from whimbrel.modules.dav.mod_dav.state import resource_of
from whimbrel.modules.dav.mod_dav.validation import Check, validate
from whimbrel.modules.dav.mod_dav.xml_document import read_document
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, HookStatus


async def post(r: Request) -> HookStatus:
    """Check the conditions of a POST; the handler of the file responds (with SetHandler only)."""
    await validate(r, resource_of(r), Check.RESOURCE)
    return DECLINED


async def report_method(r: Request) -> HookStatus:
    """Check a REPORT, for which there is no provider; 2.2 declines it."""
    if r.plan.dialect.dav_22:
        return DECLINED
    if await read_document(r) is None:
        r.log("error", "The request body must specify a report.", code="AH00614", module="dav")
        return 400
    return 501 if resource_of(r).exists else 404


# Methods of versioning, searching and bindings are declined: there is no provider of these.
_METHODS = {
    "PUT": put,
    "POST": post,
    "DELETE": delete,
    "OPTIONS": options,
    "PROPFIND": propfind,
    "PROPPATCH": proppatch,
    "MKCOL": mkcol,
    "COPY": copy,
    "MOVE": move,
    "LOCK": lock,
    "UNLOCK": unlock,
    "REPORT": report_method,
}


def make_handler(scope: Scope) -> CompiledHook | None:
    """Make the handler; inactive without a provider."""
    if scope.dir_config(DavDirConfig).provider is None:
        return None

    async def handle(r: Request) -> HookStatus:
        method = _METHODS.get(r.method)
        if r.handler != HANDLER_NAME or method is None:
            return DECLINED
        r.set_uncacheable()
        if r.method in CHANGING_METHODS and not may_start_programs():
            report_program(r.method)
            return 204  # a stand-in: a tool that asks what a server would answer changes no file
        if "#" in r.untracked_target:
            text = "buggy client used un-escaped hash in Request-URI"
            r.log("error", text, code="AH00622", module="dav")
            return page(r, 400, "The request was invalid: the URI included an un-escaped hash character")
        try:
            return await method(r)
        except DavError as problem:
            return report(r, problem)
        except Refusal as refusal:
            return refusal.status

    return CompiledHook(
        handle, Reads.HEAD | Reads.UNCACHEABLE, is_async=True, handlers=frozenset((HANDLER_NAME,))
    )
