"""mod_authn_default (2.2): refuses users whom no other module has verified."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.spec import Versions
from whimbrel.engine.request import Request
from whimbrel.modules.support.auth.auth_api import auth_type, may_have_auth_type
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import CHECK_USER_ID, DECLINED, HookStatus
from whimbrel.registry.settings import setting


@dataclass(slots=True)
class AuthnDefaultDirConfig:
    """Per-directory settings."""

    authoritative: bool = setting(True)


def make_check(scope: Scope) -> CompiledHook | None:
    """Refuse where an AuthType is set, unless the module is not authoritative."""
    if not scope.dir_config(AuthnDefaultDirConfig).authoritative or not may_have_auth_type(scope):
        return None
    kind = auth_type(scope)

    def check(r: Request) -> HookStatus:
        if kind(r) is None:
            return DECLINED
        r.log(
            "error",
            f"access to {r.uri} failed, reason: verification of user id '{r.user or '<null>'}' not "
            "configured",
            module="authn_default",
        )
        return 401

    return CompiledHook(check, Reads.FIELDS)


MODULE = Module(
    name="authn_default_module",
    source="mod_authn_default.c",
    versions=Versions.V22,
    dir_config=AuthnDefaultDirConfig,
    dir_setters={
        "AuthDefaultAuthoritative": set_flag("authoritative"),
    },
    hooks=(Hook(CHECK_USER_ID, make_check, Order.LAST),),
)
