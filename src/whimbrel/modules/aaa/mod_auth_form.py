"""mod_auth_form (2.4): logins by a form, stored in a session.

A request is authenticated by its session or, if it is a POST of a login form, by the form. A login sent to
the page itself may carry the request that it interrupted: method, media type and body.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from whimbrel.base.errors import ConfigError
from whimbrel.base.latin1 import to_bytes, to_text
from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.engine.expressions import StringExpression, read_string
from whimbrel.engine.input.body import ready_body
from whimbrel.engine.log.error_log_line import module_log
from whimbrel.engine.redirect_chain import client_request
from whimbrel.expr.errors import EvalError
from whimbrel.http.syntax.url import escape_uri
from whimbrel.modules.aaa.mod_authn_core import find_provider
from whimbrel.modules.session import mod_session
from whimbrel.modules.support.auth.auth_api import (
    Authn,
    AuthnCoreDirConfig,
    AuthnProvider,
    BoundAuthn,
    auth_name,
    auth_type,
)
from whimbrel.modules.support.form_data import FormTooLarge, read_form
from whimbrel.modules.support.setters import add_values, set_flag, set_size, set_text
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import CHECK_USER_ID, DECLINED, HANDLER, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request

_MODULE = "auth_form"
_log = module_log(_MODULE)
_LOGIN: Final = "form-login-handler"
_LOGOUT: Final = "form-logout-handler"
_REDIRECT: Final = "form-redirect-handler"


@dataclass(slots=True)
class AuthFormDirConfig:
    """Per-directory settings: names of the form's fields, its *size* in bytes, redirect targets."""

    providers: list[AuthnProvider] = setting(make=list)
    authoritative: bool = setting(True)
    site: str = setting("")
    username: str = setting("httpd_username")
    password: str = setting("httpd_password")
    location: str = setting("httpd_location")
    method: str = setting("httpd_method")
    mimetype: str = setting("httpd_mimetype")
    body: str = setting("httpd_body")
    size: int = setting(8192)
    fake: bool = setting(False)
    may_store: bool = setting(False)
    required: StringExpression | None = setting(None)
    success: StringExpression | None = setting(None)
    logout: StringExpression | None = setting(None)


@dataclass(frozen=True, slots=True)
class Login:
    """Login of a form or a session.

    Attributes:
        site: the session's proof of a login under AuthFormSitePassphrase.
        is_complete: False for a form without user or password.
    """

    user: str
    password: str
    site: str | None = None
    location: str | None = None
    method: str | None = None
    mimetype: str | None = None
    body: str | None = None
    is_complete: bool = True


