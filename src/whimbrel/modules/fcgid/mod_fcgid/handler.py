"""The handler fcgid-script (fcgid_handler of mod_fcgid.c)."""

from __future__ import annotations

from stat import S_ISDIR
from typing import Final

from whimbrel.backends.fastcgi import FastcgiRole
from whimbrel.base.programs import may_start_programs, report
from whimbrel.config.core_config import OPT_EXECCGI, CoreDirConfig
from whimbrel.engine.request import Request
from whimbrel.http.http1.chunked import BodyError
from whimbrel.modules.fcgid.mod_fcgid.bridge import MODULE, FcgidBridge, TooLong, log_unreadable, wrapper_of
from whimbrel.modules.fcgid.mod_fcgid.settings import FcgidCommand, FcgidDirConfig
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars
from whimbrel.modules.support.cgi.script import redirect_to
from whimbrel.modules.support.stand_in_answer import stand_in_answer
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

HANDLER_NAME: Final = "fcgid-script"
TOO_LONG: Final = 500


def make_handler(scope: Scope) -> CompiledHook:
    """Make the handler for one merged configuration."""
    wrappers = scope.dir_config(FcgidDirConfig).wrappers
    has_exec = bool(scope.dir_config(CoreDirConfig).options.value & OPT_EXECCGI)
    bridge = FcgidBridge(scope)

    def refusal(r: Request, wrapper: FcgidCommand | None) -> HookStatus:
        """Return why the request is not for a process; OK if it is."""
        if not has_exec and r.notes.get("alias-forced-type", "").lower() != "cgi-script":
            text = f"mod_fcgid: location of script {r.filename} does not have ExecCGI enabled"
            r.log("error", text, module=MODULE)
            return 403
        if wrapper is not None and wrapper.is_virtual:
            return OK
        if r.finfo is None:
            return 404
        if S_ISDIR(r.finfo.st_mode):
            return 403
        return 404 if r.used_path_info == 0 and r.path_info else OK

    async def run(r: Request) -> HookStatus:
        if r.handler != HANDLER_NAME:
            return DECLINED
        wrapper = wrapper_of(wrappers, r.filename or "")
        status = refusal(r, wrapper)
        if status != OK:
            return status
        report("", makes_response=r.main is None)
        r.set_uncacheable()
        add_common_vars(r)
        await add_cgi_vars(r)
        bridge.add_variables(r)
        if not may_start_programs():
            return stand_in_answer(r, "text/plain")
        if wrapper is None:
            assert r.finfo is not None
            wrapper = FcgidCommand((r.filename or "",), (r.finfo.st_dev, r.finfo.st_ino))
        try:
            body = await bridge.body(r)
        except TooLong:
            return TOO_LONG
        except BodyError as problem:
            return log_unreadable(r, problem)
        r.env["CONTENT_LENGTH"] = str(body.length)
        status = await bridge.run(r, wrapper, FastcgiRole.RESPONDER, body)
        location = r.headers_out.get("Location")
        if status == OK and location is not None and r.status == 200:
            r.drop_body()
            return await redirect_to(r, location)
        return status

    return CompiledHook(run, Reads.HEAD | Reads.FILES, is_async=True, handlers=frozenset((HANDLER_NAME,)))
