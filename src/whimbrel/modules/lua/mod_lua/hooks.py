"""Hooks and handlers of mod_lua (lua_request_rec_hook_harness, lua_handler, lua_map_handler)."""

from __future__ import annotations

import asyncio
from functools import partial
from stat import S_ISDIR
from typing import Any, Final

from whimbrel.base.numbers import decimal, is_digits
from whimbrel.base.regex import Match
from whimbrel.engine.request import Request
from whimbrel.modules.lua.mod_lua.calls import (
    HANDLER,
    HOOK,
    MAPPED,
    CallFailed,
    ScriptCall,
    Wording,
    log_error,
    may_run,
    report,
)
from whimbrel.modules.lua.mod_lua.output import BUFFER, ScriptOutput, ScriptSource
from whimbrel.modules.lua.mod_lua.request_api import MODULE_NAME, RequestApi, status_of
from whimbrel.modules.lua.mod_lua.settings import LuaDirConfig, LuaFunction
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

MAP_HANDLER: Final = "lua-map-handler"
SCRIPT_HANDLER: Final = "lua-script"
_ACCESS: Final = frozenset(("access_checker", "check_user_id", "auth_checker"))
_READS: Final = Reads.HEAD | Reads.UNCACHEABLE


# hooks ----------------------------------------------------------------------------------------------
def make_hook(scope: Scope, phase: str, order: str) -> CompiledHook | None:
    """Return the hook of the functions of *phase* with *order*; None without one."""
    functions = scope.dir_config(LuaDirConfig).hooks.table.get((phase, order))
    if not functions:
        return None
    if phase == "log_transaction":
        return CompiledHook(partial(_log_hooks, functions), _READS)

    refused = 500 if phase in _ACCESS else DECLINED

    async def run(r: Request) -> HookStatus:
        if not may_run():
            return refused
        for function in functions:
            status = await _run_hook(r, function, phase)
            if status != DECLINED:
                return status
        return DECLINED

    return CompiledHook(run, _READS, is_async=True)


async def _run_hook(r: Request, function: LuaFunction, phase: str) -> HookStatus:
    """Return the status of one function; 500 for an error and for a result that is no number."""
    call = ScriptCall(r, function, HOOK)
    output = ScriptOutput(can_begin=False)
    api = RequestApi(r, output)
    try:
        value = await r.engine.runtime.in_script_thread(partial(call.run, api), api.abandon)
    except CallFailed as problem:
        return _failed(r, problem)
    finally:
        call.lease.release()
    data = output.take()
    if data:
        r.write(data)
    return _hook_status(r, function, phase, value)


def _hook_status(r: Request, function: LuaFunction, phase: str, value: Any) -> HookStatus:
    status = status_of(value)
    named = f"Lua hook {function.file}:{function.name} for phase {phase}"
    if status is None:
        r.log("crit", f"{named} did not return a numeric value", code="AH03017", module=MODULE_NAME)
        return 500
    r.log("trace4", f"{named} returned {status}", module=MODULE_NAME)
    return status


def _failed(r: Request, problem: CallFailed) -> HookStatus:
    if problem.message is not None:
        report(r, problem.message)
    return 500


def _log_hooks(functions: tuple[LuaFunction, ...], r: Request) -> HookStatus:
    """Run the functions of the log phase in the event loop: its hooks do not wait."""
    for function in functions if may_run() else ():
        call = ScriptCall(r, function, HOOK)
        try:
            value = call.run(RequestApi(r))
        except CallFailed as problem:
            if problem.message is not None:
                log_error(r, problem.message)
            return 500
        finally:
            call.lease.release()
        status = _hook_status(r, function, "log_transaction", value)
        if status != DECLINED:
            return status
    return DECLINED


# handlers -------------------------------------------------------------------------------------------
def make_handler(_scope: Scope) -> CompiledHook:
    """Return the handler lua-script: the function handle of the request's file."""
    return CompiledHook(_handle_script, _READS, is_async=True, handlers=frozenset((SCRIPT_HANDLER,)))


