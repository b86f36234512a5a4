"""WSGIDispatchScript: a script that chooses process group, application group and callable of a request."""

from __future__ import annotations

from typing import Final

from whimbrel.engine.request import Request
from whimbrel.modules.wsgi.mod_wsgi.calls import call, log_type_error
from whimbrel.modules.wsgi.mod_wsgi.groups import callable_name, group_name, resolved
from whimbrel.modules.wsgi.mod_wsgi.settings import WsgiScript
from whimbrel.modules.wsgi.mod_wsgi.target import WsgiTarget
from whimbrel.registry.phases import OK, HookStatus

_WRONG: Final = {
    "process_group": "Process group must be a byte string",
    "application_group": "Application group must be a string object",
    "callable_object": "Callable object must be a string object",
}
FUNCTIONS: Final = tuple(_WRONG)


async def dispatched(r: Request, script: WsgiScript, target: WsgiTarget) -> HookStatus:
    """Let *script* change *target*; return an error status if a function of it fails."""
    found = await call(r, script, dict(r.env), FUNCTIONS)
    if found is None:
        return OK
    if found.get("failed"):
        return 500
    for name in FUNCTIONS:
        kind, value = found.get(name, ("NoneType", None))
        if kind == "NoneType":
            continue
        if kind != "str":
            log_type_error(r, script, _WRONG[name])
            return 500
        if name == "process_group":
            target.process_group = resolved(group_name(value, ""), r)
        elif name == "application_group":
            target.application_group = resolved(group_name(value, ""), r)
        else:
            target.callable = resolved(callable_name(value), r)
    return OK
