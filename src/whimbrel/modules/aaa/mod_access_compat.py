"""mod_access_compat: Order, Allow, Deny and Satisfy in 2.4."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whimbrel.base.errors import ConfigError
from whimbrel.directives.command import Command
from whimbrel.directives.spec import Versions
from whimbrel.engine.explain.decisions import tracer_of
from whimbrel.modules.aaa.allow_deny import (
    AllowDenyDirConfig,
    allow_deny_setters,
    by_method,
    compile_denied,
    traced_check,
)
from whimbrel.modules.aaa.mod_authz_core.settings import AuthzCoreDirConfig
from whimbrel.modules.support.auth.auth_api import denied_path
from whimbrel.registry.module import CompiledHook, Hook, Module, Provider, Reads, Scope
from whimbrel.registry.phases import ACCESS_CHECKER, OK, HookStatus

if TYPE_CHECKING:
    from whimbrel.engine.request import Request


def set_satisfy(cmd: Command, record: AllowDenyDirConfig, words: list[str]) -> None:
    """Satisfy, per method."""
    word = words[0].lower()
    if word not in ("all", "any"):
        raise ConfigError("Satisfy either 'any' or 'all'.")
    record.satisfy = by_method(cmd, record.satisfy, word)


def opens(cmd: Command, _record: AllowDenyDirConfig) -> None:
    """In the rules of the upgrade guide a section's own Order, Allow, Deny replace an outer Require."""
    if cmd.dialect.guide_order_replaces_require:
        cmd.dir_config(AuthzCoreDirConfig).opened = True


def satisfies(r: Request) -> str:
    """Return the Satisfy of the request's method: "any", "all" or "" (unset)."""
    return r.dir_config(AllowDenyDirConfig).satisfy.get(r.method_number, "")


def make_access(scope: Scope) -> CompiledHook:
    """Refuse clients by Order, Allow and Deny; logged even where Satisfy Any may admit them."""
    record = scope.dir_config(AllowDenyDirConfig)
    if not record.order and not record.denies and not any(e.kind == "host" for e in record.allows):
        return CompiledHook(lambda r: OK, Reads.NOTHING, constant=OK)
    denied, reads, waits = compile_denied(record)

    def answer(r: Request, refused: bool) -> HookStatus:
        if not refused:
            return OK
        r.log(
            "error",
            f"client denied by server configuration: {denied_path(r)}",
            code="AH01797",
            module="access_compat",
        )
        return 403

    async def check_waiting(r: Request) -> HookStatus:
        return answer(r, await denied(r))

    check = check_waiting if waits else lambda r: answer(r, denied(r))
    fn, pausing = traced_check(record, check, tracer_of(scope), waits)
    return CompiledHook(fn, reads, pausing)


MODULE = Module(
    name="access_compat_module",
    source="mod_access_compat.c",
    versions=Versions.V24,
    dir_config=AllowDenyDirConfig,
    dir_setters={**allow_deny_setters(opens), "Satisfy": set_satisfy},
    hooks=(Hook(ACCESS_CHECKER, make_access),),
    providers=(Provider("access", "satisfies", satisfies),),
)
