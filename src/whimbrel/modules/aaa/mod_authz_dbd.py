"""mod_authz_dbd: Require dbd-group, dbd-login and dbd-logout (2.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import split
from whimbrel.directives.spec import Versions
from whimbrel.engine.expressions import StringExpression
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.modules.aaa.mod_authz_core.providers import expanded, require_text
from whimbrel.modules.database.dbd_drivers import DatabaseError
from whimbrel.modules.database.mod_dbd import query, set_query
from whimbrel.modules.support.auth.auth_api import Authz, AuthzCheck, AuthzProvider
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import Module, Provider, Reads, Scope
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_MODULE = "authz_dbd"
_log = module_log(_MODULE)
_READS = Reads.HEAD | Reads.UNCACHEABLE


@dataclass(slots=True)
class AuthzDbdDirConfig:
    """Per-directory settings: SQL with ``%s`` for the user; *referer*: a login redirects there."""

    query: str = setting("")
    redirect: str = setting("")
    referer: bool = setting(False)


def make_group(scope: Scope, _args: str, names: StringExpression) -> AuthzCheck:
    """Require dbd-group: grant users of one of the groups that the query returns.

    Blanks separate the names; quotes are characters of them (ap_getword_white).
    """
    settings = scope.dir_config(AuthzDbdDirConfig)

    async def check(r: Request) -> int:
        if r.user is None:
            return Authz.DENIED_NO_USER
        if not settings.query:
            _log(r, "error", "AH01649", "No query configured for dbd-group!")
            return Authz.GENERAL_ERROR
        try:
            result = await query(r, settings.query, r.user)
        except DatabaseError as problem:
            if problem.connected:
                _log(r, "error", "AH01652", f"authz_dbd, in groups query for {r.user} [{problem}]")
            else:
                _log(
                    r, "error", "AH02903", "No db handle available for dbd-query! Check your database access"
                )
            return Authz.GENERAL_ERROR
        text = expanded(r, names, _MODULE, "dbd-group", "AH02590")
        groups = {row[0] for row in result.rows}
        return Authz.GRANTED if text is not None and groups.intersection(split(text)) else Authz.DENIED

    return AuthzCheck(check, _READS, waits=True)


def _session(action: str) -> Callable[[Scope, str, Any], AuthzCheck]:
    """dbd-login and dbd-logout: run the query for its effect, then redirect the client."""

    def make(scope: Scope, _args: str, _parsed: object) -> AuthzCheck:
        settings = scope.dir_config(AuthzDbdDirConfig)

        async def check(r: Request) -> int:
            if r.user is None:
                return Authz.DENIED_NO_USER
            if not await _changed(r, settings, action):
                return Authz.DENIED
            target = r.headers_in.get("Referer") if settings.referer else None
            target = target or await _redirect(r, settings, action)
            if target:
                r.status = 302
                r.err_headers_out.set("Location", target)
            return Authz.GRANTED

        return AuthzCheck(check, _READS, waits=True)

    return make


async def _changed(r: Request, settings: AuthzDbdDirConfig, action: str) -> bool:
    """Run the query that stores who is logged in; return True if it ran."""
    if not settings.query:
        _log(r, "error", "AH01642", f"No query configured for {action}!")
        return False
    try:
        result = await query(r, settings.query, r.user or "")
    except DatabaseError as problem:
        if problem.connected:
            _log(r, "error", "AH01645", f"authz_dbd: query for {action} failed; user {r.user} [{problem}]")
        else:
            _log(r, "error", "AH02902", f"No db handle available for {action}! Check your database access")
        return False
    if result.changed != 1:
        _log(r, "warn", "AH01644", f"authz_dbd: {action} of user {r.user} updated {result.changed} rows")
    return True


async def _redirect(r: Request, settings: AuthzDbdDirConfig, action: str) -> str | None:
    """Redirect to the user's page."""
    if not settings.redirect:
        return None
    try:
        result = await query(r, settings.redirect, r.user or "")
    except DatabaseError as problem:
        _log(r, "error", "AH01648", f"authz_dbd/redirect for {action} of {r.user} [{problem}]")
        return None
    return next((row[0] for row in result.rows if row[0] is not None), None)


MODULE = Module(
    name="authz_dbd_module",
    source="mod_authz_dbd.c",
    versions=Versions.V24,
    dir_config=AuthzDbdDirConfig,
    dir_setters={
        "AuthzDBDLoginToReferer": set_flag("referer"),
        "AuthzDBDQuery": set_query("query", "AuthzDBD"),
        "AuthzDBDRedirectQuery": set_query("redirect", "AuthzDBD"),
    },
    providers=(
        Provider("authz", "dbd-group", AuthzProvider(make_group, require_text)),
        Provider("authz", "dbd-login", AuthzProvider(_session("login"))),
        Provider("authz", "dbd-logout", AuthzProvider(_session("logout"))),
    ),
)