class FormAuthenticator:
    """Form authentication under one merged configuration."""

    def __init__(self, scope: Scope) -> None:
        self.conf = scope.dir_config(AuthFormDirConfig)
        self.kind = auth_type(scope)
        self.realm_of = auth_name(scope)
        default = scope.provider("authn", "file")
        chosen = self.conf.providers or ([default] if default is not None else [])
        self.checks: list[BoundAuthn] = [provider.make(scope) for provider in chosen]
        self.loads = scope.provider("session", "load") is not None

    # credentials --------------------------------------------------------------------------------------
    async def session(self, r: Request) -> mod_session.Session | None:
        """Return the request's session; None without mod_session or with Session Off."""
        return await mod_session.load(r) if self.loads else None

    async def known(self, r: Request, realm: str) -> Login | None:
        """Return the login of an earlier request in the chain of redirects, or of the session."""
        notes = client_request(r).notes
        user = notes.get(f"{realm}-user")
        password = notes.get(f"{realm}-pw")
        if user and password:
            r.user = user
            return Login(user, password)
        session = await self.session(r)
        if session is None:
            return None
        user = session.get(f"{realm}-user")
        password = session.get(f"{realm}-pw")
        r.user = user if user is not None else r.user
        return (
            None if user is None or password is None else Login(user, password, session.get(f"{realm}-site"))
        )

    async def sent(self, r: Request, realm: str) -> Login:
        """Return the login of the form; incomplete (logged) without user or password."""
        conf = self.conf
        fields = await read_form(r, conf.size)
        user = fields.get(conf.username)
        password = fields.get(conf.password)
        for name, value, code in ((conf.username, user, "AH02982"), (conf.password, password, "AH02983")):
            if value is None:
                what = "username" if code == "AH02982" else "password"
                line = f"form parsed, but {what} field '{name}' was missing or empty, unauthorized"
                r.log("debug", line, code=code, module=_MODULE)
                return Login("", "", location=fields.get(conf.location), is_complete=False)
            r.user = user
        location, method, kind, body = map(fields.get, (conf.location, conf.method, conf.mimetype, conf.body))
        login = Login(user or "", password or "", None, location, method, kind, body)
        notes = client_request(r).notes
        for key, given in (
            ("user", user),
            ("pw", password),
            ("method", login.method),
            ("mimetype", login.mimetype),
        ):
            if given is not None:
                notes[f"{realm}-{key}"] = given
        return login

    # verification -------------------------------------------------------------------------------------
    def of_site(self, login: Login) -> bool:
        """Return True if the session proves a login under the site's passphrase."""
        return (
            bool(self.conf.site)
            and login.site is not None
            and hmac.compare_digest(to_bytes(login.site), to_bytes(self.proof(login.user)))
        )

    def proof(self, user: str) -> str:
        """Return the proof that a session holds after a login under AuthFormSitePassphrase."""
        return hashlib.md5(to_bytes(f"{user}:{self.conf.site}"), usedforsecurity=False).hexdigest()

    async def checked(self, r: Request, login: Login) -> HookStatus:
        """Return OK if the providers accept user and password, else the status of the refusal."""
        if not login.is_complete:
            return 401
        result = Authn.USER_NOT_FOUND if self.checks else Authn.GENERAL_ERROR
        if not self.checks:
            _log(r, "error", "AH01806", "no authn provider configured")
        for check in self.checks:
            result = await check.password(r, login.user, login.password)
            if result != Authn.USER_NOT_FOUND:
                break
        if result == Authn.GRANTED:
            return OK
        if not self.conf.authoritative and result != Authn.DENIED:
            return DECLINED
        if result == Authn.DENIED:
            line = f"user '{login.user}': authentication failure for \"{r.uri}\": password Mismatch"
            _log(r, "error", "AH01807", line)
            return 401
        if result == Authn.USER_NOT_FOUND:
            _log(r, "error", "AH01808", f"user '{login.user}' not found: {r.uri}")
            return 401
        return 500

    # session and redirects ----------------------------------------------------------------------------
    async def remember(self, r: Request, realm: str, login: Login | None) -> None:
        """Store the login in the session, or remove it (None)."""
        session = await self.session(r)
        if session is not None:
            session.set(f"{realm}-user", login.user if login else None)
            session.set(f"{realm}-pw", login.password if login else None)
            session.set(f"{realm}-site", self.proof(login.user) if login and self.conf.site else None)

    def fake_basic(self, r: Request, login: Login) -> None:
        """AuthFormFakeBasicAuth: set an Authorization field for the backend."""
        if self.conf.fake:
            r.headers_in.set(
                "Authorization",
                "Basic " + to_text(base64.b64encode(to_bytes(f"{login.user}:{login.password}"))),
            )


def _redirected(r: Request, target: StringExpression | None, status: int = 302) -> HookStatus | None:
    """Redirect the client to *target*; return None without one, 500 (logged) if it cannot be evaluated."""
    if target is None:
        return None
    try:
        place = target.text(r, _MODULE)
    except EvalError:
        return 500
    r.headers_out.set("Location", place)
    return status


# hooks --------------------------------------------------------------------------------------------
def make_authenticate(scope: Scope) -> CompiledHook | None:
    """Admit clients that are logged in, or log in with this request."""
    written = scope.dir_config(AuthnCoreDirConfig).auth_type
    if written is None or (written.fixed is not None and written.fixed.lower() != "form"):
        return None
    authenticator = FormAuthenticator(scope)
    reads = Reads.HEAD
    for check in authenticator.checks:
        reads |= check.reads

    async def authenticate(r: Request) -> HookStatus:
        kind = authenticator.kind(r)
        if kind is None or kind.lower() != "form":
            return DECLINED
        r.set_uncacheable()
        if r.proxy:
            line = f"form auth cannot be used for proxy requests due to XSS risk, access denied: {r.uri}"
            _log(r, "error", "AH01809", line)
            return 500
        realm = authenticator.realm_of(r)
        if realm is None:
            _log(r, "error", "AH01810", f"need AuthName: {r.uri}")
            return 500
        r.auth_type = kind
        answer = await _by_session(r, authenticator, realm)
        if answer == OK:
            return OK
        location = None
        if answer == 401 and r.method == "POST" and r.initial:
            try:
                login = await authenticator.sent(r, realm)
            except FormTooLarge:
                return 413
            location = login.location
            answer = await _by_form(r, authenticator, realm, login)
        return _refused(r, authenticator.conf, answer, location)

    return CompiledHook(authenticate, reads, is_async=True)


