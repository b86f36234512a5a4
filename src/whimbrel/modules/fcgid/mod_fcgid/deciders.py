"""Programs that decide about access: FcgidAuthenticator, FcgidAuthorizer, FcgidAccessChecker."""

from __future__ import annotations

from base64 import b64decode
from typing import cast

from whimbrel.backends.fastcgi import FastcgiRole
from whimbrel.base.latin1 import to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.numbers import lower
from whimbrel.engine.request import Request
from whimbrel.modules.fcgid.mod_fcgid.bridge import MODULE, FcgidBridge, wrapper_of
from whimbrel.modules.fcgid.mod_fcgid.settings import FcgidCommand, FcgidDirConfig
from whimbrel.modules.support.cgi.environment import add_cgi_vars, add_common_vars
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

_REMOVED = ("CONTENT_LENGTH", "PATH_INFO", "PATH_TRANSLATED", "SCRIPT_NAME")


@dataclass(frozen=True, slots=True)
class DeciderRole:
    """One kind of program; *what*: the decision as messages name it."""

    variable: str
    what: str
    needs_password: bool = False


_ROLES = {
    "authenticator": DeciderRole("AUTHENTICATOR", "Authentication", needs_password=True),
    "authorizer": DeciderRole("AUTHORIZER", "Authorization"),
    "access_checker": DeciderRole("ACCESS_CHECKER", "Access check"),
}


def make_decider(scope: Scope, field: str) -> CompiledHook:
    """Make the hook of the program in *field* of the settings."""
    conf = scope.dir_config(FcgidDirConfig)
    settings = {
        "authenticator": (conf.authenticator, conf.authenticator_authoritative),
        "authorizer": (conf.authorizer, conf.authorizer_authoritative),
        "access_checker": (conf.access_checker, conf.access_checker_authoritative),
    }
    command, authoritative = cast("tuple[FcgidCommand, bool]", settings[field])
    role = _ROLES[field]
    bridge = FcgidBridge(scope)
    wrappers = conf.wrappers

    async def decide(r: Request) -> HookStatus:
        r.set_uncacheable()
        password = None
        if role.needs_password:
            credentials = _basic(r.headers_in.get("Authorization"))
            if credentials is None:
                text = "mod_fcgid: authenticator requires basic HTTP auth credentials"
                r.log("error", text, module=MODULE)
                return 401
            r.user, password = credentials
        status = await _run(r, bridge, wrapper_of(wrappers, command.command[0]) or command, role, password)
        if status == OK and r.status == 200 and r.headers_out.get("Location") is None:
            r.log("debug", f"mod_fcgid: {_subject(r, role)} to access {r.uri} succeeded", module=MODULE)
            for name, value in list(r.err_headers_out.items()):
                if lower(name[:9]) == "variable-":
                    r.env[name[9:]] = value
            return OK
        found = status if status != OK else r.status
        detail = "; redirected is not allowed" if status == OK and r.status == 200 else ""
        text = f"mod_fcgid: {_subject(r, role)} to access {r.uri} failed, reason: "
        r.log("error", f"{text}script returned status {found}{detail}", module=MODULE)
        r.status = 200
        r.status_line = None
        r.headers_out.unset("Location")
        if not authoritative:
            r.log("info", "mod_fcgid: not authoritative", module=MODULE)
            return DECLINED
        return 401 if status == OK else status

    return CompiledHook(decide, Reads.UNCACHEABLE, is_async=True)


def _subject(r: Request, role: DeciderRole) -> str:
    return f"{role.what} of user {r.user}" if r.user is not None else role.what


async def _run(
    r: Request, bridge: FcgidBridge, command: FcgidCommand, role: DeciderRole, password: str | None
) -> HookStatus:
    saved = dict(r.env)
    add_common_vars(r)
    await add_cgi_vars(r)
    bridge.add_variables(r)
    if password is not None:
        r.env["REMOTE_PASSWD"] = password
    r.env["FCGI_APACHE_ROLE"] = role.variable
    for name in _REMOVED:
        r.env.pop(name, None)
    try:
        return await bridge.run(r, command, FastcgiRole.AUTHORIZER)
    finally:
        r.drop_body()
        r.env.clear()
        r.env.update(saved)


def _basic(field: str | None) -> tuple[str, str] | None:
    """Return user and password of an Authorization field with Basic credentials."""
    if field is None or lower(field[:6]) != "basic ":
        return None
    try:
        user, _, password = to_text(b64decode(field[6:].strip(" \t"))).partition(":")
    except ValueError:
        return None
    return user, password
