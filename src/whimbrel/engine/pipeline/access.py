"""Access to a resource: host access, authentication and authorization, combined by Satisfy (httpd's
request.c).
"""

from __future__ import annotations

from whimbrel.config.model import LOCATION_KINDS
from whimbrel.engine.pipeline.hooks import config_error, run_phase
from whimbrel.engine.request import Request
from whimbrel.engine.walk.merges import shares_settings
from whimbrel.registry.phases import (
    ACCESS_CHECKER,
    ACCESS_CHECKER_EX,
    AUTH_CHECKER,
    CHECK_USER_ID,
    DECLINED,
    OK,
    HookStatus,
)


async def check_access(r: Request) -> HookStatus:
    """Run the access phases: host access, authentication, authorization, combined by Satisfy.

    A request with the settings of the request that it comes from was checked there.
    """
    for earlier in (r.prev, r.main):
        if earlier is not None and _was_checked(r, earlier):
            r.user = earlier.user
            r.auth_type = earlier.auth_type
            return OK
    if r.plan.dialect.access_in_core:
        return await _check_access_22(r)
    plan = r.plan
    status = await run_phase(r, ACCESS_CHECKER)
    either = plan.satisfies is not None and plan.satisfies(r) == "any"
    if either:
        if status == OK:
            return OK
    elif status != OK:
        return config_error(r, status, "check access")
    status = await run_phase(r, ACCESS_CHECKER_EX)
    if status == DECLINED:
        return await _check_user(r, "AH00028" if either else "AH00027")
    if status == OK:
        if plan.is_traced:
            start = "authorized" if either else "request authorized"
            r.log("trace3", f"{start} without authentication by access_checker_ex hook: {r.uri}")
        return OK
    return config_error(r, status, "check access")


def _was_checked(r: Request, earlier: Request) -> bool:
    """Return True if *r* has the settings of *earlier*.

    2.2 merges <Location> sections for every request, so a request with one shares no settings.
    """
    if r.plan.dialect.access_in_core:
        return r.plan is earlier.plan and not any(layer.kind in LOCATION_KINDS for layer in r.plan.layers)
    return shares_settings(r, earlier)


async def _check_access_22(r: Request) -> HookStatus:
    required = r.plan.provider("access", "auth_required")
    status = await run_phase(r, ACCESS_CHECKER)
    satisfies = r.plan.provider("access", "satisfies")
    if satisfies is not None and satisfies(r) == "any":
        if status == OK:
            return OK
        if required is None or not required(r):
            return config_error(r, status, "check access")
    else:
        if status != OK:
            return config_error(r, status, "check access")
        if required is None or not required(r):
            return OK
    return await _check_user(r)


async def _check_user(r: Request, missing: str = "") -> HookStatus:
    old = r.plan.dialect.access_in_core
    status = await run_phase(r, CHECK_USER_ID)
    if status != OK:
        kind = r.plan.provider("access", "auth_type")
        named = kind is not None and kind(r) is not None
        words = (
            "check user.  Check your authn provider!"
            if named
            else "perform authentication. AuthType not set!"
        )
        return config_error(r, status, words if old else "check user")
    if r.user is None and not old:
        text = (
            f"No authentication done but request not allowed without authentication for {r.uri}. "
            f"Authentication not configured?"
        )
        r.log("error", text, code=missing)
        return config_error(r, 500, "check user")
    status = await run_phase(r, AUTH_CHECKER)
    if status != OK:
        return config_error(
            r, status, "check access.  Check your 'Require' directive" if old else "check authorization"
        )
    return OK