async def _by_session(r: Request, authenticator: FormAuthenticator, realm: str) -> HookStatus:
    login = await authenticator.known(r, realm)
    if login is None:
        return 401
    answer = OK if authenticator.of_site(login) else await authenticator.checked(r, login)
    if answer == OK:
        authenticator.fake_basic(r, login)
    return answer


async def _by_form(r: Request, authenticator: FormAuthenticator, realm: str, login: Login) -> HookStatus:
    answer = await authenticator.checked(r, login)
    if answer != OK:
        _forget(r, realm)
        return answer
    authenticator.fake_basic(r, login)
    await authenticator.remember(r, realm, login)
    if login.location is not None:
        r.headers_out.set("Location", login.location)
        return 302
    redirected = _redirected(r, authenticator.conf.success)
    if redirected is not None:
        return redirected
    _resume(r, login)
    return OK


def _forget(r: Request, realm: str) -> None:
    """Mark the failed login, so that redirected requests do not try it again."""
    notes = client_request(r).notes
    for key in ("user", "pw"):
        notes.pop(f"{realm}-{key}", None)


def _resume(r: Request, login: Login) -> None:
    """Resume the request that the login interrupted: its body here, its method in a sub-request."""
    is_complete = login.mimetype is not None and login.body is not None
    body = to_bytes(login.body or "") if is_complete else b""
    if is_complete:
        r.headers_in.set("Content-Type", login.mimetype or "")
    r.headers_in.set("Content-Length", str(len(body)))
    r.headers_in.unset("Transfer-Encoding")
    r.body_in = ready_body(body)
    if login.method is not None and login.method != r.method:
        r.handler = _REDIRECT
        if is_complete:
            r.notes["auth_form-resumes"] = "1"


def _refused(r: Request, conf: AuthFormDirConfig, answer: HookStatus, location: str | None) -> HookStatus:
    """Return the response to a request without a login, or after a login.

    A refusal leads to the login page if there is one, then to the *location* that the form names. Browsers
    may not store another refusal.
    """
    redirected = _redirected(r, conf.required) if answer == 401 else None
    if redirected is not None:
        return redirected
    if location is not None and answer != OK:
        r.headers_out.set("Location", location)
        return 302
    if answer != 401:
        return answer
    if not conf.may_store:
        r.headers_out.add("Cache-Control", "no-store")
        r.err_headers_out.add("Cache-Control", "no-store")
    return 401


def make_login(scope: Scope) -> CompiledHook:
    """form-login-handler: the target of login forms."""
    authenticator = FormAuthenticator(scope)

    async def login_handler(r: Request) -> HookStatus:
        if r.handler != _LOGIN:
            return DECLINED
        r.set_uncacheable()
        if r.method != "POST":
            _log(r, "error", "AH01811", f"the {_LOGIN} only supports the POST method for {r.uri}")
            return 405
        realm = authenticator.realm_of(r) or ""
        try:
            login = await authenticator.sent(r, realm)
        except FormTooLarge:
            return 413
        answer = await authenticator.checked(r, login)
        if answer == OK:
            await authenticator.remember(r, realm, login)
            if login.location is not None:
                r.headers_out.set("Location", login.location)
                return 302
            redirected = _redirected(r, authenticator.conf.success)
            return 200 if redirected is None else redirected
        redirected = _redirected(r, authenticator.conf.required) if answer == 401 else None
        if redirected is not None:
            return redirected
        return 401 if answer == DECLINED else answer

    return CompiledHook(login_handler, is_async=True, handlers=frozenset((_LOGIN,)))


