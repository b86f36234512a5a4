"""mod_authz_user: Require user and Require valid-user."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.base.static_typing import TYPE_CHECKING
from whimbrel.directives.spec import Versions
from whimbrel.engine.expressions import StringExpression
from whimbrel.modules.aaa.mod_authz_core.providers import expanded, require_text, require_words
from whimbrel.modules.core.access_22 import applying, requirements
from whimbrel.modules.support.auth.auth_api import Authz, AuthzCheck, AuthzProvider
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Provider, Reads, Scope
from whimbrel.registry.phases import AUTH_CHECKER, DECLINED, OK, HookStatus
from whimbrel.registry.settings import setting

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


@dataclass(slots=True)
class AuthzUserDirConfig:
    """Per-directory settings (2.2)."""

    authoritative: bool = setting(True)


def make_user(_scope: Scope, _args: str, names: StringExpression) -> AuthzCheck:
    """Require user: grant the users named."""
    constant = names.fixed
    if constant is None:

        def check(r: Request) -> int:
            if r.user is None:
                return Authz.DENIED_NO_USER
            text = expanded(r, names, "authz_user", "user", "AH02594")
            return (
                Authz.GRANTED
                if text is not None and r.user in require_words(text)
                else _not_named(r, logged=text is not None)
            )

        return AuthzCheck(check, names.reads)
    known = frozenset(require_words(constant))

    def is_known(r: Request) -> int:
        if r.user is None:
            return Authz.DENIED_NO_USER
        return Authz.GRANTED if r.user in known else _not_named(r)

    return AuthzCheck(is_known)


def _not_named(r: Request, *, logged: bool = True) -> int:
    if logged:
        r.log(
            "debug",
            f"access to {r.uri} failed, reason: user '{r.user}' does not meet 'require'ments for user to be "
            "allowed access",
            code="AH01663",
            module="authz_user",
        )
    return Authz.DENIED


def make_valid_user(_scope: Scope, _args: str, _parsed: object) -> AuthzCheck:
    """Require valid-user: grant every authenticated user."""
    return AuthzCheck(lambda r: Authz.DENIED_NO_USER if r.user is None else Authz.GRANTED, Reads.FIELDS)


def make_check22(scope: Scope) -> CompiledHook | None:
    """2.2: decide Require user and valid-user; decline without one, or if none matches and none must."""
    if not scope.dialect.authoritative_chain:
        return None
    lines = [line for line in requirements(scope) if line.name in ("valid-user", "user")]
    if not lines:
        return None
    authoritative = scope.dir_config(AuthzUserDirConfig).authoritative

    def check(r: Request) -> HookStatus:
        mine = False
        for line in applying(lines, r):
            if line.name == "valid-user":
                return OK
            mine = True
            if r.user in line.words:
                return OK
        if not mine or not authoritative:
            return DECLINED
        r.log(
            "error",
            f"access to {r.uri} failed, reason: user '{r.user}' does not meet 'require'ments for "
            "user/valid-user to be allowed access",
            module="authz_user",
        )
        return 401

    return CompiledHook(check, Reads.FIELDS)


MODULE = Module(
    name="authz_user_module",
    source="mod_authz_user.c",
    dir_config=AuthzUserDirConfig,
    dir_setters={
        "AuthzUserAuthoritative": set_flag("authoritative"),
    },
    hooks=(Hook(AUTH_CHECKER, make_check22),),
    providers=(
        Provider("authz", "user", AuthzProvider(make_user, require_text), Versions.V24),
        Provider("authz", "valid-user", AuthzProvider(make_valid_user), Versions.V24),
    ),
)
