"""Authorization providers of scripts: LuaAuthzProvider (lua_authz_check)."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from whimbrel.directives.tokens import words as split_words
from whimbrel.engine.request import Request
from whimbrel.modules.lua.mod_lua.calls import CallFailed, ScriptCall, Wording, may_run
from whimbrel.modules.lua.mod_lua.request_api import MODULE_NAME, RequestApi, status_of
from whimbrel.modules.lua.mod_lua.settings import LuaFunction
from whimbrel.modules.support.auth.auth_api import Authz, AuthzCheck, AuthzProvider
from whimbrel.registry.module import Reads, Scope

MAX_ARGUMENTS: Final = 1000  # a stack of Lua has room for 1,000,000 values; a line has 16 MB
_RESULTS: Final = range(5)


def provider(name: str, function: LuaFunction) -> AuthzProvider:
    """Return the provider *name* of ``Require``."""
    wording = Wording(
        "authz provider",
        ("error", "AH02314", f"Unable to compile VM for authz provider {name}"),
        ("crit", "AH02319", "Unable to find entry function '{name}' in {file} (not a valid function)"),
    )

    def make(_scope: Scope, arguments: str, _parsed: object) -> AuthzCheck:
        words = split_words(arguments)

        async def check(r: Request) -> int:
            r.set_uncacheable()
            if len(words) > MAX_ARGUMENTS:
                _log(r, "AH02315", f"Error: authz provider {name}: too many arguments")
                return Authz.GENERAL_ERROR
            if not may_run():
                return Authz.GENERAL_ERROR
            call = ScriptCall(r, function, wording)
            api = RequestApi(r)
            try:
                value = await r.engine.runtime.in_script_thread(partial(call.run, api, *words), api.abandon)
            except CallFailed as problem:
                if problem.message is not None:
                    _log(r, "AH02316", f"Error executing authz provider {name}: {problem.message}")
                return Authz.GENERAL_ERROR
            finally:
                call.lease.release()
            return _result(r, name, value)

        return AuthzCheck(check, Reads.HEAD | Reads.UNCACHEABLE, waits=True)

    return AuthzProvider(make)


def _result(r: Request, name: str, value: Any) -> int:
    """Return the authz_status that a script returned; an error for anything else."""
    status = status_of(value)
    if status is None:
        _log(r, "AH02317", f"Error: authz provider {name} did not return integer")
        return Authz.GENERAL_ERROR
    if status not in _RESULTS:
        _log(r, "AH02318", f"Error: authz provider {name}: invalid return value {status}")
        return Authz.GENERAL_ERROR
    return status


def _log(r: Request, code: str, text: str) -> None:
    r.log("error", text, code=code, module=MODULE_NAME)