def make_logout(scope: Scope) -> CompiledHook:
    """form-logout-handler: remove the login from the session."""
    authenticator = FormAuthenticator(scope)

    async def logout_handler(r: Request) -> HookStatus:
        if r.handler != _LOGOUT:
            return DECLINED
        r.set_uncacheable()
        await authenticator.remember(r, authenticator.realm_of(r) or "", None)
        r.err_headers_out.add("Cache-Control", "no-store")
        redirected = _redirected(r, authenticator.conf.logout, 307)
        return 200 if redirected is None else redirected

    return CompiledHook(logout_handler, is_async=True, handlers=frozenset((_LOGOUT,)))


def make_redirect(scope: Scope) -> CompiledHook:
    """form-redirect-handler: run the request that the login interrupted."""
    realm_of = auth_name(scope)

    async def redirect_handler(r: Request) -> HookStatus:
        if r.handler != _REDIRECT:
            return DECLINED
        r.set_uncacheable()
        notes = client_request(r).notes
        realm = realm_of(r) or ""
        method = notes.get(f"{realm}-method")
        kind = notes.get(f"{realm}-mimetype")
        if method is None or kind is None or "auth_form-resumes" not in r.notes:
            line = f"internal redirect requested but one or all of method, mimetype or body are NULL: {r.uri}"
            _log(r, "error", "AH01813", line)
            return 500
        line = f"internal redirect to method '{method}' and body mimetype '{kind}' for the uri: {r.uri}"
        r.log("debug", line, code="AH01812", module=_MODULE)
        sub = await r.engine.lookup_uri(r, escape_uri(r.uri), method)
        if sub.status != 200:
            return sub.status
        return await r.engine.run_sub(sub)

    return CompiledHook(redirect_handler, is_async=True, handlers=frozenset((_REDIRECT,)))


# directives ---------------------------------------------------------------------------------------
def set_place(field: str, what: str) -> Callable[[Command, AuthFormDirConfig, list[str]], None]:
    """Return the setter of a string expression."""

    def apply(cmd: Command, record: AuthFormDirConfig, words: list[str]) -> None:
        setattr(record, field, read_string(cmd, words[0], f"Could not parse {what} expression '{words[0]}'"))

    return apply


def set_name(field: str) -> Callable[[Command, AuthFormDirConfig, list[str]], None]:
    """Return the setter of the name of a form field."""

    def apply(cmd: Command, record: AuthFormDirConfig, words: list[str]) -> None:
        if not words[0] or "=" in words[0] or "&" in words[0]:
            raise ConfigError(f"{cmd.name} cannot be empty, or contain '=' or '&'.")
        setattr(record, field, words[0])

    return apply


MODULE = Module(
    name="auth_form_module",
    source="mod_auth_form.c",
    versions=Versions.V24,
    dir_config=AuthFormDirConfig,
    dir_setters={
        "AuthFormProvider": add_values("providers", lambda cmd, words: [find_provider(cmd, words[0])]),
        "AuthFormUsername": set_name("username"),
        "AuthFormPassword": set_name("password"),
        "AuthFormLocation": set_name("location"),
        "AuthFormMethod": set_name("method"),
        "AuthFormMimetype": set_name("mimetype"),
        "AuthFormBody": set_name("body"),
        "AuthFormSize": set_size("size", 0, "AuthCookieFormSize must be a size in bytes, or zero."),
        "AuthFormLoginRequiredLocation": set_place("required", "login required"),
        "AuthFormLoginSuccessLocation": set_place("success", "login success"),
        "AuthFormLogoutLocation": set_place("logout", "logout required"),
        "AuthFormSitePassphrase": set_text("site"),
        "AuthFormAuthoritative": set_flag("authoritative"),
        "AuthFormFakeBasicAuth": set_flag("fake"),
        "AuthFormDisableNoStore": set_flag("may_store"),
    },
    hooks=(
        Hook(CHECK_USER_ID, make_authenticate, Order.MIDDLE),
        Hook(HANDLER, make_login, Order.MIDDLE),
        Hook(HANDLER, make_logout, Order.MIDDLE),
        Hook(HANDLER, make_redirect, Order.MIDDLE),
    ),
)
