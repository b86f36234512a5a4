"""Access scripts: WSGIAccessScript, WSGIAuthUserScript and WSGIAuthGroupScript."""

from __future__ import annotations

from typing import Final

from whimbrel.base.numbers import lower
from whimbrel.directives.tokens import words as split_words
from whimbrel.engine.request import Request
from whimbrel.modules.support.auth.auth_api import Authn, Authz, AuthzCheck, BoundAuthn
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars
from whimbrel.modules.wsgi.mod_wsgi.calls import call, log_type_error
from whimbrel.modules.wsgi.mod_wsgi.settings import WsgiDirConfig, WsgiScript
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

MODULE: Final = "wsgi"
READS: Final = Reads.HEAD | Reads.UNCACHEABLE


def log(r: Request, level: str, text: str) -> None:
    """Write a line of mod_wsgi about *r*."""
    r.log(level, f"mod_wsgi (pid={r.engine.runtime.pid}): {text}", module=MODULE)


async def _variables(r: Request) -> dict[str, str]:
    """Return the variables of an access script, which leave no trace in the request."""
    saved = dict(r.env)
    try:
        await add_cgi_vars(r)
        add_common_vars(r)
        return dict(r.env)
    finally:
        r.env.clear()
        r.env.update(saved)


# WSGIAccessScript -----------------------------------------------------------------------------------
def make_access_check(scope: Scope) -> CompiledHook | None:
    """Make the hook; None without a script."""
    script = scope.dir_config(WsgiDirConfig).access_script
    if script is None:
        return None

    async def allowed(r: Request) -> bool | None:
        """Return the result of the script, False after an error."""
        found = await call(r, script, await _variables(r), ("allow_access",), (r.connection.client_ip,))
        if found is None or found.get("failed"):
            return False
        if "allow_access" not in found:
            words = f"Target WSGI host access script '{script.path}' does not provide host validator."
            log(r, "error", words)
            return False
        kind, value = found["allow_access"]
        if kind == "NoneType":
            return None
        if kind != "bool":
            words = f"Indicator of host accessibility returned from '{script.path}' must a boolean or None."
            log(r, "error", words)
            return False
        return bool(value)

    async def check(r: Request) -> HookStatus:
        may_enter = await allowed(r)
        if may_enter is None:
            return DECLINED
        if may_enter:
            return OK
        log(r, "error", f"Client denied by server configuration: '{r.filename}'.")
        return 403

    return CompiledHook(check, READS, is_async=True)


# WSGIAuthUserScript ---------------------------------------------------------------------------------
def make_authn(scope: Scope) -> BoundAuthn:
    """Bind the provider ``wsgi`` of AuthBasicProvider and AuthDigestProvider."""
    script = scope.dir_config(WsgiDirConfig).user_script

    async def found_by(r: Request, name: str, kind: str, arguments: tuple[str, ...]) -> list[object] | None:
        if script is None:
            log(r, "error", "Location of WSGI user authentication script not provided.")
            return None
        found = await call(r, script, await _variables(r), (name,), arguments)
        if found is None or found.get("failed"):
            return None
        if name not in found:
            words = f"Target WSGI user authentication script '{script.path}' does not provide"
            log(r, "error", f"{words} '{kind}' auth provider.")
            return None
        result: list[object] = found[name]
        return result

    async def password(r: Request, user: str, given: str) -> int:
        result = await found_by(r, "check_password", "Basic", (user, given))
        if result is None:
            return Authn.GENERAL_ERROR
        kind, value = result
        if kind == "NoneType":
            return Authn.USER_NOT_FOUND
        if kind == "bool":
            return Authn.GRANTED if value else Authn.DENIED
        if kind == "str":
            r.user = str(value)
            return Authn.GRANTED
        if script is not None:
            words = "Basic auth provider must return True, False None or user name as string"
            log_type_error(r, script, words)
        return Authn.GENERAL_ERROR

    async def realm_hash(r: Request, user: str, realm: str) -> tuple[int, str]:
        result = await found_by(r, "get_realm_hash", "Digest", (user, realm))
        if result is None:
            return Authn.GENERAL_ERROR, ""
        kind, value = result
        if kind == "NoneType":
            return Authn.USER_NOT_FOUND, ""
        if kind == "str":
            return Authn.USER_FOUND, str(value)
        if script is not None:
            log_type_error(r, script, "Digest auth provider must return None or string object")
        return Authn.GENERAL_ERROR, ""

    return BoundAuthn(password, realm_hash, READS)


# WSGIAuthGroupScript --------------------------------------------------------------------------------
async def groups_of(r: Request, script: WsgiScript) -> list[str] | None:
    """Return the groups of the user; None after an error, which is logged."""
    found = await call(r, script, await _variables(r), ("groups_for_user",), (r.user or "",))
    if found is None or found.get("failed"):
        return None
    if "groups_for_user" not in found:
        words = f"Target WSGI group authentication script '{script.path}' does not provide group provider."
        log(r, "error", words)
        return None
    kind, value = found["groups_for_user"]
    if kind == "NoneType":
        return []
    if kind == "str":
        return list(value)  # a text is a sequence of its characters
    if kind != "list":
        words = f"Groups for user returned from '{script.path}' must be an iterable sequence of byte strings."
        log(r, "error", words)
        return None
    return list(value)


def make_authz(scope: Scope, text: str, _parsed: object = None) -> AuthzCheck:
    """Bind ``Require wsgi-group`` with the groups of *text*."""
    script = scope.dir_config(WsgiDirConfig).group_script
    wanted = frozenset(map(lower, split_words(text)))

    async def check(r: Request) -> int:
        if r.user is None:
            return Authz.DENIED_NO_USER
        if script is None:
            log(r, "error", "Location of WSGI group authorization script not provided.")
            return Authz.DENIED
        groups = await groups_of(r, script)
        if groups is None:
            return Authz.DENIED
        failure = f"Authorization of user '{r.user}' to access '{r.uri}' failed. User is not a member of"
        if not groups:
            log(r, "error", f"{failure} any groups.")
            return Authz.DENIED
        if not wanted.isdisjoint(map(lower, groups)):
            return Authz.GRANTED
        log(r, "error", f"{failure} designated groups.")
        return Authz.DENIED

    return AuthzCheck(check, READS, waits=True)