async def _handle_script(r: Request) -> HookStatus:
    if r.finfo is None or S_ISDIR(r.finfo.st_mode):
        return DECLINED
    r.log("trace4", f"handling [{r.filename}] in mod_lua", module=MODULE_NAME)
    if r.header_only:
        r.set_uncacheable()
        return OK
    function = LuaFunction(r.filename or "", "handle")
    return await _respond(r, function, HANDLER)


def make_mapping(scope: Scope) -> CompiledHook | None:
    """Return the fix-up that gives requests to LuaMapHandler; None without one."""
    mapped = scope.dir_config(LuaDirConfig).mapped
    if not mapped:
        return None

    def fix(r: Request) -> HookStatus:
        if r.handler in (None, "") and any(each.pattern.search(r.uri) for each in mapped):
            r.handler = MAP_HANDLER
            return OK
        return DECLINED

    return CompiledHook(fix, Reads.HEAD)


def make_map_handler(scope: Scope) -> CompiledHook | None:
    """Return the handler of LuaMapHandler; None without one."""
    mapped = scope.dir_config(LuaDirConfig).mapped
    if not mapped:
        return None

    async def handle(r: Request) -> HookStatus:
        for each in mapped:
            found = each.pattern.search(r.uri)
            if found:
                file, name = (_filled(text, found) for text in (each.function.file, each.function.name))
                status = await _respond(r, LuaFunction(file, name), MAPPED)
                if status != DECLINED:
                    return status
        return DECLINED

    return CompiledHook(handle, _READS, is_async=True, handlers=frozenset((MAP_HANDLER,)))


def _filled(text: str, found: Match) -> str:
    """Return *text* with the groups of a match for ``$0`` to ``$9`` (ap_pregsub)."""
    out = []
    at = 0
    while at < len(text):
        char = text[at]
        after = text[at + 1 : at + 2]
        if char == "$" and is_digits(after):
            groups = (found.group(0), *found.groups())
            number = decimal(after)
            out.append((groups[number] if number < len(groups) else "") or "")
            at += 1
        elif char == "\\" and after in ("$", "&") and after:
            out.append(after)
            at += 1
        else:
            out.append(char)
        at += 1
    return "".join(out)


async def _respond(r: Request, function: LuaFunction, wording: Wording) -> HookStatus:
    """Run a handler in a thread; its response begins when it ends, or when it asks for that."""
    if not may_run():
        return 500
    call = ScriptCall(r, function, wording)
    output = ScriptOutput()
    api = RequestApi(r, output)

    async def run() -> Any:
        try:
            return await r.engine.runtime.in_script_thread(partial(call.run, api), api.abandon)
        finally:
            call.lease.release()
            output.end()
            if api.socket is not None:
                api.socket.transport.close()  # what was written is sent before

    running = asyncio.ensure_future(run())
    began = asyncio.ensure_future(output.began.wait())
    try:
        await asyncio.wait((running, began), return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        running.cancel()
        running.add_done_callback(partial(_report_late, r))
        raise
    finally:
        began.cancel()
    if not running.done():
        running.add_done_callback(partial(_report_late, r))
        r.chunked = True
        if not output.is_handed_over:
            r.body.append(ScriptSource(output, running.cancel))
        return OK
    try:
        value = running.result()
    except CallFailed as problem:
        if wording is HANDLER and problem.message is not None:
            r.write(output.take())  # lua_handler answers with what there is, and the message
            report(r, problem.message)
            return OK
        return _failed(r, problem)
    data = output.take()
    r.chunked = r.chunked or output.is_passed_on or len(data) > BUFFER
    if data:
        r.write(data)
    status = status_of(value)
    if status is None and wording is MAPPED:
        name = call.function.name
        path = call.function.file
        text = f"lua: Lua handler {name} in {path} did not return a value, assuming apache2.OK"
        r.log("warn", text, code="AH02483", module=MODULE_NAME)
    return status or OK


def _report_late(r: Request, ended: asyncio.Future[Any]) -> None:
    """Log the error of a script whose response had begun."""
    problem = None if ended.cancelled() else ended.exception()
    if isinstance(problem, CallFailed) and problem.message is not None:
        log_error(r, problem.message)
