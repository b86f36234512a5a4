"""mod_authz_default (2.2): refuses requests that Require lines apply to and no other module has decided."""

from __future__ import annotations

from whimbrel.base.lazy_dataclasses import dataclass
from whimbrel.directives.spec import Versions
from whimbrel.engine.request import Request
from whimbrel.modules.core.access_22 import applying, requirements
from whimbrel.modules.support.setters import set_flag
from whimbrel.registry.module import CompiledHook, Hook, Module, Order, Reads, Scope
from whimbrel.registry.phases import AUTH_CHECKER, DECLINED, OK, HookStatus
from whimbrel.registry.settings import setting


@dataclass(slots=True)
class AuthzDefaultDirConfig:
    """Per-directory settings."""

    authoritative: bool = setting(True)


def make_check(scope: Scope) -> CompiledHook:
    """Grant if no Require line applies to the method; else refuse, or decline if not authoritative."""
    lines = requirements(scope)
    authoritative = scope.dir_config(AuthzDefaultDirConfig).authoritative
    if not lines:
        return CompiledHook(lambda r: OK, Reads.NOTHING, constant=OK)

    def check(r: Request) -> HookStatus:
        if next(applying(lines, r), None) is None:
            return OK
        if not authoritative:
            return DECLINED
        r.log(
            "error",
            f"access to {r.uri} failed, reason: require directives present and no Authoritative handler.",
            module="authz_default",
        )
        return 401

    return CompiledHook(check, Reads.FIELDS)


MODULE = Module(
    name="authz_default_module",
    source="mod_authz_default.c",
    versions=Versions.V22,
    dir_config=AuthzDefaultDirConfig,
    dir_setters={
        "AuthzDefaultAuthoritative": set_flag("authoritative"),
    },
    hooks=(Hook(AUTH_CHECKER, make_check, Order.LAST),),
)
