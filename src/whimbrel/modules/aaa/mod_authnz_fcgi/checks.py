"""The providers of mod_authnz_fcgi, and its check_user_id hook."""

from __future__ import annotations

from typing import Final

from whimbrel.base.numbers import lower
from whimbrel.engine.pipeline.error import CUSTOM_RESPONSE, is_url
from whimbrel.engine.pipeline.process import CHALLENGED
from whimbrel.engine.request import Request
from whimbrel.expr.errors import EvalError
from whimbrel.modules.aaa.mod_auth_basic import challenge, credentials
from whimbrel.modules.aaa.mod_authnz_fcgi.authorizer import MAX_BODY, MODULE, authorize, log
from whimbrel.modules.aaa.mod_authnz_fcgi.settings import GROUP, Application, AuthnzFcgiDirConfig
from whimbrel.modules.support.auth.auth_api import Authn, Authz, AuthzCheck, BoundAuthn, auth_name, auth_type
from whimbrel.registry.module import CompiledHook, Reads, Scope
from whimbrel.registry.phases import DECLINED, OK, HookStatus

_READS: Final = Reads.HEAD | Reads.UNCACHEABLE
_AUTHENTICATOR = "AUTHENTICATOR"
_AUTHORIZER = "AUTHORIZER"
_HIDDEN: Final = "X" * 3  # the password in the log
_GRANTED_BY: Final = "authnz_fcgi granted"  # note: the application that also stands for authorization


def _log_application(r: Request, application: Application) -> None:
    host, port = application.addresses[0]
    name = application.backend[len("fcgi://") :].rpartition(":")[0]
    kinds = ("N" if application.is_authn else "_") + ("Z" if application.is_authz else "_")
    text = (
        f"name {application.name}, backend {application.backend}, host {name}, port {port}, "
        f"first address {host}:{port}, {kinds}"
    )
    log(r, "debug", text, "AH02496")


def _note_granted(r: Request, application: Application) -> None:
    if application.is_authz:
        r.notes[_GRANTED_BY] = application.name


# providers ----------------------------------------------------------------------------------------
def authn_of(application: Application) -> BoundAuthn:
    """Return the provider that lets the application check passwords."""

    async def password(r: Request, user: str, given: str) -> int:
        text = f"fcgi_check_password({user}, {_HIDDEN}): provider {application.name}"
        log(r, "debug", text, "AH02524")
        _log_application(r, application)
        await authorize(r, application, given, "" if application.is_authz else _AUTHENTICATOR)
        status = r.status
        if status == 200:
            _note_granted(r, application)
            return Authn.GRANTED
        return Authn.GENERAL_ERROR if status == 500 else Authn.DENIED

    return BoundAuthn(password, None, _READS)


def authz_of(application: Application) -> AuthzCheck:
    """Return the check that lets the application authorize requests."""

    async def check(r: Request) -> int:
        log(r, "debug", "fcgi_authz_check()", "AH02527")
        _log_application(r, application)
        if r.user is None:
            return Authz.DENIED_NO_USER
        if application.is_authn:
            return Authz.GRANTED if r.notes.get(_GRANTED_BY) == application.name else Authz.DENIED
        await authorize(r, application, None, _AUTHORIZER)
        if r.status == 200:
            return Authz.GRANTED
        return Authz.GENERAL_ERROR if r.status == 500 else Authz.DENIED

    return AuthzCheck(check, _READS, waits=True)


# AuthnzFcgiCheckAuthnProvider -----------------------------------------------------------------------
def make_check(scope: Scope) -> CompiledHook | None:
    """Make the hook that lets an application identify the client (fcgi_check_authn)."""
    conf = scope.dir_config(AuthnzFcgiDirConfig)
    if not conf.name or lower(conf.name) == "none":
        return None
    application: Application | None = scope.provider(GROUP, conf.name)
    kind = auth_type(scope)
    realm = auth_name(scope)

    async def check(r: Request) -> HookStatus:
        given = None
        type_name = kind(r)
        _log_check(r, conf, type_name)
        if type_name is not None and lower(type_name) == "basic":
            pair = credentials(r)
            if pair is not None:
                r.user, given = pair
                r.auth_type = type_name
            else:
                log(r, "debug", "fcgi_check_authn: couldn't retrieve basic auth password", "AH02517")
                challenge(r, realm(r))
                if conf.requires_basic:
                    return 401
        if application is None or not application.is_authn:
            text = f"fcgi_check_authn: can't find config for provider {conf.name}"
            log(r, "crit", text, "AH02518")
            return 500
        _log_application(r, application)
        body = await authorize(r, application, given, _AUTHENTICATOR)
        if r.status == 200:
            _set_user(r, conf)
            _note_granted(r, application)
        elif body:
            _show(r, conf, body)
        status, r.status = r.status, 200
        if status == 200:
            return OK
        r.notes[CHALLENGED] = "1"
        return status if conf.is_authoritative else DECLINED

    return CompiledHook(check, _READS, is_async=True)


def _log_check(r: Request, conf: AuthnzFcgiDirConfig, type_name: str | None) -> None:
    words = ["yes" if flag else "no" for flag in (conf.is_authoritative, conf.requires_basic, conf.user)]
    text = (
        f"fcgi_check_authn, prov {conf.name}, authoritative {words[0]}, require-basic {words[1]}, "
        f"user expr? {words[2]} type {type_name or '(null)'}"
    )
    log(r, "debug", text, "AH02516")


def _set_user(r: Request, conf: AuthnzFcgiDirConfig) -> None:
    """Set the user as UserExpr gives it."""
    if conf.user is None:
        return
    failure = "fcgi_check_authn: Failure extracting user after calling authorizer: "
    try:
        user = conf.user.text(r, MODULE)
    except EvalError as problem:
        log(r, "error", failure + problem.reason, "AH02521")
        r.status = 500
        return
    if user:
        r.user = user
        log(r, "debug", f"fcgi_check_authn: Setting user to '{user}'", "AH02519")
    elif conf.default_user is not None:
        r.user = conf.default_user
    else:
        log(r, "error", f"{failure}user expression yielded empty string (variable not set?)", "AH02520")
        r.status = 500


def _show(r: Request, conf: AuthnzFcgiDirConfig, body: str) -> None:
    """Let the client see the body of a refusal."""
    if not conf.is_authoritative:
        text = "fcgi_check_authn: Ignoring response body from non-authoritative authorizer"
        log(r, "warn", text, "AH02522")
        return
    if len(body) == MAX_BODY:
        log(r, "warn", "fcgi_check_authn: possible overflow handling response body", "AH02523")
    r.notes[CUSTOM_RESPONSE] = body if is_url(body) or body[:1] in '/"' else f'"{body}'
